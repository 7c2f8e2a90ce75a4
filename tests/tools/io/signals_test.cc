#include "tools/io/signals.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstring>

#include "tests/tools/io/support.h"

namespace restride::io {
namespace {

/// How a child ends that gets the signal while a temporary file is open. It dumps no core.
int status_after(int number, const std::string& temporary, void (*before)(int)) {
  const pid_t child = ::fork();
  EXPECT_GE(child, 0);
  if (child == 0) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::signal(number, before);
    write_file(temporary, "half");
    install_signal_handlers();
    set_temporary(temporary);
    ::raise(number);
    ::_exit(0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST(Signals, ThatEndTheProcessTakeTheTemporaryFileWithThem) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGXCPU, SIGUSR1, SIGUSR2}) {
    TemporaryFolder folder;
    const int status = status_after(number, folder / "half", SIG_DFL);
    EXPECT_TRUE(WIFSIGNALED(status)) << ::strsignal(number);
    EXPECT_EQ(WTERMSIG(status), number);
    EXPECT_EQ(folder.files(), 0u) << ::strsignal(number);
  }
}

TEST(Signals, ThatTheCallerIgnoresStayIgnored) {
  for (const int number : {SIGHUP, SIGPIPE, SIGQUIT}) {
    TemporaryFolder folder;
    const int status = status_after(number, folder / "half", SIG_IGN);
    EXPECT_TRUE(WIFEXITED(status)) << ::strsignal(number);
    EXPECT_EQ(folder.files(), 1u) << ::strsignal(number);
  }
}

}  // namespace
}  // namespace restride::io
