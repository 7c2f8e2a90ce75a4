// Any bytes as a .npz archive: members in front of the directory, unpacked to no more than promised, or a typed error.
#include <cstdlib>

#include "tools/io/npy.h"
#include "tools/io/npz.h"
#include "tools/io/zip.h"

namespace {

// Ends the unpacking of a member that is too large for a fuzzer.
struct Enough {};

void unpack(const restride::io::ByteSource& source, const restride::io::ZipMember& member) {
  std::vector<std::uint8_t> out;
  restride::io::inflate_zip_member(source, member, [&](restride::io::Bytes piece) {
    if (out.size() + piece.size() > member.bytes) std::abort();
    if (out.size() > 1 << 20) throw Enough{};
    out.insert(out.end(), piece.begin(), piece.end());
  });
  const restride::io::ArrayEntry whole = restride::io::parse_npy(restride::io::MemorySource(out));
  if (!(restride::io::parse_deflated_npy(source, member).layout == whole.layout)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace restride;
  const io::MemorySource source(io::Bytes(data, size));
  std::vector<io::ZipMember> members;
  try {
    members = io::read_zip_directory(source);
  } catch (const Error&) {
    return 0;
  }
  if (members.size() > 8) members.resize(8);
  for (const io::ZipMember& member : members) {
    try {
      const std::uint64_t at = io::zip_member_data(source, member);
      if (at > member.directory_offset || member.packed_bytes > member.directory_offset - at) std::abort();
      if (member.deflated)
        unpack(source, member);
      else
        io::parse_npy(io::SubSource(source, at, member.bytes));
    } catch (const Error&) {
    } catch (const Enough&) {
    }
  }
  return 0;
}
