// Writing to the log of slow paths (restride/log.hpp). No line allocates; a longer one is cut.
#pragma once

#include <atomic>

#include <fmt/core.h>

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

/// A line, however formatted: what was slow; what to do.
void write_log(fmt::string_view format, fmt::format_args args) noexcept;

/// The same, of a format that the compiler has checked. What it takes to format a line is in log.cc alone: it is 20 KB.
template <class... Args>
void log(fmt::format_string<Args...> format, const Args&... args) noexcept {
  if (log_is_on()) write_log(format, fmt::make_format_args(args...));
}

}  // namespace restride::base
