// safetensors: an 8-byte length, a JSON header, the tensors.
// Format: https://huggingface.co/docs/safetensors (the limits of size and nesting below are the reference reader's).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <restride/dtype.hpp>

#include "tools/io/array_entry.h"
#include "tools/io/byte_source.h"

namespace restride::io {

/// One tensor of a file. A header may hold a million: what an ArrayEntry has for each would fill a GiB.
struct SafetensorsTensor {
  std::string name;
  std::uint64_t first = 0, last = 0;  ///< its bytes in the file
  std::optional<DType> dtype;         ///< none where restride does not know it
  std::string unknown_dtype;          ///< its name then, safe to print
  std::vector<std::int64_t> extents;
};

/// Every tensor of the file, in the order of their bytes, each checked to lie within it.
/// Errors: ParseError (a length beyond the file or 100 MB, more than five million keys, bad JSON, nesting, offsets that
/// do not fit the shape), RangeError.
/// Cost: a second or less for a header of 100 MB and a million tensors; 5 times the header's bytes of memory.
std::deque<SafetensorsTensor> parse_safetensors(const ByteSource& source);

/// The tensor as any other array; of one whose dtype is unknown `unsupported` says so.
ArrayEntry entry_of(const SafetensorsTensor& tensor);

/// The header in front of one contiguous tensor, padded to a multiple of 8 bytes.
/// Errors: UnsupportedError when the format has no name for the element, ArgumentError for a name that is no UTF-8
/// or that the format keeps for itself (__metadata__).
std::string safetensors_header(const std::string& name, const Element& element, Extents extents);

}  // namespace restride::io
