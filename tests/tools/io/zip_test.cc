#include "tools/io/zip.h"

#include <zlib.h>

#include "tests/tools/io/support.h"

namespace restride::io {
namespace {

std::string deflated(const std::string& text) {
  std::string out(compressBound(text.size()) + 64, '\0');
  z_stream z{};
  deflateInit2(&z, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data())), z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data()), z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(out.size() - z.avail_out);
  deflateEnd(&z);
  return out;
}

std::uint32_t crc_of(const std::string& text) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()));
}

// What can be wrong with a member, over a right one.
struct Member {
  std::string name = "x.npy";
  std::string data = "hello, hello, hello, hello";
  bool deflate = false;
  std::uint64_t flags = 0, method = 0, bytes = 0, packed = 0, local_offset = 0, directory_offset = 0, entries = 1;
  std::uint32_t crc = 0;
  std::string extra, comment;
  explicit Member(bool compressed = false) : deflate(compressed) {
    if (compressed) packed_data = deflated(data);
    method = compressed ? 8 : 0, bytes = data.size(), packed = (compressed ? packed_data : data).size(),
    crc = crc_of(data);
  }
  std::string packed_data;

  std::string file() const {
    const std::string common = le(20, 2) + le(flags, 2) + le(method, 2) + le(0, 4) + le(crc, 4) + le(packed, 4) +
                               le(bytes, 4) + le(name.size(), 2);
    std::string out = "PK\3\4" + common + le(0, 2) + name + (deflate ? packed_data : data);
    const std::uint64_t at = directory_offset != 0 ? directory_offset : out.size();
    const std::string central = "PK\1\2" + le(20, 2) + common + le(extra.size(), 2) + le(0, 2) + le(0, 2) + le(0, 2) +
                                le(0, 4) + le(local_offset, 4) + name + extra;
    out += central + "PK\5\6" + le(0, 4) + le(entries, 2) + le(entries, 2) + le(central.size(), 4) + le(at, 4) +
           le(comment.size(), 2) + comment;
    return out;
  }
};

std::string unpacked(const std::string& file) {
  const MemorySource source = source_of(file);
  const std::vector<ZipMember> members = read_zip_directory(source);
  if (!members.at(0).deflated) {
    const std::vector<std::uint8_t> data = source.read(zip_member_data(source, members[0]), members[0].bytes);
    return std::string(data.begin(), data.end());
  }
  std::string out;
  inflate_zip_member(source, members[0], [&](Bytes piece) { out.append(piece.begin(), piece.end()); });
  return out;
}

TEST(Zip, FindsStoredAndDeflatedMembersAlsoBehindAComment) {
  for (const bool compressed : {false, true}) {
    Member m(compressed);
    m.comment = "a comment with PK\5\6 in it";
    EXPECT_EQ(unpacked(m.file()), m.data);
  }
}

TEST(Zip, ReadsSizesOfTheSixtyFourBitField) {
  Member m;
  m.extra = le(0x1234, 2) + le(3, 2) + "abc" + le(1, 2) + le(24, 2) + le(m.bytes, 8) + le(m.packed, 8) + le(0, 8);
  m.bytes = m.packed = m.local_offset = 0xffffffff;
  const std::string file = m.file();
  EXPECT_EQ(read_zip_directory(source_of(file)).at(0).bytes, m.data.size());
}

TEST(Zip, TellsTheTwoSizesOfTheSixtyFourBitFieldApart) {
  Member m(true);
  ASSERT_NE(m.bytes, m.packed);
  m.extra = le(1, 2) + le(16, 2) + le(m.bytes, 8) + le(m.packed, 8);
  m.bytes = m.packed = 0xffffffff;
  EXPECT_EQ(unpacked(m.file()), m.data);
}

TEST(Zip, ReadsBackWhatItWritesAlsoBeyondFourGigabytes) {
  const std::string data = "some bytes";
  std::string file = zip_local_header("a.npy", data.size());
  file.replace(kZipCrcOffset, 4, le(crc_of(data), 4));
  const std::uint64_t end = file.size() + data.size();
  file += data + zip_end(std::vector<ZipEntry>{{"a.npy", 0, data.size(), crc_of(data)}}, end);
  EXPECT_EQ(unpacked(file), data);

  // A source that pretends to hold the five gigabytes between header and end.
  class Holed final : public ByteSource {
   public:
    std::string head, tail;
    std::uint64_t gap = 0;
    std::uint64_t size() const noexcept override { return head.size() + gap + tail.size(); }

   private:
    void do_read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
      for (std::size_t i = 0; i < out.size(); ++i) {
        const std::uint64_t at = offset + i;
        out[i] = static_cast<std::uint8_t>(at < head.size()         ? head[at]
                                           : at < head.size() + gap ? 0
                                                                    : tail[at - head.size() - gap]);
      }
    }
  } big;
  big.gap = 5'000'000'000;
  big.head = zip_local_header("a.npy", big.gap);
  const std::string next = zip_local_header("b.npy", 3) + "xyz";
  const std::uint64_t second = big.head.size() + big.gap;
  big.tail =
      next + zip_end(std::vector<ZipEntry>{{"a.npy", 0, big.gap, 7}, {"b.npy", second, 3, 8}}, second + next.size());
  const std::vector<ZipMember> members = read_zip_directory(big);
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[0].bytes, big.gap);
  EXPECT_EQ(zip_member_data(big, members[0]), big.head.size());
  EXPECT_EQ(members[1].bytes, 3u);
  EXPECT_EQ(zip_member_data(big, members[1]), second + next.size() - 3);
}

TEST(Zip, CountsMoreMembersThanItsShortRecordCan) {
  std::string file;
  std::vector<ZipEntry> entries;
  for (int i = 0; i < 70'000; ++i) {
    entries.push_back({std::to_string(i), file.size(), 1, crc_of("x")});
    std::string head = zip_local_header(entries.back().name, 1);
    head.replace(kZipCrcOffset, 4, le(crc_of("x"), 4));
    file += head + "x";
  }
  file += zip_end(entries, file.size());
  const std::vector<ZipMember> members = read_zip_directory(source_of(file));
  ASSERT_EQ(members.size(), 70'000u);
  EXPECT_EQ(file[zip_member_data(source_of(file), members[69'999])], 'x');
}

TEST(Zip, RefusesHostileArchivesWithAReason) {
  const auto with = [](bool compressed, auto&& change) {
    Member m(compressed);
    change(m);
    return m.file();
  };
  const struct {
    const char* name;
    std::string file;
    const char* message;
  } table[] = {
      {"empty", "", "shorter than any archive"},
      {"cut", Member().file().substr(0, 60), "no directory"},
      {"directory behind the file", with(false, [](Member& m) { m.directory_offset = 1 << 20; }), "truncated"},
      {"directory in the middle of the data", with(false, [](Member& m) { m.directory_offset = 33; }), "damaged"},
      {"more entries than there are", with(false, [](Member& m) { m.entries = 2; }), "entry 1 is damaged"},
      {"extra field longer than itself", with(false, [](Member& m) { m.extra = le(1, 2) + le(99, 2); }), "extra field"},
      {"64-bit field too short",
       with(false,
            [](Member& m) {
              m.bytes = 0xffffffff;
              m.extra = le(1, 2) + le(4, 2) + "abcd";
            }),
       "too short"},
      {"local header elsewhere", with(false, [](Member& m) { m.local_offset = 5; }), "not where the directory says"},
      {"member behind the file", with(false, [](Member& m) { m.bytes = m.packed = 1 << 30; }), "but the file has"},
      {"member that ends a byte behind the file", with(false, [](Member& m) { m.bytes = m.packed = 100; }),
       "but the file has 134"},
      {"stored member that claims a byte of the directory",
       with(false, [](Member& m) { m.bytes = m.packed = m.data.size() + 1; }), "the archive's directory begins at 61"},
      {"deflated member that claims the directory", with(true, [](Member& m) { m.packed += 20; }),
       "the archive's directory begins at"},
      {"stored with two sizes", with(false, [](Member& m) { m.bytes = 3; }), "two sizes differ"},
      {"claims to unpack a bomb", with(true, [](Member& m) { m.bytes = 0xfffffffe; }), "deflate cannot"},
      {"unpacks to more", with(true, [](Member& m) { m.bytes = 3; }), "more bytes"},
      {"unpacks to less", with(true, [](Member& m) { m.bytes = 100; }), "fewer"},
      {"wrong checksum", with(true, [](Member& m) { m.crc ^= 1; }), "checksum"},
      {"damaged stream", with(true, [](Member& m) { m.packed_data[0] = '\xff'; }), "damaged"},
      {"stream cut", with(true, [](Member& m) { m.packed = 3; }), "damaged or end"},
  };
  for (const auto& t : table)
    EXPECT_NE(message_of<ParseError>([&] { unpacked(t.file); }).find(t.message), std::string::npos)
        << t.name << ": " << t.message;
}

TEST(Zip, UnpacksNoMoreThanTheHeadThatIsAskedFor) {
  Member m(true);
  m.data = std::string(8 << 20, 'x');
  m.packed_data = deflated(m.data);
  m.bytes = m.data.size(), m.packed = m.packed_data.size();
  m.packed_data.replace(m.packed - 8, 8, 8, '\xff');  // damage that nobody sees who stops in front of it
  const std::string file = m.file();
  const MemorySource source = source_of(file);
  const ZipMember member = read_zip_directory(source).at(0);
  EXPECT_EQ(inflate_zip_head(source, member, 1000), std::vector<std::uint8_t>(1000, 'x'));
  EXPECT_THROW(inflate_zip_head(source, member, member.bytes), ParseError);
  const Member hello(true);
  const std::string small = hello.file();
  EXPECT_EQ(inflate_zip_head(source_of(small), read_zip_directory(source_of(small)).at(0), 1000).size(),
            hello.data.size());
}

TEST(Zip, SaysWhatItDoesNotRead) {
  Member encrypted, bzip2;
  encrypted.flags = 1;
  bzip2.method = 12;
  EXPECT_NE(message_of<UnsupportedError>([&] { unpacked(encrypted.file()); }).find("encrypted"), std::string::npos);
  EXPECT_NE(message_of<UnsupportedError>([&] { unpacked(bzip2.file()); }).find("method 12"), std::string::npos);
}

}  // namespace
}  // namespace restride::io
