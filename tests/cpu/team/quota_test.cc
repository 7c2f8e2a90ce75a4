#include "src/cpu/team/quota.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "src/cpu/team/team.h"

namespace restride::cpu {
namespace {

/// A tree of files in place of / that is gone after the test.
class Root {
 public:
  Root() {
    std::string name = (std::filesystem::temp_directory_path() / "restride-quota-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Root() { std::filesystem::remove_all(path_); }
  Root& with(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file) << text;
    return *this;
  }
  int cores() const { return cores_by_quota(path_.c_str()); }

 private:
  std::filesystem::path path_;
};

const std::string kGroups = "proc/self/cgroup";
const std::string kMount = "sys/fs/cgroup/";

TEST(CpuQuota, OfVersion2IsRoundedUp) {
  const auto cores = [](const std::string& quota) {
    return Root().with(kGroups, "0::/job\n").with(kMount + "job/cpu.max", quota).cores();
  };
  EXPECT_EQ(cores("200000 100000\n"), 2);
  EXPECT_EQ(cores("150000 100000\n"), 2);
  EXPECT_EQ(cores("1000 100000\n"), 1);
  EXPECT_EQ(cores("50000 20000\n"), 3);
  EXPECT_EQ(cores("max 100000\n"), 0);
  EXPECT_EQ(cores("9223372036854775807 1\n"), 0) << "more cores than there are numbers";
  for (const char* nonsense : {"", "\n", "200000", "200000 0", "-5 100000", "x y"})
    EXPECT_EQ(cores(nonsense), 0) << nonsense;
}

TEST(CpuQuota, IsTheLeastOfAGroupAndThoseAboveIt) {
  Root root;
  root.with(kGroups, "0::/pod/container/job\n").with(kMount + "pod/container/job/cpu.max", "max 100000\n");
  EXPECT_EQ(root.cores(), 0);
  EXPECT_EQ(root.with(kMount + "pod/cpu.max", "400000 100000\n").cores(), 4);
  EXPECT_EQ(root.with(kMount + "pod/container/cpu.max", "250000 100000\n").cores(), 3);
  EXPECT_EQ(root.with(kMount + "pod/container/job/cpu.max", "800000 100000\n").cores(), 3);
}

TEST(CpuQuota, OfAContainerThatSeesItsOwnGroupsOnly) {
  EXPECT_EQ(Root().with(kGroups, "0::/\n").with(kMount + "cpu.max", "200000 100000\n").cores(), 2);
  EXPECT_EQ(Root().with(kGroups, "0::/docker/1f2e\n").with(kMount + "cpu.max", "200000 100000\n").cores(), 2);
}

TEST(CpuQuota, OfVersion1IsFoundUnderEitherNameOfItsHierarchy) {
  for (const char* mount : {"cpu,cpuacct/", "cpu/"}) {
    Root root;
    root.with(kGroups, "12:cpuset:/job\n4:cpu,cpuacct:/job\n1:name=systemd:/job\n0::/job\n")
        .with(kMount + mount + "job/cpu.cfs_period_us", "100000\n")
        .with(kMount + mount + "job/cpu.cfs_quota_us", "-1\n");
    EXPECT_EQ(root.cores(), 0) << mount;
    EXPECT_EQ(root.with(kMount + mount + "job/cpu.cfs_quota_us", "350000\n").cores(), 4) << mount;
  }
}

TEST(CpuQuota, IsNoneWhereTheSystemDoesNotSay) {
  EXPECT_EQ(Root().cores(), 0);
  EXPECT_EQ(Root().with(kGroups, "").cores(), 0);
  EXPECT_EQ(Root().with(kGroups, "nonsense\n:\n::\n0::").cores(), 0);
  EXPECT_EQ(Root().with(kGroups, "0::/" + std::string(5000, 'x') + "\n").cores(), 0) << "a path that is too long";
  EXPECT_EQ(Root().with(kGroups, "3:cpuset,cpuacct:/\n").with(kMount + "cpu.max", "200000 100000\n").cores(), 0);
}

TEST(CpuQuota, LeavesAtLeastOneThreadAndNoMoreThanThereAreCores) {
  EXPECT_GE(cores_granted(), 1);
  const int quota = cores_by_quota();
  EXPECT_TRUE(quota == 0 || cores_granted() <= quota);
}

}  // namespace
}  // namespace restride::cpu
