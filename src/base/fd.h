// An open file: its descriptor, writing to it, and what its errors say.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace restride::base {

/// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  Fd& operator=(Fd&& o) noexcept {  // `o` is mostly a temporary and closes what we had
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) (void)::close(fd_);
  }
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// "cannot read x.npy: Permission denied", from errno.
[[nodiscard]] std::string errno_message(const std::string& doing, const std::string& path);

/// "cannot write x.npy: ...", from errno, with the remedy where there is no room for a file of `bytes` bytes: the
/// disk's is one thing, the limit on the size of files (`ulimit -f`) another, and what the file system counts to a
/// third.
[[nodiscard]] std::string write_message(const std::string& path, std::uint64_t bytes);

/// Writes all of `bytes` at `offset`. Errors: IoError, with the remedy when there is no room.
void write_fully(int fd, std::uint64_t offset, std::span<const std::uint8_t> bytes, const std::string& path);

}  // namespace restride::base
