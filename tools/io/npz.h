// Arrays in an .npz: members of a zip archive that are .npy files.
#pragma once

#include "tools/io/array_entry.h"
#include "tools/io/byte_source.h"
#include "tools/io/zip.h"

namespace restride::io {

/// The array in a deflated member, of which no more is unpacked than holds its header. The layout's offset counts from
/// the first byte that the member unpacks to.
/// Errors: those of parse_npy and inflate_zip_head; ParseError when the member unpacks to more than the array.
ArrayEntry parse_deflated_npy(const ByteSource& source, const ZipMember& member);

}  // namespace restride::io
