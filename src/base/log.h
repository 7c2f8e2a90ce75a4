// Writing to the log of slow paths (restride/log.hpp). No line allocates; a longer one is cut.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace restride::base {

enum class LogState : int { kUnknown, kOff, kOn };  ///< unknown: the environment was not asked yet
extern std::atomic<LogState> log_state;

/// The same, with the environment asked.
bool log_asked_for() noexcept;

/// False where nobody listens. Ask it before making what only a line needs.
inline bool log_is_on() noexcept {
  const LogState state = log_state.load(std::memory_order_relaxed);
  return state != LogState::kOff && (state == LogState::kOn || log_asked_for());
}

/// `line` ends with a NUL.
void write_log(const char* line) noexcept;

/// "restride: " and the line: what was slow; what to do.
template <class... Args>
void log(fmt::format_string<Args...> format, Args&&... args) noexcept {
  if (!log_is_on()) return;
  char line[768] = "restride: ";
  constexpr std::size_t kBegin = 10, kRoom = sizeof line - kBegin - 1;
  const auto written = fmt::format_to_n(line + kBegin, kRoom, format, std::forward<Args>(args)...);
  *written.out = '\0';
  write_log(line);
}

}  // namespace restride::base
