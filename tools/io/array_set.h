// Arrays that are copied together: those of an .npz or .safetensors file, or the .npy files of a folder.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/io/array_entry.h"
#include "tools/io/file.h"
#include "tools/io/safetensors.h"
#include "tools/io/zip.h"

namespace restride::io {

/// An array that can be read; several may share their file.
struct SetArray {
  std::shared_ptr<const InputFile> file;
  ArrayEntry entry;
  std::string shown;  ///< how messages and reports name it
};

/// A million arrays take a few hundred MB: each is described anew when it is asked for.
class ArraySet {
 public:
  /// What is at `path` ("-" is standard input), where that may hold several arrays; nothing for an .npy or bare bytes.
  /// Of a folder: its .npy files, those of folders in it included, which are named by their paths without the ending.
  /// Errors: those of open_array.
  static std::optional<ArraySet> open(const std::string& path);

  FileFormat format() const noexcept { return format_; }
  const std::string& path() const noexcept { return path_; }
  std::size_t size() const noexcept { return names_.size(); }
  const std::string& name(std::size_t i) const { return names_[i]; }
  /// How messages and reports name it, and a command line does.
  std::string shown(std::size_t i) const;
  /// As its header says. Errors: those of open_array, which name it; UnsupportedError where its dtype is unknown.
  ArrayEntry entry(std::size_t i) const;
  /// A deflated member is unpacked. Errors: the same.
  SetArray array(std::size_t i) const;
  /// Of a safetensors file, else none.
  const SafetensorsMetadata& metadata() const noexcept { return metadata_; }
  /// True when `path` names a file that is read.
  bool reads(const std::string& path) const;

 private:
  ArraySet(FileFormat format, std::string path) : format_(format), path_(std::move(path)) {}
  void list_folder();
  std::string path_of(std::size_t i) const { return path_ + "/" + names_[i] + ".npy"; }

  FileFormat format_;
  std::string path_;
  std::vector<std::string> names_;
  std::shared_ptr<const InputFile> file_;  // of a folder: none
  std::vector<ZipMember> members_;
  std::deque<SafetensorsTensor> tensors_;
  SafetensorsMetadata metadata_;
};

}  // namespace restride::io
