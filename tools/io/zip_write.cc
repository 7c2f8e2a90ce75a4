// Writing: one stored member.
#include <algorithm>

#include "tools/io/zip.h"

namespace restride::io {
namespace {

constexpr std::uint64_t kSaturated = 0xffffffff;
constexpr int kVersion = 45;             // of the format that knows 64-bit sizes
constexpr std::uint64_t kDate = 0x0021;  // 1980-01-01: equal data give equal files
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

std::string extra_64(std::uint64_t bytes) {
  std::string out;
  if (!needs_64(bytes)) return out;
  append_le(out, 1, 2);
  append_le(out, 16, 2);
  append_le(out, bytes, 8);
  append_le(out, bytes, 8);
  return out;
}

}  // namespace

std::string zip_local_header(const std::string& name, std::uint64_t bytes) {
  const std::string extra = extra_64(bytes);
  return "PK\3\4" + common_fields(bytes, 0, name.size(), extra.size()) + name + extra;
}

std::string zip_end(const std::string& name, std::uint64_t bytes, std::uint32_t crc32) {
  const std::string extra = extra_64(bytes);
  std::string central = "PK\1\2";
  append_le(central, kVersion, 2);
  central += common_fields(bytes, crc32, name.size(), extra.size());
  append_le(central, 0, 2);  // comment
  append_le(central, 0, 2);  // disk
  append_le(central, 0, 2);
  append_le(central, 0, 4);
  append_le(central, 0, 4);  // the member is the first thing in the file
  central += name + extra;

  const std::uint64_t central_offset = zip_local_header(name, bytes).size() + bytes;
  const std::uint64_t end64_offset = central_offset + central.size();
  std::string out = central;
  if (central_offset >= kSaturated) {
    out += "PK\6\6";
    append_le(out, 44, 8);  // size of the rest of this record
    append_le(out, kVersion, 2);
    append_le(out, kVersion, 2);
    append_le(out, 0, 8);  // disks
    append_le(out, 1, 8);
    append_le(out, 1, 8);
    append_le(out, central.size(), 8);
    append_le(out, central_offset, 8);
    out += "PK\6\7";
    append_le(out, 0, 4);
    append_le(out, end64_offset, 8);
    append_le(out, 1, 4);
  }
  out += "PK\5\6";
  append_le(out, 0, 4);
  append_le(out, 1, 2);
  append_le(out, 1, 2);
  append_le(out, central.size(), 4);
  append_le(out, std::min(central_offset, kSaturated), 4);
  append_le(out, 0, 2);
  return out;
}

}  // namespace restride::io
