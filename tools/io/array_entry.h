// What every parser answers: an array found in a file, as a layout over the file's bytes.
#pragma once

#include <cstdint>
#include <string>

#include <restride/layout.hpp>

namespace restride::io {

/// Where arrays lie or go; a folder holds .npy files.
enum class FileFormat { kNpy, kNpz, kSafetensors, kRaw, kFolder };

struct ArrayEntry {
  std::string name;                    ///< member or tensor; empty where a format holds one array
  Layout layout;                       ///< offset_bytes counts from the first byte of the source that was parsed
  std::int64_t swap_bytes = 0;         ///< size of the big-endian words that elements consist of; 0: little-endian
  std::int64_t opaque_word_bytes = 0;  ///< the same of an opaque element, which moves unswapped until it is named
  std::string npy_descr;  ///< NumPy's name of an opaque element ("<U5", "<M8[ns]"), to write it back; else empty
  std::string safetensors_dtype;  ///< the same of safetensors ("F8_E8M0")
  int bits = 0;  ///< of packed elements narrower than a byte, of which the layout says how many there are, as
                 ///< if each had a byte; 0: none are
  std::string unsupported;  ///< why nobody can read it, though others beside it can be read; its layout is empty
};

/// Dense elements as a file's header claims them, the last mode fastest or, in Fortran order, the first.
/// Errors: as contiguous; RangeError says that the header claims it.
Layout dense(const Element& element, Extents extents, bool fortran_order);

/// Throws ParseError unless `layout`, counted from the first byte, lies within `total_bytes`; `what` names it.
void require_within(const Layout& layout, std::uint64_t total_bytes, const std::string& what);

}  // namespace restride::io
