// safetensors: an 8-byte length, a JSON header, the tensors.
// Format: https://huggingface.co/docs/safetensors (the limits below are the reference reader's).
#pragma once

#include <string>
#include <vector>

#include "tools/io/array_entry.h"
#include "tools/io/byte_source.h"

namespace restride::io {

/// Every tensor of the file, in the order of their names, each checked to lie within it. One of a dtype that restride
/// has no name for is an entry too: `unsupported` says so.
/// Errors: ParseError (a length beyond the file or 100 MB, bad JSON, nesting, offsets that do not fit the shape),
/// RangeError.
std::vector<ArrayEntry> parse_safetensors(const ByteSource& source);

/// The header in front of one contiguous tensor, padded to a multiple of 8 bytes.
/// Errors: UnsupportedError when the format has no name for the element, ArgumentError for a name that is no UTF-8
/// or that the format keeps for itself (__metadata__).
std::string safetensors_header(const std::string& name, const Element& element, Extents extents);

}  // namespace restride::io
