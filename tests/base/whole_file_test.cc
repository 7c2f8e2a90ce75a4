#include "src/base/whole_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <string_view>
#include <vector>

#include <restride/error.hpp>

#include "tests/support/files.h"
#include "tests/support/throws.h"

namespace restride::base {
namespace {

using test::holds;
using test::message_of;
using test::read_file;
using test::TemporaryFolder;
using test::write_file;

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// The names that would have to go, with whether they are claims.
std::map<std::string, bool>& open_names() {
  static std::map<std::string, bool> names;
  return names;
}

int fail_with(int reason) {
  errno = reason;
  return -1;
}

/// The kernel's calls but for those that a file system lacks, which fail as seen on vfat, exFAT, NFS and FUSE.
NamingCalls without(bool nameless, bool link, bool rename_new) {
  NamingCalls calls = system_naming();
  if (nameless) calls.open_nameless = [](const char*, mode_t) { return fail_with(EOPNOTSUPP); };
  if (link) calls.link = [](const char*, const char*) { return fail_with(EPERM); };
  if (rename_new) calls.rename_new = [](const char*, const char*) { return fail_with(EINVAL); };
  calls.name_made = [](const std::string& path, bool claim) { open_names()[path] = claim; };
  calls.name_gone = [](const std::string& path) noexcept { open_names().erase(path); };
  return calls;
}

struct FileSystem {
  std::string lacks;
  NamingCalls calls;
};

std::vector<FileSystem> all_file_systems() {
  std::vector<FileSystem> out;
  for (int lacks = 0; lacks < 8; ++lacks) {
    const bool nameless = (lacks & 1) != 0, link = (lacks & 2) != 0, rename_new = (lacks & 4) != 0;
    out.push_back({std::string("lacks") + (nameless ? " O_TMPFILE" : "") + (link ? " link" : "") +
                       (rename_new ? " RENAME_NOREPLACE" : ""),
                   without(nameless, link, rename_new)});
  }
  return out;
}

/// Neither hard links nor renames that replace nothing.
NamingCalls poorest() { return without(true, true, true); }

TEST(WholeFile, AppearsOnFileSystemsWithoutLinksAndRenamesThatReplaceNothing) {
  for (const FileSystem& system : all_file_systems())
    for (const bool replace : {false, true})
      for (const bool exists : {false, true}) {
        if (exists && !replace) continue;
        SCOPED_TRACE(system.lacks + (replace ? ", replaces" : "") + (exists ? " a file" : ""));
        TemporaryFolder folder;
        if (exists) write_file(folder / "out", "old");
        {
          WholeFile file(folder / "out", replace, system.calls);
          file.write(0, bytes_of("whole"));
          EXPECT_TRUE(file.commit(true));
        }
        EXPECT_EQ(read_file(folder / "out"), "whole");
        EXPECT_EQ(folder.files(), 1u);
        EXPECT_TRUE(open_names().empty());
      }
}

TEST(WholeFile, LeavesNothingBehindWhateverTheFileSystemLacks) {
  for (const FileSystem& system : all_file_systems())
    for (const bool replace : {false, true}) {
      SCOPED_TRACE(system.lacks + (replace ? ", replaces" : ""));
      TemporaryFolder folder;
      WholeFile(folder / "out", replace, system.calls).write(0, bytes_of("half"));
      EXPECT_EQ(folder.files(), 0u);
      EXPECT_TRUE(open_names().empty());
    }
}

TEST(WholeFile, TakesNoNameThatSomebodyTookMeanwhile) {
  for (const FileSystem& system : all_file_systems()) {
    SCOPED_TRACE(system.lacks);
    TemporaryFolder folder;
    {
      WholeFile file(folder / "out", false, system.calls);
      file.write(0, bytes_of("ours"));
      write_file(folder / "out", "somebody else's");
      EXPECT_FALSE(file.commit(false));
    }
    EXPECT_EQ(read_file(folder / "out"), "somebody else's");
    EXPECT_EQ(folder.files(), 1u);
  }
}

TEST(WholeFile, ClaimsItsNameBeforeTheWorkWhereItCouldNotTakeAFreeOne) {
  TemporaryFolder folder;
  const NamingCalls calls = poorest();
  {
    WholeFile file(folder / "out", false, calls);
    file.write(0, bytes_of("whole"));
    EXPECT_EQ(read_file(folder / "out"), "");
    EXPECT_EQ(folder.files(), 2u);
    EXPECT_TRUE(open_names().at(folder / "out")) << "a signal must know of it";
    EXPECT_EQ(open_names().size(), 2u);
    EXPECT_TRUE(holds(message_of<IoError>([&] { WholeFile(folder / "out", false, calls); }), "File exists"));
    EXPECT_EQ(folder.files(), 2u) << "and that one left nothing";
  }
  EXPECT_EQ(folder.files(), 0u);
}

TEST(WholeFile, ThatReplacesClaimsNothing) {
  TemporaryFolder folder;
  const NamingCalls calls = poorest();
  WholeFile file(folder / "out", true, calls);
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  EXPECT_TRUE(file.commit(false));
  EXPECT_TRUE(std::filesystem::exists(folder / "out"));
}

TEST(WholeFile, LeavesWhatTookThePlaceOfItsClaimAlsoWithoutCommit) {
  TemporaryFolder folder;
  const NamingCalls calls = poorest();
  {
    const WholeFile file(folder / "out", false, calls);
    write_file(folder / "out", "somebody else's");
  }
  EXPECT_EQ(read_file(folder / "out"), "somebody else's");
  EXPECT_EQ(folder.files(), 1u);
}

TEST(WholeFile, TakesNoRightsOverFromTheFileItReplaces) {
  TemporaryFolder folder;
  for (const FileSystem& system : all_file_systems()) {
    SCOPED_TRACE(system.lacks);
    write_file(folder / "out", "old");
    ASSERT_EQ(::chmod((folder / "out").c_str(), 07751), 0);
    EXPECT_TRUE(WholeFile(folder / "out", true, system.calls).commit(false));
    EXPECT_EQ(std::filesystem::status(folder / "out").permissions(), std::filesystem::perms(0751));
  }
}

TEST(WholeFile, FollowsADanglingLinkOnlyToReplace) {
  TemporaryFolder folder;
  std::filesystem::create_symlink("real", folder / "link");
  EXPECT_TRUE(holds(message_of<IoError>([&] { WholeFile(folder / "link", false); }),
                    "link to real, which does not exist", "remove the link", "name that file"));
  EXPECT_EQ(folder.files(), 1u);
  EXPECT_TRUE(WholeFile(folder / "link", true).commit(false));
  EXPECT_TRUE(std::filesystem::is_regular_file(folder / "real"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
}

TEST(WholeFile, FollowsNoLinkThatAnotherUserPlacedInAFolderOpenToAll) {
  if (::geteuid() != 0) GTEST_SKIP() << "giving a link to another user needs root";
  TemporaryFolder folder;
  constexpr uid_t kNobody = 65534;
  write_file(folder / "precious", "precious");
  for (const char* to : {"precious", "missing"}) {
    const std::string link = folder / (std::string("to-") + to);
    std::filesystem::create_symlink(to, link);
    ASSERT_EQ(::lchown(link.c_str(), kNobody, kNobody), 0);
    ASSERT_EQ(::chmod((folder / "").c_str(), 01777), 0);
    EXPECT_TRUE(holds(message_of<IoError>([&] { WholeFile(link, true); }), "another user's", "name that file"));
    ASSERT_EQ(::chmod((folder / "").c_str(), 0755), 0);
    EXPECT_TRUE(WholeFile(link, true).commit(false)) << "where only we may place links it is ours to follow";
  }
}

}  // namespace
}  // namespace restride::base
