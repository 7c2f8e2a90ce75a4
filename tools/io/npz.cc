#include "tools/io/npz.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tools/io/naming.h"
#include "tools/io/npy.h"
#include "tools/io/text.h"

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

ArrayEntry parse_npz_member(const ByteSource& source, const ZipMember& member) {
  const std::uint64_t data = zip_member_data(source, member);
  return naming("member '" + printable(member.name) + "'", [&] {
    ArrayEntry entry =
        member.deflated ? parse_deflated_npy(source, member) : parse_npy(SubSource(source, data, member.bytes));
    if (!member.deflated) entry.layout.offset_bytes += static_cast<std::int64_t>(data);
    entry.name = member.name;
    return entry;
  });
}

InputFile unpack_npz_member(const InputFile& file, const ZipMember& member) {
  const std::string shown = file.path() + ":" + member.name;
  Fd unpacked = nameless_file();
  std::uint64_t at = 0;
  inflate_zip_member(file, member, [&](Bytes piece) {
    write_fully(unpacked.get(), at, piece, "the temporary file for " + shown + " (TMPDIR says where)");
    at += piece.size();
  });
  return InputFile(std::move(unpacked), shown);
}

}  // namespace restride::io
