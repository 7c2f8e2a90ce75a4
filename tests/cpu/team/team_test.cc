#include <restride/restride.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "src/cpu/team/helpers.h"
#include "src/cpu/team/run_on_stack.h"
#include "src/cpu/team/stack.h"
#include "src/cpu/team/team.h"
#include "tests/support/log_lines.h"
#include "tests/support/throws.h"

namespace restride {
namespace {

/// Transposes on that many threads; true when the result is right.
bool transpose_on(int threads) {
  constexpr std::int64_t kRows = 1024, kCols = 1024;
  std::vector<std::uint32_t> src(kRows * kCols), dst(src.size());
  std::iota(src.begin(), src.end(), 0u);
  Options options;
  options.threads = threads;
  copy({dst.data(), contiguous(DType::kU32, {kCols, kRows})},
       {src.data(), permute(contiguous(DType::kU32, {kRows, kCols}), {1, 0})}, options);
  for (std::int64_t c = 0; c < kCols; ++c)
    for (std::int64_t r = 0; r < kRows; ++r)
      if (dst[static_cast<std::size_t>(c * kRows + r)] != src[static_cast<std::size_t>(r * kCols + c)]) return false;
  return true;
}

/// Runs `body` in a forked child; how the child ended.
template <class Body>
int status_of_child(const Body& body) {
  const pid_t child = ::fork();
  EXPECT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);  // a child that waits for threads it does not have ends by this signal
    ::_exit(body());
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  return WEXITSTATUS(status);
}

/// In a child: lets the user have `more` threads than there are now. False when that cannot be done.
bool allow_threads(rlim_t more) {
  // Limits count by the user, and root has none: a user of this child's own, for tests run side by side.
  const auto nobody_else = static_cast<uid_t>(20000 + ::getpid() % 40000);
  const rlimit limit{1 + more, 1 + more};
  return ::geteuid() == 0 && ::setuid(nobody_else) == 0 && ::setrlimit(RLIMIT_NPROC, &limit) == 0;
}

constexpr int kCannotLimit = 77;

TEST(Team, DoesWithTheThreadsThatCanBeStarted) {
  for (const int more : {0, 1, 2, 3}) {
    const int status = status_of_child([&] {
      if (!allow_threads(static_cast<rlim_t>(more))) return kCannotLimit;
      for (const int threads : {2, 8, 4, 8, 2})
        if (!transpose_on(threads)) return 1;
      return 0;
    });
    if (status == kCannotLimit) GTEST_SKIP() << "only root can become a user without threads";
    EXPECT_EQ(status, 0) << more << " threads more";
  }
}

TEST(Team, OfOneThreadLeavesWhatIsLeftToThatOfAnother) {
  const int status = status_of_child([&] {
    if (!allow_threads(6)) return kCannotLimit;
    int wrong = 0;
    if (!transpose_on(4)) ++wrong;  // three of the six, which the pool keeps
    std::thread([&] {               // another, so two are left
      for (const int threads : {4, 3, 4})
        if (!transpose_on(threads)) ++wrong;
    })
        .join();
    return wrong;
  });
  if (status == kCannotLimit) GTEST_SKIP() << "only root can become a user without threads";
  EXPECT_EQ(status, 0);
}

/// Touches as much stack as the public headers allow a task.
void use_stack(void* /*unused*/, int /*task*/) {
  volatile char used[(512 << 10) - 4096];
  for (std::size_t i = 0; i < sizeof used; i += 1024) used[i] = 1;
}

/// Runs one test of this program in a process of its own, which begins with what `prepare` sets.
template <class Prepare>
int status_of_process(const char* test, const Prepare& prepare) {
  const std::string filter = std::string("--gtest_filter=") + test;
  return status_of_child([&] {
    prepare();
    ::execl("/proc/self/exe", "team_test", filter.c_str(), nullptr);
    return 127;
  });
}

TEST(Team, RunsTasksThatUseTheStackTheyMay) {
  // On a thread with the stack that a caller must have: this one may have less.
  ASSERT_TRUE(cpu::run_on_stack(cpu::kStackBytes, [] { cpu::run_tasks(nullptr, 4, 4, use_stack, nullptr); }));
}

TEST(Team, HasTheStackThatTasksNeedWhateverTheLimitIs) {
  EXPECT_EQ(status_of_process("Team.RunsTasksThatUseTheStackTheyMay",
                              [] {
                                const rlimit small{256 << 10, 256 << 10};
                                ::setrlimit(RLIMIT_STACK, &small);
                              }),
            0);
}

#ifndef __SANITIZE_THREAD__  // it refuses threads in a child of a process that has some
TEST(Team, WorksInAForkedChildOfAProcessThatHadOne) {
  ASSERT_TRUE(transpose_on(2));
  EXPECT_EQ(status_of_child([] { return transpose_on(2) ? 0 : 1; }), 0);
  EXPECT_TRUE(transpose_on(2));
}
#endif

TEST(Team, TakesFromTheEnvironmentWhatIsANumberOfThreads) {
  const char* const name = "RESTRIDE_NUM_THREADS";
  const auto of = [&](const char* text) {
    ::setenv(name, text, 1);
    return cpu::threads_from_environment();
  };
  const char* const before = std::getenv(name);
  const std::optional<std::string> kept = before != nullptr ? std::optional<std::string>(before) : std::nullopt;
  EXPECT_EQ(of("3"), 3);
  EXPECT_EQ(of("4096"), 4096);
  EXPECT_EQ(of(""), 0);
  for (const char* bad : {"0", "-1", "two", "2x", " 2", "4097", "99999999999999999999"})
    EXPECT_EQ(of(bad), std::nullopt) << bad;
  ::unsetenv(name);
  EXPECT_EQ(cpu::threads_from_environment(), 0);
  if (kept) ::setenv(name, kept->c_str(), 1);
}

TEST(Team, TellsOfAnEnvironmentThatIsIgnored) {
  const test::LogLines lines;
  EXPECT_EQ(cpu::threads_by_default(5, 8, 2), 5);
  EXPECT_EQ(cpu::threads_by_default(0, 8, 0), 8);
  EXPECT_EQ(lines.text(), "");
  ::setenv("RESTRIDE_NUM_THREADS", "two", 1);
  EXPECT_EQ(cpu::threads_by_default(std::nullopt, 8, 0), 8);
  ::unsetenv("RESTRIDE_NUM_THREADS");
  EXPECT_TRUE(
      test::holds(lines.text(), "RESTRIDE_NUM_THREADS='two' is no number from 1 to 4096", "correct or unset it"));
}

TEST(Team, TellsOfCoresThatAContainersQuotaTakesAway) {
  const test::LogLines lines;
  EXPECT_EQ(cpu::threads_by_default(0, 8, 8), 8);
  EXPECT_EQ(cpu::threads_by_default(0, 8, 12), 8);
  EXPECT_EQ(lines.text(), "");
  EXPECT_EQ(cpu::threads_by_default(0, 8, 3), 3);
  EXPECT_TRUE(test::holds(lines.text(), "copies have 3 of 8 cores", "CPU quota", "raise it", "Options::threads"));
}

TEST(Team, SharesOneLongRow) {
  for (const std::int64_t n : {131072, 131073, 1000003}) {
    std::vector<std::uint8_t> src(static_cast<std::size_t>(n)), dst(src.size() + 2, 0xee);
    for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<std::uint8_t>(i * 7 + (i >> 8));
    Options options;
    options.threads = 3;
    options.family = "rows";
    copy({dst.data() + 1, contiguous(DType::kU8, {n})}, {src.data(), flip(contiguous(DType::kU8, {n}), 0)}, options);
    std::reverse(src.begin(), src.end());
    EXPECT_TRUE(std::equal(src.begin(), src.end(), dst.begin() + 1)) << n;
    EXPECT_EQ(dst.front(), 0xee);
    EXPECT_EQ(dst.back(), 0xee);
  }
}

#ifdef _OPENMP
TEST(Team, StaysOneThreadInsideAParallelRegionOfTheCallers) {
  omp_set_max_active_levels(2);  // so that nesting would not be refused for us
  const Layout large = contiguous(DType::kF32, {1 << 20});
  Options options;
  options.threads = 2;
  int threads = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  threads = Plan(large, large, options).threads();
  omp_set_max_active_levels(1);
  EXPECT_EQ(threads, 1);
  EXPECT_EQ(Plan(large, large, options).threads(), 2);
}

TEST(Team, OfOneThreadInsideAParallelRegionIsToldOfOnce) {
  const test::LogLines lines;
  Options options;
  options.threads = 2;
  int threads = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  threads = cpu::threads_allowed(options) + cpu::threads_allowed(options);
  EXPECT_EQ(threads, 2);
  EXPECT_EQ(lines.count(), 1u);
  EXPECT_TRUE(test::holds(lines.text(), "parallel region of OpenMP", "call it outside", "Options::executor"));
}

TEST(Team, OfAPlanMadeOutsideStaysOneThreadInsideAParallelRegionOfTheCallers) {
  const Layout large = contiguous(DType::kF32, {1 << 20});
  Options options;
  options.threads = 4;
  const Plan plan(large, large, options);
  ASSERT_EQ(plan.threads(), 4);
  const std::vector<float> src(1 << 20, 2.5f);
  std::vector<std::vector<float>> dst(2, std::vector<float>(src.size()));
  int strangers = 0;             // tasks that another thread than the caller did
  omp_set_max_active_levels(2);  // so that nesting would not be refused for us
#pragma omp parallel num_threads(2) reduction(+ : strangers)
  {
    std::array<std::thread::id, 4> by;
    cpu::run_tasks(
        nullptr, 4, 4, [](void* ids, int i) { static_cast<std::thread::id*>(ids)[i] = std::this_thread::get_id(); },
        by.data());
    for (const std::thread::id id : by) strangers += id != std::this_thread::get_id() ? 1 : 0;
    plan.run(dst[static_cast<std::size_t>(omp_get_thread_num())].data(), src.data());
  }
  omp_set_max_active_levels(1);
  EXPECT_EQ(strangers, 0);
  for (const std::vector<float>& copied : dst) EXPECT_EQ(copied, src);
}
#endif

/// Counts what it is given, and does it.
void count_tasks(void* context, int tasks, void (*body)(void*, int), void* arg) {
  *static_cast<int*>(context) += tasks;
  for (int i = 0; i < tasks; ++i) body(arg, i);
}

TEST(Executor, OfAPlanRunsItsRunsWithoutOptions) {
  const Layout layout = contiguous(DType::kF64, {1 << 17});
  std::vector<double> src(1 << 17, 3), dst(1 << 17);
  int tasks = 0;
  const Executor executor{count_tasks, &tasks, 2};
  Options options;
  options.executor = &executor;
  const Plan plan(layout, layout, options);
  EXPECT_EQ(plan.run(dst.data(), src.data()), 0);
  EXPECT_EQ(tasks, 2);
  EXPECT_EQ(dst, src);
}

TEST(Executor, IsAskedForNoMoreThanItsThreadsNorThanOptionsSay) {
  const Layout layout = contiguous(DType::kF64, {1 << 19});
  std::vector<double> src(1 << 19, 3), dst(1 << 19);
  for (const auto& [threads, expected] : {std::pair{8, 3}, {2, 2}}) {
    int tasks = 0;
    const Executor executor{count_tasks, &tasks, 3};
    Options options;
    options.executor = &executor;
    options.threads = threads;
    copy({dst.data(), layout}, {src.data(), layout}, options);
    EXPECT_EQ(tasks, expected);
  }
}

TEST(Executor, OfManyThreadsIsAskedForNoMoreThanPlansMayHave) {
  const Executor executor{count_tasks, nullptr, 5000};
  Options options;
  options.executor = &executor;
  EXPECT_EQ(cpu::threads_allowed(options), 4096);
  options.threads = 4999;
  EXPECT_EQ(cpu::threads_allowed(options), 4096);
  options.threads = 7;
  EXPECT_EQ(cpu::threads_allowed(options), 7);
}

/// A pool of which one thread is there; the others are held up until it has done its task.
struct HeldUp {
  std::vector<std::uint32_t>& dst;
  const std::vector<std::uint32_t>& wanted;
  bool last_is_there;  ///< the thread of the last task, not of the first
  int tasks = 0;
  bool done_by_one = false;

  static constexpr std::uint32_t kPoison = 0xeeeeeeeeu;
  static void parallel(void* context, int tasks, void (*body)(void*, int), void* arg) {
    auto& pool = *static_cast<HeldUp*>(context);
    pool.tasks += tasks;
    const int there = pool.last_is_there ? tasks - 1 : 0;
    std::thread(body, arg, there).join();
    pool.done_by_one = pool.dst == pool.wanted;
    std::fill(pool.dst.begin(), pool.dst.end(), kPoison);  // what the others write is seen
    std::vector<std::thread> others;
    for (int i = 0; i < tasks; ++i)
      if (i != there) others.emplace_back(body, arg, i);
    for (std::thread& t : others) t.join();
  }
};

TEST(Executor, WhoseOtherThreadsAreHeldUpCopiesWithoutThem) {
  constexpr std::int64_t kPairs = 3, kSide = 512;
  const Layout one = contiguous(DType::kU32, {kSide, kSide}), all = contiguous(DType::kU32, {kPairs, kSide, kSide});
  const Layout one_src = permute(one, {1, 0}), all_src = permute(all, {0, 2, 1});
  std::vector<std::uint32_t> src(kPairs * kSide * kSide), wanted, dst(src.size());
  std::iota(src.begin(), src.end(), 0u);
  for (std::int64_t p = 0; p < kPairs; ++p)
    for (std::int64_t c = 0; c < kSide; ++c)
      for (std::int64_t r = 0; r < kSide; ++r)
        wanted.push_back(static_cast<std::uint32_t>((p * kSide + r) * kSide + c));
  std::vector<void*> to;
  std::vector<const void*> from;
  for (std::int64_t p = 0; p < kPairs; ++p) {
    to.push_back(dst.data() + p * kSide * kSide);
    from.push_back(src.data() + p * kSide * kSide);
  }
  for (const int threads : {2, 3, 16})
    for (const bool last_is_there : {false, true})
      for (const char* way : {"copy", "run", "run_many"}) {
        std::fill(dst.begin(), dst.end(), 0u);
        HeldUp pool{dst, wanted, last_is_there};
        const Executor executor{HeldUp::parallel, &pool, threads};
        Options options;
        options.executor = &executor;
        if (way == std::string("copy")) copy({dst.data(), all}, {src.data(), all_src}, options);
        if (way == std::string("run")) (void)Plan(all, all_src, options).run(dst.data(), src.data());
        if (way == std::string("run_many")) (void)Plan(one, one_src, options).run_many(to, from);
        EXPECT_GE(pool.tasks, 2) << way << " on " << threads;
        EXPECT_TRUE(pool.done_by_one) << way << " on " << threads;
        EXPECT_EQ(std::count(dst.begin(), dst.end(), HeldUp::kPoison), std::ssize(dst)) << way << " on " << threads;
      }
}

TEST(Executor, WithoutAFunctionLeavesAllToTheCaller) {
  const Layout layout = contiguous(DType::kF64, {1 << 17});
  std::vector<double> src(1 << 17, 3), dst(1 << 17);
  const Executor executor{nullptr, nullptr, 4};
  Options options;
  options.executor = &executor;
  copy({dst.data(), layout}, {src.data(), layout}, options);
  EXPECT_EQ(dst, src);
}

}  // namespace
}  // namespace restride
