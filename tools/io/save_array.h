// From what the user writes to an output file that appears whole: "a.npy", "a.npz:weights", "m.safetensors:w", "a.raw".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <restride/layout.hpp>

#include "tools/io/open_array.h"
#include "tools/io/output_file.h"
#include "tools/io/safetensors.h"
#include "tools/io/zip.h"

namespace restride::io {

/// What is written: an array whose elements will come in the order of the file. A file may hold a million.
struct ArraySpec {
  std::string name;  ///< where the format has names; empty: what it calls an only array
  Element element;
  std::vector<std::int64_t> extents;
  std::uint64_t bytes = 0;
  bool fortran_order = false;
  std::string npy_descr;          ///< overrides NumPy's name of the element; empty: npy_dtype(element)
  std::string safetensors_dtype;  ///< the same of safetensors
  int bits = 0;                   ///< as in ArrayEntry
};

/// A dense array in C order, without a name.
ArraySpec spec_of(const Layout& layout);

/// Where `spec` says to write. Errors: ArgumentError (a member for a format without), IoError (a folder that is a
/// file).
PathAndMember target_of(const std::string& spec);

/// The format that the ending of `path` names: .npy, .npz, .safetensors, .raw or .bin.
std::optional<FileFormat> format_named(const std::string& path);

/// `name` without an .npy behind it, found fit for a member of an archive or a file in a folder: relative, and nowhere
/// upwards. Errors: ArgumentError.
std::string member_name(const std::string& name);

/// What stands in front of the elements in a file of one array. Errors: as the constructor of ArrayWriter.
std::string head_of(FileFormat format, const ArraySpec& array);

/// What takes arrays, one behind the other.
class ArraySink {
 public:
  virtual ~ArraySink() = default;
  /// Bytes of the array with this index, indices ascending; of each ascending offsets without gaps, counted from its
  /// first element.
  virtual void write(std::size_t array, std::uint64_t offset, Bytes bytes) = 0;
  /// See OutputFile::commit.
  virtual void commit(bool sync) = 0;
};

/// A file of one array, or of several where the format has names.
class ArrayWriter final : public ArraySink {
 public:
  /// The format is told by the name. Errors: ArgumentError (an unknown ending, a member for a format without, Fortran
  /// order where the format has none), UnsupportedError (an element that it has no name for), IoError (the file holds
  /// arrays beside those written, which would be lost), those of OutputFile.
  ArrayWriter(const std::string& spec, ArraySpec array, bool overwrite);
  /// Several, each with its name; an .npz has no place for metadata, which is left out. Errors: the same; of one array
  /// with its name in front.
  ArrayWriter(const std::string& path, const std::vector<ArraySpec>& arrays, const SafetensorsMetadata& metadata,
              bool overwrite);

  const std::string& path() const noexcept { return path_; }
  void write(std::size_t array, std::uint64_t offset, Bytes bytes) override;
  void commit(bool sync) override;

 private:
  void start(const std::vector<ArraySpec>& arrays, bool named, const SafetensorsMetadata& metadata, bool overwrite);
  void place_zip_members(const std::vector<ArraySpec>& arrays);
  void place_tensors(const std::vector<ArraySpec>& arrays, const SafetensorsMetadata& metadata);

  std::string path_;
  FileFormat format_ = FileFormat::kNpy;
  std::vector<std::string> heads_;      // in front of each array, until they are written
  std::vector<std::uint64_t> data_at_;  // of each array, in the file
  std::vector<ZipEntry> zip_members_;   // of an .npz
  std::uint64_t end_ = 0;               // of the arrays
  std::unique_ptr<OutputFile> file_;
};

}  // namespace restride::io
