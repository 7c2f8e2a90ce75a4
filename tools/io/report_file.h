// Where a command writes its results: mostly a file, now and then a pipe, a terminal or /dev/null.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace restride::io {

/// True when `path` is there and no regular file, when it is the file that standard output or error goes to, and for
/// the names /dev/stdout and /dev/stderr, even if /dev lacks them. Nothing takes a stream's place: a report is added to
/// what is there, once, when it is complete.
bool is_stream(const std::string& path);

/// Finds out before the work whether `write_report` will be able to, and that it replaces an older report at most: an
/// empty file, or one that `is_report` takes for the command's own among all that is JSON. Returns the older report, or
/// null where there is none.
/// Errors: IoError: it cannot, or the file holds something else.
nlohmann::ordered_json require_report(const std::string& path,
                                      const std::function<bool(const nlohmann::ordered_json&)>& is_report);

/// The same for drawings and pages, which begin with `beginning`: nothing else is replaced.
/// Errors: IoError: it cannot be written, or holds something else.
void require_drawing(const std::string& path, std::string_view beginning);

/// Replaces a file whole or not at all, symbolic links followed; writes into a stream as it stands.
/// Errors: IoError: a directory, no permission, no room.
void write_report(const std::string& path, const std::string& text);

}  // namespace restride::io
