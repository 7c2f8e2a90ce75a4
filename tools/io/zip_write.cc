// Writing: stored members.
#include <algorithm>
#include <initializer_list>

#include "tools/io/zip.h"

namespace restride::io {
namespace {

constexpr std::uint64_t kSaturated = 0xffffffff;
constexpr std::uint64_t kMostMembers = 0xffff;  // that the short record of the end can count
constexpr int kVersion = 45;                    // of the format that knows 64-bit sizes
constexpr std::uint64_t kDate = 0x0021;         // 1980-01-01: equal data give equal files
constexpr int kUtf8Names = 1 << 11;

bool needs_64(std::uint64_t bytes) { return bytes >= kSaturated; }

// The fields that local and central header share.
std::string common_fields(std::uint64_t bytes, std::uint32_t crc32, std::size_t name, std::size_t extra) {
  std::string out;
  append_le(out, kVersion, 2);
  append_le(out, kUtf8Names, 2);
  append_le(out, 0, 2);  // stored
  append_le(out, 0, 2);  // midnight
  append_le(out, kDate, 2);
  append_le(out, crc32, 4);
  append_le(out, std::min(bytes, kSaturated), 4);
  append_le(out, std::min(bytes, kSaturated), 4);
  append_le(out, name, 2);
  append_le(out, extra, 2);
  return out;
}

/// The field that holds, with 64 bits, what the 32 of a header are too few for.
std::string extra_64(std::initializer_list<std::uint64_t> values) {
  std::string out;
  if (values.size() == 0) return out;
  append_le(out, 1, 2);
  append_le(out, 8 * values.size(), 2);
  for (const std::uint64_t v : values) append_le(out, v, 8);
  return out;
}

std::string local_extra(std::uint64_t bytes) { return needs_64(bytes) ? extra_64({bytes, bytes}) : std::string(); }

std::string directory_extra(const ZipEntry& m) {
  if (needs_64(m.bytes) && needs_64(m.header_offset)) return extra_64({m.bytes, m.bytes, m.header_offset});
  if (needs_64(m.header_offset)) return extra_64({m.header_offset});
  return local_extra(m.bytes);
}

}  // namespace

std::string zip_local_header(const std::string& name, std::uint64_t bytes) {
  const std::string extra = local_extra(bytes);
  return "PK\3\4" + common_fields(bytes, 0, name.size(), extra.size()) + name + extra;
}

std::string zip_end(std::span<const ZipEntry> members, std::uint64_t offset) {
  std::string out;
  for (const ZipEntry& m : members) {
    const std::string extra = directory_extra(m);
    out += "PK\1\2";
    append_le(out, kVersion, 2);
    out += common_fields(m.bytes, m.crc32, m.name.size(), extra.size());
    append_le(out, 0, 2);  // comment
    append_le(out, 0, 2);  // disk
    append_le(out, 0, 2);
    append_le(out, 0, 4);
    append_le(out, std::min(m.header_offset, kSaturated), 4);
    out += m.name + extra;
  }
  const std::uint64_t bytes = out.size(), end64_offset = offset + bytes;
  if (needs_64(offset) || needs_64(bytes) || members.size() >= kMostMembers) {
    out += "PK\6\6";
    append_le(out, 44, 8);  // size of the rest of this record
    append_le(out, kVersion, 2);
    append_le(out, kVersion, 2);
    append_le(out, 0, 8);  // disks
    append_le(out, members.size(), 8);
    append_le(out, members.size(), 8);
    append_le(out, bytes, 8);
    append_le(out, offset, 8);
    out += "PK\6\7";
    append_le(out, 0, 4);
    append_le(out, end64_offset, 8);
    append_le(out, 1, 4);
  }
  out += "PK\5\6";
  append_le(out, 0, 4);
  append_le(out, std::min<std::uint64_t>(members.size(), kMostMembers), 2);
  append_le(out, std::min<std::uint64_t>(members.size(), kMostMembers), 2);
  append_le(out, std::min(bytes, kSaturated), 4);
  append_le(out, std::min(offset, kSaturated), 4);
  append_le(out, 0, 2);
  return out;
}

}  // namespace restride::io
