// Reading a file of text that a user names, whole: measurements, case files, older results.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "src/base/fd.h"

namespace restride::base {

/// The largest file of text that is read.
inline constexpr std::size_t kMostTextBytes = 64 << 20;

/// All of a regular file of up to 64 MiB; nothing, and `why`, where it cannot be had. Opening a pipe would wait for its
/// writer (O_NONBLOCK does not), and a device may have no end.
inline std::optional<std::string> read_text_file(const std::string& path, std::string* why) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const auto refuse = [why](std::string words) {
    *why = std::move(words);
    return std::nullopt;
  };
  struct stat st {};
  if (!file || ::fstat(file.get(), &st) != 0) return refuse(std::strerror(errno));
  if (S_ISDIR(st.st_mode)) return refuse("it is no regular file but a directory");
  if (!S_ISREG(st.st_mode)) return refuse("it is no regular file");
  if (st.st_size > static_cast<std::int64_t>(kMostTextBytes))
    return refuse("it has " + std::to_string(st.st_size) + " bytes, and more than " + std::to_string(kMostTextBytes) +
                  " are refused");
  std::string text(static_cast<std::size_t>(st.st_size), '\0');
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = ::read(file.get(), text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return refuse(std::strerror(errno));
    if (n == 0) text.resize(at);  // it has become shorter
    at += static_cast<std::size_t>(n);
  }
  return text;
}

}  // namespace restride::base
