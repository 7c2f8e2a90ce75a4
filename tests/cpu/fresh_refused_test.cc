// Requests for a destination's pages that the kernel refuses: the copy is as right as without them, errno is the
// caller's, and the log has one line. The linker gives this program's madvise and open in place of the C library's
// (--wrap, tests/CMakeLists.txt), so that every refusal happens on every kernel.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <restride/restride.hpp>

#include "src/base/huge_pages.h"
#include "src/cpu/fresh.h"
#include "tests/support/files.h"
#include "tests/support/log_lines.h"
#include "tests/support/throws.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace {

/// What the kernel says: 0 for yes, else an errno.
struct Answers {
  std::atomic<int> huge{0}, populate{0};
  std::atomic<int> asked_huge{0}, asked_populate{0}, read_setting{0};
  std::string setting;  ///< a file in place of the kernel's own
};
Answers answers;

constexpr int kAskTheKernel = -1;

int answered(int error) {
  if (error != 0) errno = error;
  return error != 0 ? -1 : 0;
}

}  // namespace

extern "C" {
int __real_madvise(void* address, std::size_t bytes, int advice);
int __wrap_madvise(void* address, std::size_t bytes, int advice) {
  if (advice == MADV_HUGEPAGE) return ++answers.asked_huge, answered(answers.huge);
  if (advice == MADV_POPULATE_WRITE && answers.populate != kAskTheKernel)
    return ++answers.asked_populate, answered(answers.populate);
  return __real_madvise(address, bytes, advice);
}

int __real_open(const char* path, int flags, ...);
int __wrap_open(const char* path, int flags, ...) {
  if (std::strcmp(path, restride::base::kHugePagesSetting) == 0) {
    ++answers.read_setting;
    return __real_open(answers.setting.c_str(), flags);
  }
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return __real_open(path, flags, mode);
}
}

namespace restride {
namespace {

constexpr std::int64_t kRows = 1200, kColumns = 1100;  // 5 MB of f32: two huge pages at least, several tasks
constexpr int kErrno = 7;                              // what errno was before a copy

/// A transposition into memory that has no pages, by every entry.
class Refused : public testing::Test {
 protected:
  void SetUp() override {
    for (std::atomic<int>* const n :
         {&answers.huge, &answers.populate, &answers.asked_huge, &answers.asked_populate, &answers.read_setting})
      *n = 0;
    answers.setting = folder_ / "enabled";
    set_setting("always [madvise] never\n");
    std::iota(from_.begin(), from_.end(), 0.0f);
  }

  /// Copies by every entry, and looks at each result. What they wrote to the log about pages.
  std::vector<std::string> lines_of_copies(FreshDestination how, int threads = 1) {
    const test::LogLines lines;
    copies(how, threads);
    std::vector<std::string> found;
    for (const std::string& line : lines.lines())
      if (line.find("KiB of a destination") != std::string::npos) found.push_back(line);
    return found;
  }
  void copies(FreshDestination how, int threads) {
    options_.fresh_destination = how;
    options_.threads = threads;
    for (int way = 0; way < 4; ++way) copy_once(way);
  }

  /// Runs `body` in a child, where no line has been written yet; its failures are the test's.
  template <class Body>
  static void in_child(const Body& body) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(60);
      body();
      std::fflush(nullptr);
      ::_exit(HasFailure() ? 1 : 0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  }

  void set_setting(const char* text) const { test::write_file(answers.setting, text); }

 private:
  void copy_once(int way) {
    const Layout dst = contiguous(DType::kF32, {kColumns, kRows});
    const Layout src = permute(contiguous(DType::kF32, {kRows, kColumns}), {1, 0});
    const std::size_t bytes = from_.size() * sizeof(float);
    void* const to = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(to, MAP_FAILED);
    const void* const from = from_.data();
    const Plan plan(dst, src, options_);
    errno = kErrno;
    int status = 0;
    if (way == 0) copy({to, dst}, {from, src}, options_);
    if (way == 1) status = plan.run(to, from);
    if (way == 2) status = plan.run(to, from, options_);
    if (way == 3) status = plan.run_many({&to, 1}, {&from, 1});
    const int after = options_.threads == 1 ? errno : kErrno;  // waiting for a helper may leave EAGAIN of the futex
    EXPECT_EQ(after, kErrno) << "way " << way;
    EXPECT_EQ(status, 0) << "way " << way;
    std::int64_t wrong = 0;
    for (std::int64_t c = 0; c < kColumns; ++c)
      for (std::int64_t r = 0; r < kRows; ++r)
        wrong += static_cast<const float*>(to)[c * kRows + r] != static_cast<float>(r * kColumns + c);
    EXPECT_EQ(wrong, 0) << "way " << way;
    ::munmap(to, bytes);
  }

  Options options_;
  test::TemporaryFolder folder_;
  std::vector<float> from_ = std::vector<float>(kRows * kColumns);
};

/// What Linux and containers answer to a request for pages.
struct Refusal {
  int error;
  const char* from;
};
const Refusal kRefusals[] = {{EINVAL, "Linux before 5.14"},
                             {ENOMEM, "a machine without memory"},
                             {EFAULT, "memory behind the end of its file, or over the limit of its file system"},
                             {EAGAIN, "a kernel without memory for its tables"},
                             {EPERM, "a container's filter of system calls"},
                             {ENOSYS, "a kernel in user space"}};

TEST_F(Refused, NoHugePagesAreAskedForUnlessTheyAreWanted) {
  EXPECT_TRUE(lines_of_copies(FreshDestination::kOff).empty());
  EXPECT_EQ(answers.asked_huge + answers.read_setting, 0);
  EXPECT_GE(answers.asked_populate, 6);  // in tasks, but not by run_many
}

TEST_F(Refused, NobodyIsToldOfWhatNobodyWanted) {
  for (const int threads : {1, 2})
    in_child([&] {
      answers.populate = EINVAL;
      EXPECT_TRUE(lines_of_copies(FreshDestination::kOff, threads).empty());
      EXPECT_GE(answers.asked_populate, 6);
    });
}

TEST_F(Refused, NothingIsAskedForPagesThatAreThere) {
  const Layout dst = contiguous(DType::kF32, {kColumns, kRows});
  const Layout src = permute(contiguous(DType::kF32, {kRows, kColumns}), {1, 0});
  std::vector<float> from(kRows * kColumns, 1), to(kRows * kColumns, 2);
  const Plan plan(dst, src);
  copy({to.data(), dst}, {from.data(), src});
  EXPECT_EQ(plan.run(to.data(), from.data()), 0);
  EXPECT_EQ(plan.run(to.data(), from.data(), {}), 0);
  EXPECT_EQ(answers.asked_huge + answers.asked_populate + answers.read_setting, 0);
}

TEST_F(Refused, NothingIsToldWhereAllIsGranted) {
  EXPECT_TRUE(lines_of_copies(FreshDestination::kPrefault).empty());
  EXPECT_EQ(answers.asked_huge, 4);
  EXPECT_GE(answers.asked_populate, 8);  // in tasks
}

TEST_F(Refused, PagesAreToldOfOnceByWhyAndTheCopyGoesOn) {
  for (const Refusal& r : kRefusals)
    for (const int threads : {1, 2}) {
      SCOPED_TRACE(r.from);
      in_child([&] {
        answers.populate = r.error;
        const std::vector<std::string> lines = lines_of_copies(FreshDestination::kPrefault, threads);
        EXPECT_GE(answers.asked_populate, 8);  // a refusal of one task is none of the next
        ASSERT_EQ(lines.size(), 1u);
        EXPECT_TRUE(test::holds(lines[0], "did not get their pages before the copy", std::strerror(r.error),
                                "Linux 5.14", "set Options::fresh_destination to off"));
      });
    }
}

TEST_F(Refused, HugePagesAreToldOfOnceByWhyAndTheCopyGoesOn) {
  for (const Refusal& r : kRefusals)
    for (const FreshDestination how : {FreshDestination::kAdvise, FreshDestination::kPrefault}) {
      SCOPED_TRACE(r.from);
      in_child([&] {
        answers.huge = r.error;
        const std::vector<std::string> lines = lines_of_copies(how);
        EXPECT_GT(answers.asked_populate, 0);  // whatever became of huge ones
        ASSERT_EQ(lines.size(), 1u);
        EXPECT_TRUE(test::holds(lines[0], "have no huge pages (", std::strerror(r.error), base::kHugePagesSetting,
                                "set Options::fresh_destination to off"));
      });
    }
}

TEST_F(Refused, HugePagesThatAreTurnedOffAreToldOfThoughMadviseSaysYes) {
  for (const FreshDestination how : {FreshDestination::kAdvise, FreshDestination::kPrefault})
    in_child([&] {
      set_setting("always madvise [never]\n");
      const std::vector<std::string> lines = lines_of_copies(how);
      EXPECT_GT(answers.asked_populate, 0);
      ASSERT_EQ(lines.size(), 1u);
      EXPECT_TRUE(test::holds(lines[0], "have no huge pages (they are turned off)", base::kHugePagesSetting));
    });
}

TEST_F(Refused, BothAreToldOfWhereBothAreRefused) {
  in_child([&] {
    set_setting("always madvise [never]\n");
    answers.huge = EINVAL;
    answers.populate = EINVAL;
    const std::vector<std::string> lines = lines_of_copies(FreshDestination::kPrefault, 2);
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_TRUE(test::holds(lines[0], "have no huge pages (Invalid argument)"));
    EXPECT_TRUE(test::holds(lines[1], "(MADV_POPULATE_WRITE: Invalid argument)"));
  });
}

TEST_F(Refused, NobodyIsToldWhereNobodyListens) {
  in_child([&] {
    answers.huge = ENOMEM;
    answers.populate = ENOMEM;
    set_log([](void*, const char*) {});
    set_log(nullptr);
    copies(FreshDestination::kPrefault, 2);
    EXPECT_EQ(answers.read_setting, 0);  // only the line needs it
    EXPECT_EQ(lines_of_copies(FreshDestination::kPrefault).size(), 2u) << "a line that nobody heard is not told";
  });
}

/// A limit of memory that needs no rights to be met: huge pages of a pool that has none, mapped without a reservation.
/// To touch them would be SIGBUS, so nothing is copied into them.
TEST_F(Refused, PagesOverTheKernelsOwnLimitAreToldOf) {
  in_child([&] {
    answers.populate = kAskTheKernel;
    constexpr std::size_t kBytes = 64 << 20;
    void* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || __real_madvise(memory, kBytes, MADV_POPULATE_WRITE) == 0) {
      std::puts("this kernel has no such pages, or has them to give");
      return;
    }
    const test::LogLines lines;
    const Layout all = contiguous(DType::kU8, {kBytes});
    errno = kErrno;
    cpu::prepare_fresh(memory, all, layout::canonicalize(all, all, 1, 1, layout::UnitRule::kAnywhere),
                       FreshDestination::kPrefault, nullptr, 2);
    EXPECT_EQ(errno, kErrno);
    EXPECT_EQ(lines.count(), 1u);
    EXPECT_TRUE(test::holds(lines.text(), "did not get their pages before the copy (MADV_POPULATE_WRITE: "));
  });
}

}  // namespace
}  // namespace restride
