#include "tools/io/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>

#include "tools/io/signals.h"

namespace restride::io {
namespace {

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// Where the bytes go: links followed, also one whose file does not exist yet.
std::string resolve(std::string path) {
  constexpr int kMaxLinks = 40;  // as the kernel; `require_target` refuses what is left of a loop
  for (int links = 0; links < kMaxLinks; ++links) {
    if (char* real = ::realpath(path.c_str(), nullptr)) {
      std::string out(real);
      std::free(real);
      return out;
    }
    struct stat st {};
    char to[PATH_MAX];
    // What exists without a path (/dev/stdout of a pipe) is no dangling link.
    const ssize_t n = ::stat(path.c_str(), &st) == 0 ? -1 : ::readlink(path.c_str(), to, sizeof(to));
    if (n <= 0) return path;
    const std::string target(to, static_cast<std::size_t>(n));
    path = target.front() == '/' ? target : directory_of(path).append("/").append(target);
  }
  return path;
}

[[noreturn]] void refuse_existing(const std::string& path) {
  throw IoError(path + " exists; give --force to replace it");
}

// RENAME_NOREPLACE by number: glibc has the wrapper only since 2.28, and some file systems lack it (EINVAL).
int rename_without_replacing(const char* from, const char* to) {
  if (::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 1u) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  if (::link(from, to) != 0) return -1;
  ::unlink(from);
  return 0;
}

}  // namespace

void require_target(const std::string& path, bool overwrite) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) {
    if (errno == ENAMETOOLONG || errno == ELOOP) throw IoError(errno_message("write", path));
    return;
  }
  if (S_ISDIR(st.st_mode)) throw IoError("cannot write " + path + ": it is a directory; name a file in it");
  if (!S_ISREG(st.st_mode))
    throw IoError("cannot write " + path +
                  ": it is no regular file, so the output could not appear whole; write to a file");
  if (!overwrite) refuse_existing(path);
}

OutputFile::OutputFile(const std::string& path, bool overwrite)
    : path_(path), target_(resolve(path)), directory_(directory_of(target_)), overwrite_(overwrite) {
  require_target(target_, overwrite);
  struct stat st {};
  const bool exists = ::stat(target_.c_str(), &st) == 0;
  const mode_t mode = exists ? st.st_mode & 07777 : 0666;  // the umask applies to new files
  // A file without a name gets one through /proc alone, which not every container has.
  const bool unnamed = ::access("/proc/self/fd", F_OK) == 0;
  if (unnamed) fd_ = Fd(::open(directory_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode));
  if (!fd_) {
    const bool refused =
        errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == EROFS || errno == ENOSPC || errno == EDQUOT;
    if (unnamed && refused) throw IoError(errno_message("write to directory", directory_));
    // What replaces a file that few may read is never open to more of them.
    open_named(exists ? 0600 : mode);
  }
  if (exists) ::fchmod(fd_.get(), mode);
}

void OutputFile::take_temporary_name(const std::string& doing, const std::function<bool(const char*)>& take) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    temporary_ = directory_ + "/.restride-" + std::to_string(::getpid()) + "-" + std::to_string(attempt);
    set_temporary(temporary_);
    if (take(temporary_.c_str())) return;
    const int reason = errno;
    clear_temporary();
    temporary_.clear();
    errno = reason;
    if (reason != EEXIST) throw IoError(errno_message(doing, path_));
  }
  throw IoError("cannot " + doing + " " + path_ + ": no free temporary name beside it");
}

void OutputFile::open_named(mode_t mode) {
  take_temporary_name("write", [&](const char* name) {
    fd_ = Fd(::open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode));
    return static_cast<bool>(fd_);
  });
}

OutputFile::~OutputFile() {
  if (temporary_.empty()) return;
  ::unlink(temporary_.c_str());
  clear_temporary();
}

void OutputFile::reserve(std::uint64_t bytes) {
  if (bytes == 0) return;
  if (::fallocate(fd_.get(), 0, 0, static_cast<off_t>(bytes)) == 0) return;
  if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
    throw IoError(errno_message("write", path_) + " (" + std::to_string(bytes) +
                  " bytes are needed); free some space or name a target elsewhere");
  // Other file systems cannot reserve; the writes will tell.
}

void OutputFile::commit(bool sync) {
  if (sync && ::fsync(fd_.get()) != 0) throw IoError(errno_message("write", path_));
  if (!publish_new()) {
    if (!overwrite_) refuse_existing(path_);
    publish_over();
  }
  temporary_.clear();
  clear_temporary();
  if (!sync) return;
  // The name is in the directory: until that is on the device too, a power cut may take the file.
  const Fd directory(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory) ::fsync(directory.get());
}

bool OutputFile::publish_new() {
  int result = 0;
  if (temporary_.empty()) {
    const std::string self = "/proc/self/fd/" + std::to_string(fd_.get());
    result = ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, target_.c_str(), AT_SYMLINK_FOLLOW);
  } else {
    result = rename_without_replacing(temporary_.c_str(), target_.c_str());
  }
  if (result == 0) return true;
  if (errno == EEXIST) return false;
  throw IoError(errno_message("give the output its name", path_));
}

void OutputFile::publish_over() {
  if (temporary_.empty()) {  // linkat replaces nothing, so the file gets a temporary name first
    const std::string self = "/proc/self/fd/" + std::to_string(fd_.get());
    take_temporary_name("give the output its name", [&](const char* name) {
      return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
    });
  }
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) throw IoError(errno_message("replace", path_));
}

}  // namespace restride::io
