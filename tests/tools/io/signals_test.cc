#include "tools/io/signals.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <exception>

#include "tests/tools/io/support.h"
#include "tools/io/output_file.h"

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
    add_temporary(temporary, false);
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

/// Runs `work` in a child, which SIGTERM then ends.
template <class Work>
void end_by_signal_after(Work&& work) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    install_signal_handlers();
    try {
      work();
      ::raise(SIGTERM);
    } catch (const std::exception&) {
    }
    ::_exit(1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST(Signals, RemoveEveryTemporaryFileThatIsThereAndNoOther) {
  TemporaryFolder folder;
  end_by_signal_after([&] {
    for (const char* name : {"first", "second", "third", "fourth"}) write_file(folder / name, "half");
    for (const char* name : {"first", "second", "third"}) add_temporary(folder / name, false);
    forget_temporary(folder / "second");
    add_temporary(folder / "fourth", false);
  });
  EXPECT_EQ(folder.files(), 1u);
  EXPECT_TRUE(std::filesystem::exists(folder / "second"));
}

TEST(Signals, RemoveAClaimOnlyWhileItIsEmpty) {
  TemporaryFolder folder;
  end_by_signal_after([&] {
    write_file(folder / "empty", "");
    write_file(folder / "taken", "somebody else's");
    add_temporary(folder / "empty", true);
    add_temporary(folder / "taken", true);
  });
  EXPECT_EQ(folder.files(), 1u);
  EXPECT_EQ(read_file(folder / "taken"), "somebody else's");
}

/// Of a file system that has no nameless files and takes no free name: an output claims its own.
base::NamingCalls poor_naming() {
  base::NamingCalls calls = naming_for_signals();
  calls.open_nameless = [](const char*, mode_t) { return errno = EOPNOTSUPP, -1; };
  calls.link = calls.rename_new = [](const char*, const char*) { return errno = EINVAL, -1; };
  return calls;
}

TEST(Signals, RemoveTheClaimAndTheFileBesideItOfAnOutput) {
  TemporaryFolder folder;
  end_by_signal_after([&] {
    static base::NamingCalls calls = poor_naming();
    new base::WholeFile(folder / "out", false, calls);  // never destroyed
    if (folder.files() != 2) ::_exit(1);
  });
  EXPECT_EQ(folder.files(), 0u);
}

TEST(Signals, WaitWhileANameIsTaken) {
  TemporaryFolder folder;
  end_by_signal_after([&] {
    hold_signals(true);
    hold_signals(true);
    ::raise(SIGTERM);
    write_file(folder / "taken", "");
    add_temporary(folder / "taken", true);
    hold_signals(false);
    write_file(folder / "held once more", "");
    hold_signals(false);
    write_file(folder / "too late", "");
  });
  EXPECT_EQ(folder.files(), 1u);
  EXPECT_TRUE(std::filesystem::exists(folder / "held once more"));
}

TEST(Signals, RemoveTheClaimOfAnOutputThatWasJustMade) {
  TemporaryFolder folder;
  end_by_signal_after([&] {
    static base::NamingCalls calls = poor_naming();
    calls.name_made = [](const std::string& path, bool claim) {
      if (claim) ::raise(SIGTERM);  // the file is there, and nobody knows of it yet
      naming_for_signals().name_made(path, claim);
    };
    new base::WholeFile(folder / "out", false, calls);
    ::_exit(1);
  });
  EXPECT_EQ(folder.files(), 0u);
}

}  // namespace
}  // namespace restride::io
