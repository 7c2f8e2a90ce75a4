// A log of slow paths, off unless asked for: which path a copy took, and how to avoid it.
#pragma once

#include <restride/detail/visibility.hpp>

namespace restride RESTRIDE_PUBLIC {

/// Takes a line, which ends with a NUL and no newline and is gone after the call. Lines come one at a time, from any
/// thread that copies or plans. It must not throw; its own copies are not logged, and it must not call `set_log`.
using LogSink = void (*)(void* context, const char* line);

/// Sends the log to `sink`; null turns it off. After the call the sink of before is called no more. Without any call
/// the log is off, or goes to standard error where the environment has RESTRIDE_LOG=1, which is read once.
///
/// Lines tell of a copy that gather makes element by element, of a plan that the cache did not have, of threads that
/// could not be had, and of huge pages that were asked for and refused; each says what to do.
/// Cost: off, one relaxed load where a line might be written, none of them in a kernel; on, no allocation in a run.
/// Example: `set_log([](void*, const char* line) { std::fprintf(stderr, "%s\n", line); });`
void set_log(LogSink sink, void* context = nullptr) noexcept;

}  // namespace restride
