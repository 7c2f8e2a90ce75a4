#include "tools/bench/busy_loops.h"

#include <csignal>
#include <cstring>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <restride/error.hpp>

namespace restride::bench {

BusyLoops::BusyLoops(int count) {
  const pid_t parent = ::getpid();
  for (int i = 0; i < count; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(0);
      for (volatile unsigned long n = 0;;) n = n + 1;
    }
    if (child < 0) {
      const char* const why = std::strerror(errno);
      end();
      throw DeviceError(
          fmt::format("no process can be started to keep the machine busy: {}; try a smaller --load", why));
    }
    processes_.push_back(child);
  }
}

BusyLoops::~BusyLoops() { end(); }

void BusyLoops::end() noexcept {
  for (const pid_t process : processes_) ::kill(process, SIGKILL);
  for (const pid_t process : processes_) ::waitpid(process, nullptr, 0);
  processes_.clear();
}

}  // namespace restride::bench
