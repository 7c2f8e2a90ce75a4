// NumPy's .npy: a magic, a Python dictionary as text, the elements.
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html (versions 1.0, 2.0 and 3.0).
#pragma once

#include <string>
#include <string_view>

#include "tools/io/array_entry.h"
#include "tools/io/byte_source.h"

namespace restride::io {

/// What NumPy's dtype string says about an element.
struct NpyDtype {
  Element element;
  std::int64_t word_bytes = 0;  ///< size of the big-endian words that it consists of; 0: little-endian
  bool opaque = false;          ///< moves, but restride cannot convert it ("<U5", "|V12", "<M8[ns]")
};

/// Reads "<f4", ">c16", "|V12", "bfloat16" ...
/// Errors: ParseError (no dtype at all), UnsupportedError (Python objects, zero-sized elements).
NpyDtype parse_npy_dtype(std::string_view descr);

/// NumPy's dtype string for an element; bf16 and f8, which it has no name for, as bytes ("<V2", "<V1").
std::string npy_dtype(const Element& element);

/// Reads the header and checks that the data lie within the source.
/// Fortran order becomes strides; big-endian elements are reported in swap_bytes, opaque ones in
/// opaque_word_bytes.
/// Errors: ParseError, RangeError, UnsupportedError (records with fields, Python objects).
ArrayEntry parse_npy(const ByteSource& source);

/// The same where only the file's beginning is at hand: all of its header, which has at most `kMaxNpyHeadBytes` with
/// what stands in front of it. The data are checked to lie within `file_bytes`.
ArrayEntry parse_npy_head(const ByteSource& head, std::uint64_t file_bytes);
inline constexpr std::uint64_t kMaxNpyHeadBytes = (1 << 20) + 12;

/// The header in front of contiguous data: version 1.0 where it fits, padded to a multiple of 64 bytes.
/// `descr` as npy_dtype or ArrayEntry::npy_descr give it.
std::string npy_header(std::string_view descr, Extents extents, bool fortran_order);

}  // namespace restride::io
