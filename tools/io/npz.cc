#include "tools/io/npz.h"

#include <algorithm>

#include <fmt/format.h>

#include "tools/io/npy.h"

namespace restride::io {

ArrayEntry parse_deflated_npy(const ByteSource& source, const ZipMember& member) {
  const std::vector<std::uint8_t> head = inflate_zip_head(source, member, std::min(member.bytes, kMaxNpyHeadBytes));
  ArrayEntry entry = parse_npy_head(MemorySource(head), member.bytes);
  const auto end = static_cast<std::uint64_t>(entry.layout.offset_bytes + entry.layout.bytes());
  if (member.bytes > end)
    throw ParseError(fmt::format(
        "it unpacks to {} bytes, of which its header accounts for {}; it is damaged, or made to fill the disk",
        member.bytes, end));
  return entry;
}

}  // namespace restride::io
