// An open file to read from: positioned reads for parsers, mapped pieces for kernels.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <string>
#include <utility>

#include "src/base/fd.h"
#include "tools/io/byte_source.h"

namespace restride::io {

using base::errno_message;
using base::Fd;
using base::write_fully;

/// A regular file. Its size and the time it was last written are taken once, when it is opened.
class InputFile final : public ByteSource {
 public:
  /// Errors: IoError (missing, unreadable, or a directory, pipe or device, which cannot be mapped).
  explicit InputFile(const std::string& path);
  /// Takes over an open file; `path` is for messages.
  InputFile(Fd fd, std::string path);

  std::uint64_t size() const noexcept override { return size_; }
  const std::string& path() const noexcept { return path_; }
  int fd() const noexcept { return fd_.get(); }
  /// True when `path` names this very file.
  bool is_same_file(const std::string& path) const;
  /// Errors: IoError when somebody has written to the file since it was opened. A mapped file that loses less than a
  /// page raises no SIGBUS: what it has lost reads as zeros.
  void require_unchanged() const;

 private:
  void do_read(std::uint64_t offset, std::span<std::uint8_t> out) const override;
  Fd fd_;
  std::string path_;
  std::uint64_t size_ = 0;
  timespec written_{};
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

/// The file at `path`, or for "-" what standard input holds: a file that it was redirected from itself, of anything
/// else all that comes, in a nameless file. Errors: IoError.
InputFile open_input(const std::string& path);

/// Bytes [first, last) of a file, mapped read-only. Reading pages that the file has lost raises SIGBUS, which
/// signals.h turns into a message and an exit.
class Mapping {
 public:
  Mapping() = default;
  /// On failure the mapping is empty and errno is set.
  Mapping(const InputFile& file, std::uint64_t first, std::uint64_t last);
  Mapping(Mapping&& o) noexcept { *this = std::move(o); }
  Mapping& operator=(Mapping&& o) noexcept;
  ~Mapping();
  explicit operator bool() const noexcept { return base_ != nullptr; }
  /// Where byte 0 of the file would lie.
  const std::uint8_t* origin() const noexcept { return base_ - page_first_; }
  /// Gives the pages back to the kernel; they are read again when touched.
  void drop() const noexcept;

 private:
  const std::uint8_t* base_ = nullptr;
  std::uint64_t page_first_ = 0;
  std::size_t bytes_ = 0;
};

/// Throws what errno says of a file that could not be mapped: MemoryError, or IoError where memory is not to blame.
[[noreturn]] void refuse_unmapped(const std::string& path);

/// All of a regular file of text, up to 64 MiB; messages call it `shown`. Errors: IoError.
std::string read_text(const std::string& path, const std::string& shown);

/// A file without a name in $TMPDIR or, where that is unset or empty, in /var/tmp, else /tmp; gone when closed.
/// Errors: IoError.
Fd nameless_file();

}  // namespace restride::io
