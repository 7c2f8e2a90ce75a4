// Which arrays `restride copy` reads: one, or those of a whole file or folder.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/io/array_set.h"
#include "tools/io/open_array.h"

namespace restride::tools {

class CopyInputs {
 public:
  /// `in` and `out` as typed; `globs`: which arrays of a file that holds several, all where there are none. Several are
  /// meant where both sides can hold them and neither names one.
  /// Errors: those of io::open_array; ArgumentError where a glob matches nothing, or several arrays have no place in
  /// `out`; UsageError for globs beside a name.
  CopyInputs(const std::string& in, const std::string& out, const std::vector<std::string>& globs,
             const io::OpenOptions& options);

  /// True when names are kept, also of an only one.
  bool several() const noexcept { return set_.has_value(); }
  std::size_t size() const noexcept { return set_ ? chosen_.size() : 1; }
  std::string name(std::size_t i) const { return set_ ? set_->name(chosen_[i]) : one_->entry.name; }
  io::ArrayEntry entry(std::size_t i) const;
  /// Open for reading. Errors: those of io::ArraySet::array; IoError where a file of a folder has another shape by now.
  io::SetArray array(std::size_t i) const;
  const io::SafetensorsMetadata& metadata() const noexcept;
  std::string shown() const { return set_ ? set_->path() : one_->shown; }
  /// What is read, for options that must not name it.
  std::string path() const { return set_ ? set_->path() : one_->file->path(); }
  bool reads(const std::string& path) const { return set_ ? set_->reads(path) : one_->file->is_same_file(path); }

 private:
  void choose(const std::vector<std::string>& globs);

  std::optional<Element> reinterpret_;
  std::optional<io::ArraySet> set_;
  std::vector<std::size_t> chosen_;
  std::optional<io::SetArray> one_;
};

}  // namespace restride::tools
