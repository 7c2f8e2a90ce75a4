#include "tools/io/file.h"

#include <cerrno>
#include <cstring>
#include <optional>

#include <restride/error.hpp>

#include "tests/tools/io/support.h"

namespace restride::io {
namespace {

/// TMPDIR as the test wants it, and afterwards as it was.
class NamelessFile : public ::testing::Test {
 protected:
  NamelessFile() {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
  }
  ~NamelessFile() override { before_ ? ::setenv("TMPDIR", before_->c_str(), 1) : ::unsetenv("TMPDIR"); }
  static std::string path_of(const Fd& fd) {
    return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd.get())).string();
  }

 private:
  std::optional<std::string> before_;
};

TEST_F(NamelessFile, LiesWhereTmpdirSaysAndLeavesNothingThere) {
  TemporaryFolder folder;
  ::setenv("TMPDIR", (folder / "").c_str(), 1);
  EXPECT_TRUE(path_of(nameless_file()).starts_with(folder / ""));
  EXPECT_EQ(folder.files(), 0u);
}

TEST_F(NamelessFile, LiesInVarTmpWhereTmpdirIsUnsetOrEmpty) {
  ::unsetenv("TMPDIR");
  const std::string unset = std::filesystem::path(path_of(nameless_file())).parent_path();
  EXPECT_TRUE(unset == "/var/tmp" || unset == "/tmp") << unset;
  ::setenv("TMPDIR", "", 1);
  EXPECT_EQ(std::filesystem::path(path_of(nameless_file())).parent_path(), unset);
}

TEST_F(NamelessFile, TakesNoOtherFolderForOneThatIsNotThere) {
  TemporaryFolder folder;
  ::setenv("TMPDIR", (folder / "missing").c_str(), 1);
  const std::string message = message_of<IoError>([] { nameless_file(); });
  EXPECT_NE(message.find("missing: No such file"), std::string::npos) << message;
  EXPECT_NE(message.find("set TMPDIR"), std::string::npos) << message;
}

TEST(InputFile, BlamesMemoryForAMappingThatFailedOnlyWhereItIsShort) {
  const auto refuse_with = [](int reason) {
    return [reason] {
      errno = reason;
      refuse_unmapped("in.npy");
    };
  };
  const std::string memory = message_of<MemoryError>(refuse_with(ENOMEM));
  EXPECT_NE(memory.find("raise the memory limit (ulimit -v)"), std::string::npos) << memory;
  for (const int reason : {ENODEV, EACCES, EPERM, EINVAL}) {
    const std::string other = message_of<IoError>(refuse_with(reason));
    EXPECT_NE(other.find(std::string("cannot map in.npy: ") + std::strerror(reason)), std::string::npos) << other;
    EXPECT_NE(other.find("copy it to another one first"), std::string::npos) << other;
    EXPECT_EQ(other.find("memory limit"), std::string::npos) << other;
  }
}

TEST(ReadText, RefusesPipesDevicesAndLargeFiles) {
  TemporaryFolder folder;
  write_file(folder / "small", "text");
  EXPECT_EQ(read_text(folder / "small", "it"), "text");
  write_file(folder / "large", "");
  std::filesystem::resize_file(folder / "large", (64 << 20) + 1);
  EXPECT_NE(
      message_of<IoError>([&] { read_text(folder / "large", "the file"); }).find("read the file: it has 67108865"),
      std::string::npos);
  EXPECT_NE(message_of<IoError>([&] { read_text("/dev/zero", "it"); }).find("no regular file"), std::string::npos);
}

}  // namespace
}  // namespace restride::io
