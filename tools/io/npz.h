// Arrays in an .npz: members of a zip archive that are .npy files.
#pragma once

#include <string>

#include "tools/io/array_entry.h"
#include "tools/io/byte_source.h"
#include "tools/io/file.h"
#include "tools/io/zip.h"

namespace restride::io {

/// An array's name is its member's without the ending that makes it an array.
inline std::string array_of_member(const std::string& member) {
  return member.ends_with(".npy") ? member.substr(0, member.size() - 4) : member;
}

/// The array in a deflated member, of which no more is unpacked than holds its header. The layout's offset counts from
/// the first byte that the member unpacks to.
/// Errors: those of parse_npy and inflate_zip_head; ParseError when the member unpacks to more than the array.
ArrayEntry parse_deflated_npy(const ByteSource& source, const ZipMember& member);

/// The array in any member. That of a stored one lies in `source`; a deflated one's layout counts from the first byte
/// that it unpacks to. Errors: those of parse_npy, parse_deflated_npy and zip_member_data, which name the member.
ArrayEntry parse_npz_member(const ByteSource& source, const ZipMember& member);

/// All that a deflated member unpacks to, in a nameless file. Errors: those of inflate_zip_member; IoError.
InputFile unpack_npz_member(const InputFile& file, const ZipMember& member);

}  // namespace restride::io
