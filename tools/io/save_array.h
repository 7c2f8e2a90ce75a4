// From what the user writes to an output file that appears whole: "a.npy", "a.npz:weights", "m.safetensors:w", "a.raw".
#pragma once

#include <memory>
#include <string>

#include "tools/io/open_array.h"
#include "tools/io/output_file.h"

#include <restride/layout.hpp>

namespace restride::io {

/// What is written: an array whose elements will come in the order of the file.
struct ArraySpec {
  Layout layout;          ///< its element and extents; dense in the order below
  std::string npy_descr;  ///< overrides NumPy's name of the element; empty: npy_dtype(layout.element)
  bool fortran_order = false;
};

/// Where `spec` says to write. Errors: ArgumentError (a member for a format without), IoError (a folder that is a
/// file).
PathAndMember target_of(const std::string& spec);

/// The format is told by the name: .npy, .npz (one stored member), .safetensors (one tensor), .raw or .bin.
class ArrayWriter {
 public:
  /// Errors: ArgumentError (an unknown ending, a member for a format without, Fortran order where the format has
  /// none), UnsupportedError (an element that it has no name for), IoError (the file holds arrays beside the one named,
  /// which would be lost), those of OutputFile.
  ArrayWriter(const std::string& spec, const ArraySpec& array, bool overwrite);

  const std::string& path() const noexcept { return path_; }
  /// Ascending offsets without gaps, counted from the first element.
  void write(std::uint64_t offset, Bytes bytes);
  /// See OutputFile::commit.
  void commit(bool sync);

 private:
  std::string path_;
  std::string zip_member_;  // set for .npz
  std::string head_;        // in front of the elements
  std::uint64_t data_bytes_ = 0;
  std::uint64_t member_bytes_ = 0;  // of the .npz member: its .npy header and the elements
  std::uint32_t crc32_ = 0;         // of the .npz member so far
  std::unique_ptr<OutputFile> file_;
};

}  // namespace restride::io
