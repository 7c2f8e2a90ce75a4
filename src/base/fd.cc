#include "src/base/fd.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <restride/error.hpp>

namespace restride::base {

std::string errno_message(const std::string& doing, const std::string& path) {
  return fmt::format("cannot {} {}: {}", doing, path, std::strerror(errno));
}

std::string write_message(const std::string& path, std::uint64_t bytes) {
  const int reason = errno;
  std::string message = errno_message("write", path);
  if (reason == ENOSPC || reason == EDQUOT)
    return fmt::format("{} (at least {} bytes are needed); free some space or name a target elsewhere", message, bytes);
  if (reason != EFBIG) return message;
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur)
    return fmt::format("{} (at least {} bytes are needed); files are limited to {} bytes: raise the limit (ulimit -f)",
                       message, bytes, limit.rlim_cur);
  return fmt::format("{} (at least {} bytes are needed); its file system holds no such file: name a target elsewhere",
                     message, bytes);
}

void write_fully(int fd, std::uint64_t offset, std::span<const std::uint8_t> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw IoError(write_message(path, offset + bytes.size()));
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
}

}  // namespace restride::base
