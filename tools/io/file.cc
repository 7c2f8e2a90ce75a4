#include "tools/io/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/base/text_file.h"

namespace restride::io {

InputFile::InputFile(const std::string& path)
    // Opening a pipe would wait for its writer; O_NONBLOCK lets the check below refuse it instead.
    : InputFile(Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), path) {}

InputFile::InputFile(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {
  struct stat st {};
  if (!fd_ || ::fstat(fd_.get(), &st) != 0) throw IoError(errno_message("open", path_));
  if (S_ISDIR(st.st_mode)) throw IoError("cannot read " + path_ + ": it is a directory");
  if (!S_ISREG(st.st_mode))
    throw IoError("cannot read " + path_ +
                  ": it is no regular file; a pipe or device cannot be mapped, so save it to a file, or give - as "
                  "the name and it as standard input");
  size_ = static_cast<std::uint64_t>(st.st_size);
  written_ = st.st_mtim;
  device_ = st.st_dev;
  inode_ = st.st_ino;
}

InputFile open_input(const std::string& path) {
  if (path != "-") return InputFile(path);
  const std::string shown = "standard input";
  static Fd held;  // who asks again gets the same
  const auto again = [&] { return InputFile(Fd(::fcntl(held.get(), F_DUPFD_CLOEXEC, 0)), shown); };
  if (held) return again();
  struct stat st {};
  if (::fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode) && ::lseek(STDIN_FILENO, 0, SEEK_CUR) == 0)
    return {Fd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)), shown};
  if (::isatty(STDIN_FILENO) == 1) throw IoError("standard input is a terminal; redirect or pipe a file into it");
  Fd all = nameless_file();
  std::vector<std::uint8_t> piece(1 << 20);
  for (std::uint64_t at = 0;;) {
    const ssize_t n = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw IoError(errno_message("read", shown));
    if (n == 0) break;
    write_fully(all.get(), at, std::span(piece).first(static_cast<std::size_t>(n)),
                "the temporary file for standard input (TMPDIR says where)");
    at += static_cast<std::uint64_t>(n);
  }
  held = std::move(all);
  return again();
}

void InputFile::require_unchanged() const {
  struct stat st {};
  if (::fstat(fd_.get(), &st) != 0) throw IoError(errno_message("read", path_));
  const std::uint64_t size = static_cast<std::uint64_t>(st.st_size);
  if (size == size_ && st.st_mtim.tv_sec == written_.tv_sec && st.st_mtim.tv_nsec == written_.tv_nsec) return;
  const std::string how = size == size_ ? "" : fmt::format(" (it had {} bytes and has {})", size_, size);
  throw IoError(
      fmt::format("{} was written to while it was read{}, so nothing is made of it; copy it again when it is complete",
                  path_, how));
}

bool InputFile::is_same_file(const std::string& path) const {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && st.st_dev == device_ && st.st_ino == inode_;
}

void InputFile::do_read(std::uint64_t offset, std::span<std::uint8_t> out) const {
  while (!out.empty()) {
    const ssize_t n = ::pread(fd_.get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw IoError(errno_message("read", path_));
    if (n == 0) throw IoError("cannot read " + path_ + ": it became shorter while it was read");
    out = out.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
}

Mapping::Mapping(const InputFile& file, std::uint64_t first, std::uint64_t last) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  page_first_ = first / page * page;
  bytes_ = last - page_first_;
  void* p = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file.fd(), static_cast<off_t>(page_first_));
  if (p != MAP_FAILED) base_ = static_cast<const std::uint8_t*>(p);
}

Mapping& Mapping::operator=(Mapping&& o) noexcept {
  std::swap(base_, o.base_);
  std::swap(page_first_, o.page_first_);
  std::swap(bytes_, o.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (base_ != nullptr) ::munmap(const_cast<std::uint8_t*>(base_), bytes_);
}

void Mapping::drop() const noexcept {
  if (base_ != nullptr) ::madvise(const_cast<std::uint8_t*>(base_), bytes_, MADV_DONTNEED);
}

void refuse_unmapped(const std::string& path) {
  const bool memory = errno == ENOMEM;
  const std::string message = errno_message("map", path);
  if (memory) throw MemoryError(message + "; raise the memory limit (ulimit -v) or give a smaller --buffer-mib");
  throw IoError(message + "; its file system lets nobody map it, so copy it to another one first");
}

std::string read_text(const std::string& path, const std::string& shown) {
  std::string why;
  auto text = base::read_text_file(path, &why);
  if (!text) throw IoError("cannot read " + shown + ": " + why + "; is it the right file?");
  return *std::move(text);
}

Fd nameless_file() {
  const char* chosen = std::getenv("TMPDIR");
  // What the user chose has no substitute: there may be a reason, such as room.
  const auto dirs = chosen != nullptr && *chosen != '\0' ? std::vector<std::string>{chosen}
                                                         : std::vector<std::string>{"/var/tmp", "/tmp"};
  for (const std::string& dir : dirs) {
    Fd fd(::open(dir.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (fd) return fd;
    std::string name = dir + "/restride-XXXXXX";
    Fd named(::mkostemp(name.data(), O_CLOEXEC));
    if (!named) continue;
    ::unlink(name.c_str());
    return named;
  }
  throw IoError(errno_message("make a temporary file in", dirs.back()) + "; set TMPDIR to a directory with room");
}

}  // namespace restride::io
