#include "src/base/log.h"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include <fmt/format.h>

#include <restride/log.hpp>

namespace restride {
namespace base {

constinit std::atomic<LogState> log_state{LogState::kUnknown};

namespace {

/// The sink, and the lock that lines and changes of it take in turn. Plain data: nothing is allocated or destroyed.
constinit std::mutex mutex;
constinit LogSink sink = nullptr;
constinit void* sink_context = nullptr;

/// A child forked while another thread writes a line must not inherit a locked mutex.
void watch_forks() noexcept {
  [[maybe_unused]] static const int watched =
      ::pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });
}

void to_stderr(void*, const char* line) { std::fprintf(stderr, "%s\n", line); }

thread_local bool writing = false;  // a sink that copies would wait for itself

}  // namespace

bool log_asked_for() noexcept {
  const char* text = std::getenv("RESTRIDE_LOG");
  const bool asked = text != nullptr && std::string_view(text) == "1";
  if (asked) watch_forks();
  const std::lock_guard lock(mutex);
  if (log_state.load(std::memory_order_relaxed) == LogState::kUnknown) {  // else another thread was here, or set_log
    if (asked) sink = to_stderr;
    log_state.store(asked ? LogState::kOn : LogState::kOff, std::memory_order_relaxed);
  }
  return log_state.load(std::memory_order_relaxed) == LogState::kOn;
}

void write_log(fmt::string_view format, fmt::format_args args) noexcept {
  if (writing) return;
  char line[768] = "restride: ";
  constexpr std::size_t kBegin = 10, kRoom = sizeof line - kBegin - 1;
  try {
    *fmt::vformat_to_n(line + kBegin, kRoom, format, args).out = '\0';
  } catch (...) {
    return;  // a line that could not be made
  }
  const std::lock_guard lock(mutex);
  if (sink == nullptr) return;
  writing = true;
  sink(sink_context, line);
  writing = false;
}

}  // namespace base

void set_log(LogSink to, void* context) noexcept {
  base::watch_forks();
  const std::lock_guard lock(base::mutex);
  base::sink = to;
  base::sink_context = context;
  base::log_state.store(to != nullptr ? base::LogState::kOn : base::LogState::kOff, std::memory_order_relaxed);
}

}  // namespace restride
