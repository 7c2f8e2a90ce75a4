#include "tools/io/save_stream.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace restride::io {

StreamWriter::StreamWriter(int fd, FileFormat format, const ArraySpec& array) : fd_(fd), head_(head_of(format, array)) {
  if (::isatty(fd) == 1) throw IoError("standard output is a terminal; redirect it into a file or a program");
}

void StreamWriter::put(Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw IoError(base::errno_message("write", "standard output"));
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

void StreamWriter::write(std::size_t, std::uint64_t, Bytes bytes) {
  put({reinterpret_cast<const std::uint8_t*>(head_.data()), head_.size()});
  head_.clear();
  put(bytes);
}

void StreamWriter::commit(bool sync) {
  write(0, 0, {});  // an array without elements is its head
  struct stat st {};
  if (sync && ::fstat(fd_, &st) == 0 && S_ISREG(st.st_mode) && ::fsync(fd_) != 0)
    throw IoError(base::errno_message("write", "standard output"));
}

}  // namespace restride::io
