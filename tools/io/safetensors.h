// safetensors: an 8-byte length, a JSON header, the tensors.
// Format: https://huggingface.co/docs/safetensors (the limits of size and nesting below are the reference reader's).
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <restride/dtype.hpp>

#include "tools/io/array_entry.h"
#include "tools/io/byte_source.h"

namespace restride::io {

/// A dtype of the format.
struct SafetensorsDtype {
  std::string_view name;
  DType dtype;  ///< kBytes: restride moves its elements and cannot convert them
  int bits;     ///< of an element; a tensor of narrower ones than a byte is packed without gaps
};

/// One tensor of a file. A header may hold a million: what an ArrayEntry has for each would fill a GiB.
struct SafetensorsTensor {
  std::string name;
  std::uint64_t first = 0, last = 0;        ///< its bytes in the file
  const SafetensorsDtype* dtype = nullptr;  ///< null where restride does not know it
  std::string unknown_dtype;                ///< its name then, safe to print
  std::vector<std::int64_t> extents;
};

/// The header's __metadata__, in its order.
using SafetensorsMetadata = std::vector<std::pair<std::string, std::string>>;

/// Every tensor of the file, in the order of their bytes, each checked to lie within it; `metadata` takes what the
/// header says beside them.
/// Errors: ParseError (a length beyond the file or 100 MB, more than five million keys, bad JSON, nesting, offsets that
/// do not fit the shape), RangeError.
/// Cost: a second or less for a header of 100 MB and a million tensors; 5 times the header's bytes of memory.
std::deque<SafetensorsTensor> parse_safetensors(const ByteSource& source, SafetensorsMetadata* metadata = nullptr);

/// The tensor as any other array; of one whose dtype is unknown `unsupported` says so.
ArrayEntry entry_of(const SafetensorsTensor& tensor);

/// The format's name of an element. Errors: UnsupportedError when it has none.
std::string_view safetensors_dtype(const Element& element);

/// A tensor of a header that is written.
struct SafetensorsSpec {
  std::string name;
  std::string_view dtype;
  std::span<const std::int64_t> extents;
  std::uint64_t bytes = 0;
};

/// The header in front of tensors that lie one behind the other, padded to a multiple of 8 bytes.
/// Errors: ArgumentError for a name that is no UTF-8, that is there twice, or that the format keeps for itself
/// (__metadata__); UnsupportedError for a header that is longer than readers take.
std::string safetensors_header(std::span<const SafetensorsSpec> tensors, const SafetensorsMetadata& metadata = {});

}  // namespace restride::io
