// The part of ZIP that .npz files use: a directory of members, stored or deflated, with 64-bit sizes.
// Format: PKWARE APPNOTE 6.3. Own code because a stored member is mapped in place, which needs its position in
// the file; libraries hand out streams only. Inflating is zlib's.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tools/io/byte_source.h"

namespace restride::io {

struct ZipMember {
  std::string name;
  std::uint64_t header_offset = 0;     ///< of its local header
  std::uint64_t directory_offset = 0;  ///< of the archive's directory, which lies behind all members
  std::uint64_t packed_bytes = 0;
  std::uint64_t bytes = 0;
  std::uint32_t crc32 = 0;
  bool deflated = false;
};

/// The central directory. Sizes and positions are those the directory claims; `zip_member_data` checks them.
/// Errors: ParseError, UnsupportedError (encryption, several disks).
std::vector<ZipMember> read_zip_directory(const ByteSource& source);

/// Position of the member's packed bytes, checked to lie in front of the directory.
/// Errors: ParseError, UnsupportedError (a compression method other than none and deflate).
std::uint64_t zip_member_data(const ByteSource& source, const ZipMember& member);

/// Unpacks a deflated member piece by piece into `sink`. Never yields more than the directory promised.
/// Errors: ParseError (bad stream, wrong size, wrong checksum); what `sink` throws.
void inflate_zip_member(const ByteSource& source, const ZipMember& member,
                        const std::function<void(std::span<const std::uint8_t>)>& sink);

/// The first `count` bytes of a deflated member, or all of a shorter one. What is not unpacked is not checked.
/// Errors: ParseError (bad stream).
std::vector<std::uint8_t> inflate_zip_head(const ByteSource& source, const ZipMember& member, std::uint64_t count);

/// A stored member of an archive that is written.
struct ZipEntry {
  std::string name;
  std::uint64_t header_offset = 0;  ///< of its local header
  std::uint64_t bytes = 0;
  std::uint32_t crc32 = 0;
};

/// What stands in front of a stored member. Its checksum is patched in later, `kZipCrcOffset` bytes behind its start.
std::string zip_local_header(const std::string& name, std::uint64_t bytes);
inline constexpr std::uint64_t kZipCrcOffset = 14;

/// What stands behind the members, at `offset` of the file.
std::string zip_end(std::span<const ZipEntry> members, std::uint64_t offset);

}  // namespace restride::io
