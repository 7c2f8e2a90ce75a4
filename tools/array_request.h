// From an array in a file and the options to a copy of its bytes.
#pragma once

#include "tools/io/array_entry.h"
#include "tools/io/save_array.h"
#include "tools/view_options.h"

namespace restride::tools {

/// `apply`, of an array in a file. Packed elements narrower than a byte move in groups that fill whole bytes: `result`
/// has a byte for each of them, `dst` and `src` are what really moves.
/// Errors: those of `apply`; CastError for elements that the format names and restride cannot convert;
/// UnsupportedError where a copy would cut a group.
CopyRequest request_for(const ViewOptions& options, const io::ArrayEntry& entry);

/// What is written for it. An element that restride only moves keeps the format's name for it.
io::ArraySpec spec_for(const CopyRequest& request, const io::ArrayEntry& entry);

/// A layout as reports write it; of packed elements by the format's name: "F4 (32,64)".
std::string layout_text(const Layout& layout, const io::ArrayEntry& entry);

}  // namespace restride::tools
