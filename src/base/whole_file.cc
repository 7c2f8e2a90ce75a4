#include "src/base/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <restride/error.hpp>

namespace restride::base {
namespace {

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// A link that another user placed where all may: the kernel refuses to open a file through it (protected_symlinks),
/// and what replaces files must be no way around that.
bool is_planted(const std::string& path, const struct stat& link) {
  struct stat folder {};
  if (::stat(directory_of(path).c_str(), &folder) != 0) return false;
  const bool open_to_all = (folder.st_mode & S_ISVTX) != 0 && (folder.st_mode & S_IWOTH) != 0;
  return open_to_all && link.st_uid != ::geteuid() && link.st_uid != folder.st_uid;
}

/// Where the bytes go: links followed, with `replace` also one whose file does not exist yet.
std::string follow_links(const std::string& shown, bool replace) {
  namespace fs = std::filesystem;
  constexpr int kMaxLinks = 40;  // as the kernel
  std::string path = shown;
  for (int links = 0; links < kMaxLinks; ++links) {
    struct stat link {
    }, file{};
    if (::lstat(path.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) return path;
    const bool dangling = ::stat(path.c_str(), &file) != 0;
    if (dangling && errno != ENOENT) throw IoError(errno_message("write", shown));
    std::error_code error;
    const fs::path to = fs::read_symlink(path, error);
    if (error) throw IoError(fmt::format("cannot write {}: {}", shown, error.message()));
    if (is_planted(path, link))
      throw IoError(
          fmt::format("cannot write {}: the symbolic link {} to {} is another user's, in a folder open to all; "
                      "name that file itself",
                      shown, path, to.string()));
    if (dangling && !replace)
      throw IoError(
          fmt::format("cannot write {}: it is a symbolic link to {}, which does not exist; remove the link or "
                      "name that file itself",
                      shown, to.string()));
    std::string next = fs::path(path).parent_path() / to;
    if (!dangling && ::lstat(next.c_str(), &link) != 0) return path;  // it has no path, as /dev/stdout of a pipe
    path = std::move(next);
  }
  errno = ELOOP;
  throw IoError(errno_message("write", shown));
}

int open_nameless_file(const char* directory, mode_t mode) {
  return ::open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
}

int link_to(const char* from, const char* to) { return ::linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW); }

// By number: glibc has the wrapper only since 2.28.
int rename_to_new(const char* from, const char* to) {
  constexpr unsigned kNoReplace = 1;
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, kNoReplace));
}

/// The name by which a nameless file is linked to.
std::string name_of(const Fd& fd) { return "/proc/self/fd/" + std::to_string(fd.get()); }

std::string directory_message(const std::string& directory) {
  const bool full = errno == ENOSPC || errno == EDQUOT;
  return errno_message("write to directory", directory) +
         (full ? "; free some space or name a target elsewhere" : "; name a file in a folder that you may write to");
}

}  // namespace

const NamingCalls& system_naming() {
  static constexpr NamingCalls kSystem{
      open_nameless_file,  link_to, rename_to_new, [](const std::string&, bool) {}, [](const std::string&) noexcept {},
      [](bool) noexcept {}};
  return kSystem;
}

void require_regular(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) {
    if (errno == ENAMETOOLONG || errno == ELOOP) throw IoError(errno_message("write", path));
    return;
  }
  if (S_ISDIR(st.st_mode)) throw IoError("cannot write " + path + ": it is a directory; name a file in it");
  if (!S_ISREG(st.st_mode))
    throw IoError("cannot write " + path +
                  ": it is no regular file, so the output could not appear whole; write to a file");
}

WholeFile::OwnName::OwnName(std::string path, bool claim, const NamingCalls& naming)
    : path_(std::move(path)), claim_(claim), naming_(&naming) {
  naming_->name_made(path_, claim_);
}

WholeFile::OwnName& WholeFile::OwnName::operator=(OwnName&& o) noexcept {
  std::swap(path_, o.path_);
  std::swap(claim_, o.claim_);
  std::swap(naming_, o.naming_);
  return *this;
}

WholeFile::OwnName::~OwnName() {
  if (path_.empty()) return;
  if (is_ours()) (void)::unlink(path_.c_str());
  naming_->name_gone(path_);
}

bool WholeFile::OwnName::is_ours() const {
  struct stat st {};
  return !claim_ || (::lstat(path_.c_str(), &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0);
}

void WholeFile::OwnName::let_go() noexcept {
  if (!path_.empty()) naming_->name_gone(path_);
  path_.clear();
}

WholeFile::WholeFile(const std::string& path, bool replace, const NamingCalls& naming)
    : naming_(naming),
      path_(path),
      target_(follow_links(path, replace)),
      directory_(directory_of(target_)),
      replace_(replace) {
  require_regular(target_);
  struct stat st {};
  const bool exists = ::stat(target_.c_str(), &st) == 0;
  // Permissions alone: with the bits above them, a file of somebody else's would lend its rights to ours. The umask
  // applies to new files.
  const mode_t mode = exists ? st.st_mode & 0777 : 0666;
  if (!open_nameless(mode)) open_beside(exists ? 0600 : mode);  // never open to more than may read the old file
  if (exists) ::fchmod(fd_.get(), mode);
  if (replace_)
    way_ = Way::kRenameOver;
  else if (beside_)
    find_way_to_a_free_name();
}

WholeFile::~WholeFile() = default;

std::optional<WholeFile::OwnName> WholeFile::take_name(const std::function<bool(const char*)>& take) {
  static std::atomic<unsigned> serial{0};  // threads may write at once
  for (int attempt = 0; attempt < 100; ++attempt) {
    OwnName name(fmt::format("{}/.restride-{}-{}", directory_, ::getpid(), serial++), false, naming_);
    if (take(name.path().c_str())) return name;
    const int reason = errno;
    name.let_go();
    errno = reason;
    if (reason != EEXIST) break;
  }
  return std::nullopt;
}

bool WholeFile::open_nameless(mode_t mode) {
  // A file without a name gets one through /proc alone, which not every container has.
  if (::access("/proc/self/fd", F_OK) != 0) return false;
  const auto open = [&] { return Fd(naming_.open_nameless(directory_.c_str(), mode)); };
  fd_ = open();
  if (!fd_) {
    for (const int reason : {ENOENT, ENOTDIR, EACCES, EROFS, ENOSPC, EDQUOT})
      if (errno == reason) throw IoError(directory_message(directory_));
    return false;
  }
  // Not every file system that makes such files can name them. Another one is asked: the first name that a file without
  // one gets is the only one, once it is lost.
  const Fd trial = open();
  const auto link = [&](const char* name) { return naming_.link(name_of(trial).c_str(), name) == 0; };
  if (trial && take_name(link)) return true;
  fd_ = Fd();
  return false;
}

void WholeFile::open_beside(mode_t mode) {
  std::optional<OwnName> name = take_name([&](const char* own) {
    fd_ = Fd(::open(own, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode));
    return static_cast<bool>(fd_);
  });
  if (!name) throw IoError(errno_message("write", path_));
  beside_ = *std::move(name);
}

void WholeFile::find_way_to_a_free_name() {
  const auto rename = [&](const char* name) { return naming_.rename_new(beside_.path().c_str(), name) == 0; };
  if (std::optional<OwnName> name = take_name(rename)) {
    beside_.let_go();
    beside_ = *std::move(name);
    way_ = Way::kRenameNew;
    return;
  }
  if (take_name([&](const char* name) { return naming_.link(beside_.path().c_str(), name) == 0; })) return;
  // Neither: the name is taken now, so that at the end it is ours to replace.
  struct Taking {
    explicit Taking(const NamingCalls& calls) : naming(calls) { naming.taking_name(true); }
    ~Taking() { naming.taking_name(false); }
    const NamingCalls& naming;
  } const taking(naming_);
  if (!Fd(::open(target_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600)))
    throw IoError(errno_message("write", path_));
  claim_ = OwnName(target_, true, naming_);
  way_ = Way::kRenameOver;
}

void WholeFile::reserve(std::uint64_t bytes) {
  if (bytes == 0 || ::fallocate(fd_.get(), 0, 0, static_cast<off_t>(bytes)) == 0) return;
  if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) throw IoError(write_message(path_, bytes));
  // Other file systems cannot reserve; the writes will tell.
}

bool WholeFile::commit(bool sync) {
  if (sync && ::fsync(fd_.get()) != 0) throw IoError(errno_message("write", path_));
  if (!publish()) return false;
  if (!sync) return true;
  // The name is in the directory: until that is on the device too, a power cut may take the file.
  const Fd directory(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory) ::fsync(directory.get());
  return true;
}

bool WholeFile::publish() {
  const std::string nameless = name_of(fd_);
  const auto refusal = [&] { return IoError(errno_message("give its name to", path_)); };
  if (!beside_ && way_ == Way::kRenameOver) {  // a link replaces nothing, so the file gets a name beside first
    std::optional<OwnName> name = take_name([&](const char* own) { return naming_.link(nameless.c_str(), own) == 0; });
    if (!name) throw refusal();
    beside_ = *std::move(name);
  }
  if (claim_ && !claim_.is_ours()) return false;
  const char* from = beside_ ? beside_.path().c_str() : nameless.c_str();
  const char* to = target_.c_str();
  const int result = way_ == Way::kLink        ? naming_.link(from, to)
                     : way_ == Way::kRenameNew ? naming_.rename_new(from, to)
                                               : ::rename(from, to);
  if (result != 0 && errno == EEXIST && !replace_) return false;
  if (result != 0) throw refusal();
  claim_.let_go();
  if (way_ != Way::kLink) beside_.let_go();
  beside_ = OwnName();  // of a file with two names that one goes
  return true;
}

}  // namespace restride::base
