#include "tools/io/npz.h"

#include "tests/tools/io/support.h"
#include "tools/io/npy.h"

namespace restride::io {
namespace {

/// A file of the fuzzer's corpus, and its first member.
struct Archive {
  explicit Archive(const std::string& name)
      : text(read_file(std::string(RESTRIDE_TEST_DATA) + "/../fuzz/corpus/npz/" + name)),
        member(read_zip_directory(source_of(text)).at(0)) {}
  std::string text;
  ZipMember member;
};

TEST(Npz, TellsTheArrayOfADeflatedMemberFromItsHeader) {
  const Archive archive("deflated");
  std::string whole;
  inflate_zip_member(source_of(archive.text), archive.member,
                     [&](Bytes piece) { whole.append(piece.begin(), piece.end()); });
  EXPECT_EQ(parse_deflated_npy(source_of(archive.text), archive.member).layout, parse_npy(source_of(whole)).layout);
}

TEST(Npz, RefusesAMemberThatUnpacksToAThousandTimesItsArray) {
  const Archive archive("deflated_surplus");
  const std::string message =
      message_of<ParseError>([&] { parse_deflated_npy(source_of(archive.text), archive.member); });
  EXPECT_NE(message.find("unpacks to 1048704 bytes, of which its header accounts for 129"), std::string::npos)
      << message;
}

TEST(Npz, RefusesAMemberThatUnpacksToLessThanItsArray) {
  Archive archive("deflated");
  --archive.member.bytes;
  EXPECT_NE(message_of<ParseError>([&] {
              parse_deflated_npy(source_of(archive.text), archive.member);
            }).find("it is truncated or the shape is wrong"),
            std::string::npos);
}

TEST(Npz, RefusesAStoredMemberWhoseLastByteIsTheDirectorys) {
  const Archive archive("stored_over_directory");
  EXPECT_NE(message_of<ParseError>([&] {
              zip_member_data(source_of(archive.text), archive.member);
            }).find("has 133 bytes at 35, but the archive's directory begins at 167"),
            std::string::npos);
}

}  // namespace
}  // namespace restride::io
