#include "tools/io/array_set.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "tools/io/naming.h"
#include "tools/io/npy.h"
#include "tools/io/npz.h"
#include "tools/io/open_array.h"

namespace restride::io {
namespace fs = std::filesystem;

std::optional<ArraySet> ArraySet::open(const std::string& path) {
  std::error_code unknown;
  if (path != "-" && fs::is_directory(path, unknown)) {
    ArraySet folder(FileFormat::kFolder, path);
    folder.list_folder();
    return folder;
  }
  auto file = std::make_shared<const InputFile>(open_input(path));
  return naming(file->path(), [&]() -> std::optional<ArraySet> {
    const FileFormat format = format_of(*file, "say how its bytes lie: --in-layout 'f32 (480,640,3)'");
    ArraySet set(format, file->path());
    set.file_ = file;
    if (format == FileFormat::kNpz) {
      set.members_ = read_zip_directory(*file);
      std::erase_if(set.members_, [](const ZipMember& m) { return !m.name.ends_with(".npy"); });
      for (const ZipMember& m : set.members_) set.names_.push_back(array_of_member(m.name));
    } else if (format == FileFormat::kSafetensors) {
      set.tensors_ = parse_safetensors(*file, &set.metadata_);
      for (const SafetensorsTensor& t : set.tensors_) set.names_.push_back(t.name);
    } else {
      return std::nullopt;
    }
    if (set.names_.empty()) throw ArgumentError(set.path_ + " holds no arrays");
    return set;
  });
}

void ArraySet::list_folder() {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  std::error_code error;
  std::string reading = path_;  // the folder that fails where one does: of those below, the entry that was come to last
  fs::recursive_directory_iterator at(path_, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    const std::string file = at->path().string();
    reading = file;
    if (file.ends_with(".npy") && at->is_regular_file(error))
      names_.push_back(array_of_member(file.substr(path_.size() + (path_.ends_with('/') ? 0 : 1))));
  }
  if (error)
    throw IoError(fmt::format(
        "cannot read the folder {}: {}; make it readable, or name a folder without it, because all arrays below {} are "
        "wanted",
        reading, error.message(), path_));
  if (names_.empty()) throw ArgumentError(path_ + " is a folder without .npy files; name a file or another folder");
  std::sort(names_.begin(), names_.end());
}

std::string ArraySet::shown(std::size_t i) const {
  return format_ == FileFormat::kFolder ? path_of(i) : fmt::format("{}:{}", path_, names_[i]);
}

ArrayEntry ArraySet::entry(std::size_t i) const {
  if (format_ == FileFormat::kFolder) return naming(path_of(i), [&] { return parse_npy(InputFile(path_of(i))); });
  return naming(path_, [&] {
    ArrayEntry entry = format_ == FileFormat::kNpz ? parse_npz_member(*file_, members_[i]) : entry_of(tensors_[i]);
    if (!entry.unsupported.empty()) throw UnsupportedError(entry.unsupported);
    return entry;
  });
}

SetArray ArraySet::array(std::size_t i) const {
  std::shared_ptr<const InputFile> file = file_;
  if (format_ == FileFormat::kFolder) {
    file = std::make_shared<const InputFile>(path_of(i));
    ArrayEntry entry = naming(path_of(i), [&] { return parse_npy(*file); });
    return {std::move(file), std::move(entry), shown(i)};
  }
  ArrayEntry header = entry(i);
  if (format_ == FileFormat::kNpz && members_[i].deflated)
    file = std::make_shared<const InputFile>(unpack_npz_member(*file_, members_[i]));
  return {std::move(file), std::move(header), shown(i)};
}

bool ArraySet::reads(const std::string& path) const {
  if (file_) return file_->is_same_file(path);
  std::error_code unknown;  // what does not exist is not read
  return std::any_of(names_.begin(), names_.end(), [&](const std::string& name) {
    return fs::equivalent(path_ + "/" + name + ".npy", path, unknown);
  });
}

}  // namespace restride::io
