#include "tools/io/remove_tree.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "tests/tools/io/support.h"
#include "tools/io/signals.h"

namespace restride::io {
namespace {

namespace fs = std::filesystem;

/// A folder with more names than one call of the kernel lists, folders in folders, and a link out of it.
std::string make_tree(const TemporaryFolder& folder) {
  const std::string root = folder / "tree";
  fs::create_directories(root + "/a/b/c");
  for (int i = 0; i < 300; ++i) write_file(root + "/a/file-with-a-long-name-" + std::to_string(i), "x");
  write_file(root + "/a/b/c/d", "x");
  write_file(folder / "kept", "x");
  fs::create_symlink("..", root + "/up");
  fs::create_symlink("../kept", root + "/a/kept");
  return root;
}

TEST(RemoveTree, TakesAllThatIsInAFolderAndNothingThatLinksLeadTo) {
  TemporaryFolder folder;
  const std::string root = make_tree(folder);
  remove_tree(root.c_str());
  EXPECT_FALSE(fs::exists(root));
  EXPECT_EQ(read_file(folder / "kept"), "x");
  remove_tree((folder / "kept").c_str());
  remove_tree((folder / "never there").c_str());
  EXPECT_EQ(folder.files(), 0u);
}

TEST(RemoveTree, EndsWhereSomethingCannotBeRemoved) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may remove everything";
  TemporaryFolder folder;
  const std::string root = make_tree(folder);
  fs::permissions(root + "/a/b", fs::perms::owner_read | fs::perms::owner_exec);
  remove_tree(root.c_str());
  EXPECT_TRUE(fs::exists(root + "/a/b/c"));
  EXPECT_FALSE(fs::exists(root + "/a/file-with-a-long-name-7"));
  fs::permissions(root + "/a/b", fs::perms::owner_all);
}

TEST(Signals, TakeAFolderWithThem) {
  TemporaryFolder folder;
  const std::string root = make_tree(folder);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    install_signal_handlers();
    add_temporary(root, false);
    ::raise(SIGTERM);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(fs::exists(root));
  EXPECT_TRUE(fs::exists(folder / "kept"));
}

}  // namespace
}  // namespace restride::io
