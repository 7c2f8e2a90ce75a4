#include "tools/io/signals.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>

#include <fmt/format.h>
#include <restride/error.hpp>

#include "tools/io/remove_tree.h"
#include "tools/io/text.h"

namespace restride::io {
namespace {

// What a user, a shell, a batch system or a limit ends programs with. Not SIGPROF and SIGVTALRM: profilers own them.
constexpr int kEndingSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGXCPU, SIGUSR1, SIGUSR2};

// Handlers may touch nothing else: plain memory written before the flag is set.
struct Temporary {
  std::atomic<bool> used{false};
  bool claim = false;
  char path[PATH_MAX];
};
Temporary temporaries[4];     // an output has its own name, now and then another that it tries, and the one it claims
std::atomic<int> holds{0};    // how many threads take a name now
std::atomic<int> waiting{0};  // the signal that came meanwhile
char lost_pages_message[3 * PATH_MAX] =
    "restride: error: a file became shorter or unreadable while it was read; nothing was written\n";

/// True unless there is a file at `path` that holds something.
bool is_empty(const char* path) noexcept {
  struct stat st {};
  return ::lstat(path, &st) != 0 || (S_ISREG(st.st_mode) && st.st_size == 0);
}

void remove_temporaries() noexcept {
  for (Temporary& t : temporaries)
    if (t.used.exchange(false) && (!t.claim || is_empty(t.path))) remove_tree(t.path);
}

void end_by_signal(int signal) {
  waiting.store(signal);  // before the look at `holds`: whoever lets go of the last one looks the other way round
  if (holds.load() != 0) return;
  remove_temporaries();
  ::signal(signal, SIG_DFL);
  ::raise(signal);  // delivered when this handler returns: the shell sees who ended us
}

void lost_pages(int) {
  remove_temporaries();
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

void add_temporary(const std::string& path, bool claim) {
  if (path.size() >= PATH_MAX) throw IoError("the output's path is too long: " + path);
  for (Temporary& t : temporaries) {
    if (t.used.load()) continue;
    t.claim = claim;
    std::memcpy(t.path, path.c_str(), path.size() + 1);
    t.used.store(true);
    return;
  }
  throw InternalError("more temporary files at a time than signals know of; please report it");
}

void forget_temporary(const std::string& path) noexcept {
  for (Temporary& t : temporaries)
    if (t.used.load() && path == t.path) t.used.store(false);
}

void name_mapped_file(const std::string& path) {
  std::string message = fmt::format(
      "restride: error: {} became shorter or unreadable while it was read; nothing was written\n", escaped(path));
  message.resize(std::min(message.size(), sizeof(lost_pages_message) - 1));
  std::memcpy(lost_pages_message, message.c_str(), message.size() + 1);
}

void hold_signals(bool hold) noexcept {
  if (hold) {
    holds.fetch_add(1);
  } else if (holds.fetch_sub(1) == 1) {
    if (const int signal = waiting.load()) end_by_signal(signal);
  }
}

}  // namespace restride::io
