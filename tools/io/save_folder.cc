#include "tools/io/save_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "tools/io/remove_tree.h"
#include "tools/io/signals.h"
#include "tools/io/text.h"

namespace restride::io {
namespace {

namespace fs = std::filesystem;

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

/// What is there already is kept, an empty folder aside.
void require_free(const std::string& path, const std::string& target) {
  std::error_code unknown;
  if (!fs::exists(fs::symlink_status(target, unknown))) return;
  if (!fs::is_directory(target, unknown)) throw IoError(path + " exists and is no folder; name another");
  if (!fs::is_empty(target, unknown))
    throw IoError(path + " is a folder that holds something; folders are never replaced, so remove it or name another");
}

}  // namespace

bool names_folder(const std::string& spec) {
  std::error_code unknown;
  return spec.ends_with('/') || fs::is_directory(spec, unknown);
}

FolderWriter::FolderWriter(const std::string& path, std::vector<ArraySpec> arrays)
    : path_(without_slashes(path)), target_(path_), arrays_(std::move(arrays)) {
  std::set<std::string_view> names;
  for (ArraySpec& a : arrays_) {
    try {
      a.name = member_name(a.name);
      (void)head_of(FileFormat::kNpy, a);
    } catch (const UnsupportedError& e) {
      throw UnsupportedError(fmt::format("'{}': {}", printable(a.name), e.what()));
    }
    if (!names.insert(a.name).second)
      throw ArgumentError(fmt::format("two arrays would be the file '{}.npy'; names must differ", printable(a.name)));
  }
  std::error_code unknown;
  if (fs::is_symlink(target_, unknown)) {
    const fs::path real = fs::canonical(target_, unknown);
    if (!unknown) target_ = real.string();
  }
  require_free(path_, target_);
  const std::size_t slash = target_.rfind('/');
  const std::string parent = slash == std::string::npos ? "" : target_.substr(0, slash + 1);
  for (int serial = 0; beside_.empty(); ++serial) {
    const std::string name = fmt::format("{}.restride-{}-{}", parent, ::getpid(), serial);
    if (::mkdir(name.c_str(), 0700) == 0)
      beside_ = name;
    else if (errno != EEXIST || serial > 100)
      throw IoError(base::errno_message("make the folder", path_) + "; name one in a folder that you may write to");
  }
  add_temporary(beside_, false);
}

FolderWriter::~FolderWriter() {
  if (beside_.empty()) return;
  remove_tree(beside_.c_str());
  forget_temporary(beside_);
}

void FolderWriter::reach(std::size_t array) {
  for (; made_ <= array; ++made_) {
    const ArraySpec& a = arrays_[made_];
    const fs::path name = fs::path(beside_) / (a.name + ".npy");
    std::error_code error;
    fs::create_directories(name.parent_path(), error);
    if (!error) file_ = base::Fd(::open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666));
    if (error || !file_) {
      if (error) errno = error.value();
      const std::string reason = base::errno_message("write", fmt::format("{}/{}.npy", path_, a.name));
      throw IoError(errno == EEXIST || errno == ENOTDIR ? reason + ": another array's name takes its place" : reason);
    }
    const std::string head = head_of(FileFormat::kNpy, a);
    head_bytes_ = head.size();
    base::write_fully(file_.get(), 0, {reinterpret_cast<const std::uint8_t*>(head.data()), head.size()}, path_);
  }
}

void FolderWriter::write(std::size_t array, std::uint64_t offset, Bytes bytes) {
  reach(array);
  base::write_fully(file_.get(), head_bytes_ + offset, bytes, path_);
}

void FolderWriter::commit(bool sync) {
  if (!arrays_.empty()) reach(arrays_.size() - 1);
  file_ = base::Fd();
  // One call for all files: a file system takes thousands of them at once far faster than one by one.
  const auto sync_folder = [](const std::string& folder) {
    const base::Fd fd(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return fd && ::syncfs(fd.get()) == 0;
  };
  if (sync && !sync_folder(beside_)) throw IoError(base::errno_message("write", path_));
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::chmod(beside_.c_str(), 0777 & ~mask);
  // The kernel lets a folder take no other's place than an empty folder's.
  if (::rename(beside_.c_str(), target_.c_str()) != 0) {
    require_free(path_, target_);  // it appeared meanwhile
    throw IoError(base::errno_message("give its name to", path_));
  }
  forget_temporary(beside_);
  beside_.clear();
  if (sync) {
    const base::Fd parent(
        ::open(fs::path(target_).parent_path().empty() ? "." : fs::path(target_).parent_path().c_str(),
               O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (parent) ::fsync(parent.get());
  }
}

}  // namespace restride::io
