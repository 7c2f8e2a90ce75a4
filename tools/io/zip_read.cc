// Reading: directory, member positions, inflating.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <zlib.h>

#include "tools/io/text.h"
#include "tools/io/zip.h"

namespace restride::io {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr std::uint64_t kMaxDirectoryBytes = 256 << 20;
// Deflate cannot shrink data further than this; a directory that claims more lies.
constexpr std::uint64_t kMaxDeflateRatio = 1032;

[[noreturn]] void refuse(const std::string& problem) { throw ParseError("zip archive: " + problem); }

struct Directory {
  std::uint64_t entries = 0, bytes = 0, offset = 0;
};

Directory find_directory(const ByteSource& source) {
  constexpr std::uint64_t kEndBytes = 22, kMaxComment = 0xffff;
  if (source.size() < kEndBytes) refuse("shorter than any archive; it is truncated or no .npz");
  const std::uint64_t tail_bytes = std::min(source.size(), kEndBytes + kMaxComment);
  const std::uint64_t tail_start = source.size() - tail_bytes;
  const std::vector<std::uint8_t> tail = source.read(tail_start, tail_bytes);
  std::uint64_t at = tail_bytes - kEndBytes + 1;
  const std::uint8_t* end = nullptr;
  while (at-- > 0 && end == nullptr)
    if (load_le(&tail[at], 4) == kEnd && at + kEndBytes + load_le(&tail[at + 20], 2) <= tail_bytes) end = &tail[at];
  if (end == nullptr) refuse("no directory at its end; it is truncated or no .npz");
  const std::uint64_t end_offset = tail_start + static_cast<std::uint64_t>(end - tail.data());

  Directory d{load_le(end + 10, 2), load_le(end + 12, 4), load_le(end + 16, 4)};
  if (load_le(end + 4, 2) != load_le(end + 6, 2)) throw UnsupportedError("zip archive: split over several files");
  if (d.entries != 0xffff && d.bytes != 0xffffffff && d.offset != 0xffffffff) return d;
  if (end_offset < 20) return d;
  const std::vector<std::uint8_t> locator = source.read(end_offset - 20, 20);
  if (load_le(locator.data(), 4) != kEnd64Locator) return d;  // 65,535 members and no 64-bit record: allowed
  const std::vector<std::uint8_t> end64 = source.read(load_le(&locator[8], 8), 56);
  if (load_le(end64.data(), 4) != kEnd64) refuse("its 64-bit end record is not where it should be");
  return {load_le(&end64[32], 8), load_le(&end64[40], 8), load_le(&end64[48], 8)};
}

// Replaces sizes that are saturated in the 32-bit fields by those of the 64-bit extra field.
void apply_zip64(ZipMember& m, Bytes extra) {
  while (extra.size() >= 4) {
    const std::uint64_t id = load_le(extra.data(), 2), size = load_le(extra.data() + 2, 2);
    extra = extra.subspan(4);
    if (size > extra.size()) refuse("an extra field longer than its header");
    Bytes field = extra.first(size);
    extra = extra.subspan(size);
    if (id != 1) continue;
    for (std::uint64_t* value : {&m.bytes, &m.packed_bytes, &m.header_offset}) {
      if (*value != 0xffffffff) continue;
      if (field.size() < 8) refuse("a 64-bit extra field that is too short");
      *value = load_le(field.data(), 8);
      field = field.subspan(8);
    }
  }
}

/// Unpacks a deflated member piece by piece.
class Inflater {
 public:
  Inflater(const ByteSource& source, const ZipMember& member)
      : source_(source),
        what_("member '" + printable(member.name) + "'"),
        at_(zip_member_data(source, member)),
        packed_left_(member.packed_bytes),
        in_(std::min<std::uint64_t>(kPiece, packed_left_)),
        out_(kPiece) {
    if (inflateInit2(&z_, -MAX_WBITS) != Z_OK) throw MemoryError("zlib found no memory to unpack " + what_);
  }
  ~Inflater() { inflateEnd(&z_); }
  Inflater(const Inflater&) = delete;

  const std::string& what() const noexcept { return what_; }
  bool done() const noexcept { return status_ == Z_STREAM_END; }
  /// What comes next, valid until the next call; perhaps nothing.
  Bytes next() {
    if (z_.avail_in == 0 && packed_left_ > 0) {
      const std::size_t n = std::min<std::uint64_t>(in_.size(), packed_left_);
      source_.read(at_, std::span(in_).first(n));
      at_ += n, packed_left_ -= n;
      z_.next_in = in_.data(), z_.avail_in = static_cast<uInt>(n);
    }
    z_.next_out = out_.data(), z_.avail_out = static_cast<uInt>(out_.size());
    status_ = inflate(&z_, Z_NO_FLUSH);
    if (status_ != Z_OK && status_ != Z_STREAM_END)
      refuse(what_ + ": its compressed data are damaged or end too early");
    return Bytes(out_).first(out_.size() - z_.avail_out);
  }

 private:
  static constexpr std::size_t kPiece = 256 << 10;
  const ByteSource& source_;
  std::string what_;
  std::uint64_t at_, packed_left_;
  std::vector<std::uint8_t> in_, out_;
  z_stream z_{};
  int status_ = Z_OK;
};

}  // namespace

std::vector<ZipMember> read_zip_directory(const ByteSource& source) {
  const Directory d = find_directory(source);
  if (d.bytes > kMaxDirectoryBytes)
    refuse(fmt::format("a directory of {} bytes; more than {} are refused", d.bytes, kMaxDirectoryBytes));
  const std::vector<std::uint8_t> directory = source.read(d.offset, d.bytes);
  std::vector<ZipMember> members;
  Bytes rest = directory;
  for (std::uint64_t i = 0; i < d.entries; ++i) {
    constexpr std::size_t kFixed = 46;
    if (rest.size() < kFixed || load_le(rest.data(), 4) != kCentralHeader)
      refuse(fmt::format("directory entry {} is damaged", i));
    const std::size_t name = load_le(&rest[28], 2), extra = load_le(&rest[30], 2), comment = load_le(&rest[32], 2);
    if (rest.size() - kFixed < name + extra + comment)
      refuse(fmt::format("directory entry {} is longer than the directory", i));
    ZipMember m;
    m.name.assign(reinterpret_cast<const char*>(rest.data() + kFixed), name);
    if (load_le(&rest[8], 2) & 1)
      throw UnsupportedError("zip archive: member '" + printable(m.name) + "' is encrypted");
    m.deflated = load_le(&rest[10], 2) == 8;
    m.crc32 = static_cast<std::uint32_t>(load_le(&rest[16], 4));
    m.packed_bytes = load_le(&rest[20], 4);
    m.bytes = load_le(&rest[24], 4);
    m.header_offset = load_le(&rest[42], 4);
    m.directory_offset = d.offset;
    apply_zip64(m, rest.subspan(kFixed + name, extra));
    members.push_back(std::move(m));
    rest = rest.subspan(kFixed + name + extra + comment);
  }
  return members;
}

std::uint64_t zip_member_data(const ByteSource& source, const ZipMember& member) {
  const std::string what = "member '" + printable(member.name) + "'";
  constexpr std::uint64_t kFixed = 30;
  const std::vector<std::uint8_t> header = source.read(member.header_offset, kFixed);
  if (load_le(header.data(), 4) != kLocalHeader) refuse(what + " is not where the directory says");
  const std::uint64_t method = load_le(&header[8], 2);
  if (method != 0 && method != 8)
    throw UnsupportedError(fmt::format(
        "zip archive: {} is compressed by method {}; save it with numpy.savez or savez_compressed", what, method));
  if ((method == 8) != member.deflated) refuse(what + ": header and directory name different compression");
  if (method == 0 && member.packed_bytes != member.bytes) refuse(what + " is stored, but its two sizes differ");
  // No overflow: the header was read, so header_offset + kFixed lies within the source.
  const std::uint64_t data = member.header_offset + kFixed + load_le(&header[26], 2) + load_le(&header[28], 2);
  if (data > source.size() || member.packed_bytes > source.size() - data)
    refuse(fmt::format("{} needs {} bytes at {}, but the file has {}", what, member.packed_bytes, data, source.size()));
  if (data > member.directory_offset || member.packed_bytes > member.directory_offset - data)
    refuse(fmt::format("{} has {} bytes at {}, but the archive's directory begins at {}", what, member.packed_bytes,
                       data, member.directory_offset));
  if (member.deflated && member.bytes / kMaxDeflateRatio > member.packed_bytes)
    refuse(fmt::format("{} claims to unpack {} bytes into {}, which deflate cannot", what, member.packed_bytes,
                       member.bytes));
  return data;
}

void inflate_zip_member(const ByteSource& source, const ZipMember& member,
                        const std::function<void(std::span<const std::uint8_t>)>& sink) {
  Inflater inflater(source, member);
  const std::string& what = inflater.what();
  std::uint64_t left = member.bytes;
  uLong crc = crc32(0, nullptr, 0);
  while (!inflater.done()) {
    const Bytes piece = inflater.next();
    if (piece.size() > left) refuse(what + " unpacks to more bytes than its directory says");
    left -= piece.size();
    crc = crc32(crc, piece.data(), static_cast<uInt>(piece.size()));
    sink(piece);
  }
  if (left != 0) refuse(fmt::format("{} unpacks to {} bytes fewer than its directory says", what, left));
  if (crc != member.crc32) refuse(what + ": the checksum does not fit; the file is damaged");
}

std::vector<std::uint8_t> inflate_zip_head(const ByteSource& source, const ZipMember& member, std::uint64_t count) {
  Inflater inflater(source, member);
  std::vector<std::uint8_t> head;
  while (!inflater.done() && head.size() < count) {
    const Bytes piece = inflater.next();
    head.insert(head.end(), piece.begin(), piece.end());
  }
  head.resize(std::min<std::uint64_t>(head.size(), count));
  return head;
}

}  // namespace restride::io
