#include "tools/io/output_file.h"

#include <sys/stat.h>

#include "tests/tools/io/support.h"

namespace restride::io {
namespace {

Bytes bytes_of(std::string_view text) { return Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()); }

TEST(OutputFile, AppearsOnlyWhenItIsCommitted) {
  TemporaryFolder folder;
  {
    OutputFile file(folder / "out", false);
    file.write(0, bytes_of("whole"));
    EXPECT_FALSE(std::filesystem::exists(folder / "out"));
    file.commit();
  }
  EXPECT_EQ(read_file(folder / "out"), "whole");
  EXPECT_EQ(folder.files(), 1u);
}

TEST(OutputFile, LeavesNothingBehindWithoutCommit) {
  TemporaryFolder folder;
  { OutputFile(folder / "out", false).write(0, bytes_of("half")); }
  EXPECT_EQ(folder.files(), 0u);
}

TEST(OutputFile, ReplacesOnlyWhenToldTo) {
  TemporaryFolder folder;
  write_file(folder / "out", "old");
  EXPECT_NE(message_of<IoError>([&] { OutputFile(folder / "out", false); }).find("--force"), std::string::npos);
  {
    OutputFile file(folder / "out", true);
    file.write(0, bytes_of("new"));
    EXPECT_EQ(read_file(folder / "out"), "old");
    file.commit();
  }
  EXPECT_EQ(read_file(folder / "out"), "new");
  EXPECT_EQ(folder.files(), 1u);
}

TEST(OutputFile, DoesNotReplaceAFileThatAppearedMeanwhile) {
  TemporaryFolder folder;
  OutputFile file(folder / "out", false);
  write_file(folder / "out", "somebody else's");
  EXPECT_THROW(file.commit(), IoError);
  EXPECT_EQ(read_file(folder / "out"), "somebody else's");
}

TEST(OutputFile, KeepsTheModeOfTheFileItReplacesAndFollowsLinks) {
  TemporaryFolder folder;
  write_file(folder / "real", "old");
  ::chmod((folder / "real").c_str(), 0640);
  std::filesystem::create_symlink("real", folder / "link");
  {
    OutputFile file(folder / "link", true);
    file.write(0, bytes_of("new"));
    file.commit();
  }
  EXPECT_EQ(read_file(folder / "real"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(std::filesystem::status(folder / "real").permissions(), std::filesystem::perms(0640));
}

TEST(OutputFile, KeepsAModeThatTheUmaskWouldCut) {
  TemporaryFolder folder;
  write_file(folder / "out", "old");
  ::chmod((folder / "out").c_str(), 0666);
  const mode_t before = ::umask(022);
  {
    OutputFile file(folder / "out", true);
    file.commit();
  }
  ::umask(before);
  EXPECT_EQ(std::filesystem::status(folder / "out").permissions(), std::filesystem::perms(0666));
}

TEST(OutputFile, PassesOverTemporaryNamesThatAKilledProcessLeft) {
  TemporaryFolder folder;
  write_file(folder / "out", "old");
  const std::string stale = folder / (".restride-" + std::to_string(::getpid()));
  for (const char* end : {"", "-0", "-1"}) write_file(stale + end, "stale");
  {
    OutputFile file(folder / "out", true);
    file.write(0, bytes_of("new"));
    file.commit();
  }
  EXPECT_EQ(read_file(folder / "out"), "new");
  EXPECT_EQ(read_file(stale + "-0"), "stale");
  EXPECT_EQ(folder.files(), 4u);
}

TEST(OutputFile, TakesTheLongestNameThereIs) {
  TemporaryFolder folder;
  const std::string name = folder / std::string(255, 'x');
  for (const char* text : {"new", "replaced"}) {
    OutputFile file(name, true);
    file.write(0, bytes_of(text));
    file.commit();
    EXPECT_EQ(read_file(name), text);
  }
  EXPECT_EQ(folder.files(), 1u);
}

TEST(OutputFile, FollowsALinkWhoseFileDoesNotExistYet) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder / "sub");
  std::filesystem::create_symlink("sub/second", folder / "first");
  std::filesystem::create_symlink(folder / "real", folder / "sub/second");
  {
    OutputFile file(folder / "first", true);
    file.write(0, bytes_of("new"));
    file.commit();
  }
  EXPECT_EQ(read_file(folder / "real"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "first"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "sub/second"));
}

TEST(OutputFile, RefusesALoopOfLinks) {
  TemporaryFolder folder;
  std::filesystem::create_symlink("b", folder / "a");
  std::filesystem::create_symlink("a", folder / "b");
  EXPECT_THROW(OutputFile(folder / "a", true), IoError);
}

TEST(OutputFile, RefusesWhatCannotAppearWhole) {
  TemporaryFolder folder;
  EXPECT_NE(message_of<IoError>([&] { OutputFile(folder / "", true); }).find("directory"), std::string::npos);
  EXPECT_NE(message_of<IoError>([&] { OutputFile("/dev/null", true); }).find("no regular file"), std::string::npos);
  EXPECT_NE(message_of<IoError>([&] { OutputFile(folder / "no/such/out", true); }).find("No such file"),
            std::string::npos);
}

}  // namespace
}  // namespace restride::io
