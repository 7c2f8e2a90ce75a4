#include "tools/io/signals.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>

#include <fmt/format.h>
#include <restride/error.hpp>

#include "tools/io/text.h"

namespace restride::io {
namespace {

// What a user, a shell, a batch system or a limit ends programs with. Not SIGPROF and SIGVTALRM: profilers own them.
constexpr int kEndingSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGXCPU, SIGUSR1, SIGUSR2};

// Handlers may touch nothing else: plain memory written before the flag is set.
char temporary[PATH_MAX];
std::atomic<bool> has_temporary{false};
char lost_pages_message[3 * PATH_MAX] =
    "restride: error: a file became shorter or unreadable while it was read; nothing was written\n";

void remove_temporary() noexcept {
  if (has_temporary.exchange(false)) ::unlink(temporary);
}

void end_by_signal(int signal) {
  remove_temporary();
  ::signal(signal, SIG_DFL);
  ::raise(signal);  // delivered when this handler returns: the shell sees who ended us
}

void lost_pages(int) {
  remove_temporary();
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, lost_pages_message, std::strlen(lost_pages_message));
  ::_exit(1);
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  struct sigaction old {};
  // A caller that ignores a signal (nohup) keeps it ignored.
  if (::sigaction(signal, nullptr, &old) == 0 && old.sa_handler == SIG_IGN) return;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void install_signal_handlers() {
  for (const int signal : kEndingSignals) handle(signal, end_by_signal);
  handle(SIGBUS, lost_pages);
  ::signal(SIGXFSZ, SIG_IGN);
}

void set_temporary(const std::string& path) {
  if (path.size() >= sizeof(temporary)) throw IoError("the output's path is too long: " + path);
  std::memcpy(temporary, path.c_str(), path.size() + 1);
  has_temporary.store(true);
}

void name_mapped_file(const std::string& path) {
  std::string message = fmt::format(
      "restride: error: {} became shorter or unreadable while it was read; nothing was written\n", escaped(path));
  message.resize(std::min(message.size(), sizeof(lost_pages_message) - 1));
  std::memcpy(lost_pages_message, message.c_str(), message.size() + 1);
}

void clear_temporary() noexcept { has_temporary.store(false); }

}  // namespace restride::io
