#include "src/cpu/team/helpers.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <restride/log.hpp>

#include "tests/cpu/team/module.h"
#include "tests/support/log_lines.h"
#include "tests/support/throws.h"

namespace restride::cpu {
namespace {

constexpr int kTasks = 64;

void count(void* counts, int task) { ++static_cast<std::atomic<int>*>(counts)[task]; }

/// Runs tasks with so many helpers; true when each was done once.
bool each_is_done_once(int helpers) {
  std::atomic<int> counts[kTasks] = {};
  Claims claims(helpers + 1, kTasks, count, counts);
  work_with_helpers(claims, helpers);
  for (const std::atomic<int>& n : counts)
    if (n != 1) return false;
  return true;
}

/// Until helpers are asked again, whatever the machine does beside.
void wait_for_helpers() {
  while (calls_alone() > 0) EXPECT_TRUE(each_is_done_once(1));
}

/// Runs `body` in a child made by `make`, and gives how it ended; a child that hangs ends by a signal.
template <class Make, class Body>
int status_of_child(const Make& make, const Body& body) {
  const pid_t child = make();
  if (child == 0) {
    ::alarm(60);
#ifdef __SANITIZE_ADDRESS__
    ::_exit(body());  // its search for leaks wants a thread, too
#else
    std::exit(body());  // destructors too: they end the helpers
#endif
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  return WEXITSTATUS(status);
}

TEST(Helpers, DoEveryTaskOnce) {
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(each_is_done_once(i % 4));
  EXPECT_EQ(helpers_started(), 3);
}

TEST(Helpers, ServeManyCallersAtOnce) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 40; ++c)  // more than there are posts
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i)
        if (!each_is_done_once(3)) ++wrong;
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Helpers, EndWithAProcessThatExitsWhileTheyLookOut) {
  // What they look at may change between any two of their steps, so many processes exit, each after another while.
  for (int n = 0; n < 800 && !HasFailure(); ++n)
    EXPECT_EQ(status_of_child([] { return ::fork(); },
                              [n] {
                                bool done = true;
                                for (int i = 0; i <= n % 7; ++i) done = each_is_done_once(24) && done;
                                return done ? 0 : 1;
                              }),
              0);
}

TEST(Helpers, ThatAreAllAtWorkForOthersAreToldOf) {
  struct Held {
    std::atomic<int> begun{0};
    std::atomic<bool> go_on{false};
  } held;
  ASSERT_TRUE(each_is_done_once(1));
  wait_for_helpers();
  std::vector<std::thread> callers;
  constexpr int kCallers = 32;  // as many as there are posts
  for (int c = 0; c < kCallers; ++c)
    callers.emplace_back([&] {
      Claims claims(
          2, 1,
          [](void* h, int) {
            ++static_cast<Held*>(h)->begun;
            static_cast<Held*>(h)->go_on.wait(false);
          },
          &held);
      work_with_helpers(claims, 1);
    });
  while (held.begun < kCallers) std::this_thread::yield();
  {
    const test::LogLines lines;
    EXPECT_TRUE(each_is_done_once(1));
    EXPECT_TRUE(test::holds(lines.text(), "a copy has one thread, because 32 others are at work",
                            "copy from fewer threads at once"));
  }
  held.go_on = true;
  held.go_on.notify_all();
  for (std::thread& t : callers) t.join();
}

TEST(Helpers, ThatLoseTheirCoreAreNotAskedForAWhile) {
  // The helper's task takes ages beside the caller's, as where another program has its core.
  struct Pair {
    std::atomic<int> begun{0};
    std::thread::id caller = std::this_thread::get_id();
    static void body(void* self, int) {
      Pair& p = *static_cast<Pair*>(self);
      ++p.begun;
      while (p.begun < 2) std::this_thread::yield();
      if (std::this_thread::get_id() != p.caller) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  };
  const auto lose = [] {
    wait_for_helpers();
    Pair pair;
    Claims claims(2, 2, Pair::body, &pair);
    work_with_helpers(claims, 1);
    return calls_alone();
  };
  EXPECT_GE(lose(), 1);
  int most = 0;
  for (int i = 0; i < 8 && most < 8; ++i) most = lose();
  EXPECT_GE(most, 8) << "twice as long each time";
  struct Alone {
    std::thread::id caller = std::this_thread::get_id();
    std::atomic<int> others{0};
    static void body(void* self, int) {
      Alone& a = *static_cast<Alone*>(self);
      a.others += std::this_thread::get_id() != a.caller;
    }
  } mine;
  Claims claims(2, kTasks, Alone::body, &mine);
  work_with_helpers(claims, 1);
  EXPECT_EQ(mine.others, 0);
  EXPECT_LT(calls_alone(), most);
}

TEST(Helpers, AreAskedAgainWhereACallIsLong) {
  struct Long {
    std::atomic<int> begun{0};
    static void body(void* self, int) {
      Long& l = *static_cast<Long*>(self);
      ++l.begun;
      while (l.begun < 2) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  };
  int most = 0;
  for (int i = 0; i < 8 && most < 8; ++i) {
    wait_for_helpers();
    Long two;
    Claims claims(2, 2, Long::body, &two);
    work_with_helpers(claims, 1);
    most = calls_alone();
  }
  ASSERT_GE(most, 8) << "a caller that sleeps does not work";
  Long one;
  one.begun = 1;
  Claims claims(1, 1, Long::body, &one);
  work_with_helpers(claims, 1);
  EXPECT_EQ(calls_alone(), 0);
}

TEST(Helpers, AreNotWaitedForWhereTheyAreHeldUpElsewhere) {
  wait_for_helpers();
  // Every helper that there will be is inside a task of another caller, which ends only when this thread is through.
  struct Held {
    std::atomic<int> begun{0};
    std::atomic<bool> go_on{false};
  } held;
  std::thread other([&] {
    Claims claims(
        4, 4,
        [](void* h, int) {
          ++static_cast<Held*>(h)->begun;
          static_cast<Held*>(h)->go_on.wait(false);
        },
        &held);
    work_with_helpers(claims, 3);
  });
  while (held.begun < 4) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(each_is_done_once(3));
  held.go_on = true;
  held.go_on.notify_all();
  other.join();
  EXPECT_EQ(helpers_started(), 3);
}

TEST(Helpers, ThatComeLateFindNothing) {
  // One core, which the caller does not give away: helpers come when its tasks are long done, and its stack is
  // another's.
  const int status = status_of_child([] { return ::fork(); },
                                     [] {
                                       cpu_set_t one;
                                       CPU_ZERO(&one);
                                       CPU_SET(::sched_getcpu(), &one);
                                       if (::sched_setaffinity(0, sizeof one, &one) != 0) return 1;
                                       for (int i = 0; i < 2000; ++i)
                                         if (!each_is_done_once(7)) return 2;
                                       return 0;
                                     });
  EXPECT_EQ(status, 0);
}

#ifndef __SANITIZE_THREAD__  // it refuses threads in a child of a process that has some
TEST(Helpers, OfAForkedChildAreItsOwn) {
  ASSERT_TRUE(each_is_done_once(3));
  std::atomic<bool> stop{false};
  std::thread busy([&] {  // forks meet helpers at all stages of their work
    while (!stop) each_is_done_once(3);
  });
  for (int i = 0; i < 50; ++i) {
    const int status = status_of_child([] { return ::fork(); },
                                       [] {
                                         if (helpers_started() != 0) return 1;
                                         return each_is_done_once(3) && helpers_started() == 3 ? 0 : 2;
                                       });
    EXPECT_EQ(status, 0);
  }
  stop = true;
  busy.join();
  EXPECT_TRUE(each_is_done_once(3));
}

TEST(Helpers, AreNotMissedByAChildThatTheCLibraryDidNotMake) {
  ASSERT_TRUE(each_is_done_once(3));
  const int status = status_of_child([] { return static_cast<pid_t>(::syscall(SYS_fork)); },
                                     [] { return each_is_done_once(3) ? 0 : 1; });
  EXPECT_EQ(status, 0);
}
#endif

#ifndef __SANITIZE_THREAD__  // it has threads of its own, which count against the limit
/// In a child: lets the user have `more` threads than there are now. False when that cannot be done.
bool allow_threads(rlim_t more) {
  // Limits count by the user, and root has none: a user of this child's own, for tests run side by side.
  const auto nobody_else = static_cast<uid_t>(20000 + ::getpid() % 40000);
  const rlimit limit{1 + more, 1 + more};
  return ::geteuid() == 0 && ::setuid(nobody_else) == 0 && ::setrlimit(RLIMIT_NPROC, &limit) == 0;
}

TEST(Helpers, AreFewerWhereNoMoreCanBeStarted) {
  constexpr int kCannotLimit = 77;
  for (const int more : {0, 1, 2, 5}) {
    const int status = status_of_child([] { return ::fork(); },
                                       [&] {
                                         if (!allow_threads(static_cast<rlim_t>(more))) return kCannotLimit;
                                         for (const int helpers : {1, 7, 3, 7})
                                           if (!each_is_done_once(helpers)) return 1;
                                         return helpers_started() == more ? 0 : 2;
                                       });
    if (status == kCannotLimit) GTEST_SKIP() << "only root can become a user without threads";
    EXPECT_EQ(status, 0) << more << " threads more";
  }
}

TEST(Helpers, ThatAreRefusedAreToldInTheLogOnce) {
  constexpr int kCannotLimit = 77;
  const int status = status_of_child([] { return ::fork(); },
                                     [] {
                                       if (!allow_threads(2)) return kCannotLimit;
                                       static std::string lines;
                                       set_log([](void*, const char* line) { lines += line; });
                                       for (int i = 0; i < 3; ++i) each_is_done_once(7);
                                       const std::size_t at = lines.find("a copy has 3 of 8 threads");
                                       if (at == std::string::npos || lines.find("ulimit -u") == std::string::npos)
                                         return 1;
                                       return lines.find("a copy has", at + 1) == std::string::npos ? 0 : 2;
                                     });
  if (status == kCannotLimit) GTEST_SKIP() << "only root can become a user without threads";
  EXPECT_EQ(status, 0);
}
#endif

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // both need terabytes of addresses
TEST(Helpers, EndNoProcessWhereThereIsNoMemoryForThem) {
  std::uint64_t random = 1;
  for (int i = 0; i < 150; ++i) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    const rlim_t spare = (random >> 33) % (16 << 20);
    const int status = status_of_child(
        [] { return ::fork(); },
        [&] {
          long pages = 0;
          std::FILE* const statm = std::fopen("/proc/self/statm", "r");
          if (statm == nullptr || std::fscanf(statm, "%ld", &pages) != 1) return 1;
          std::fclose(statm);
          const rlim_t bytes = static_cast<rlim_t>(pages) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + spare;
          const rlimit limit{bytes, bytes};
          if (::setrlimit(RLIMIT_AS, &limit) != 0) return 2;
          for (int k = 0; k < 20; ++k)
            if (!each_is_done_once(15)) return 3;
          return 0;
        });
    EXPECT_EQ(status, 0) << spare << " bytes to spare";
  }
}

/// Threads of this process.
int threads_there() {
  int n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++n;
  return n;
}

TEST(Helpers, AreGoneWhenTheirLibraryIs) {
  const int before = threads_there();
  for (int i = 0; i < 20; ++i) {
    void* const module = ::dlopen(RESTRIDE_TEAM_MODULE, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(module, nullptr) << ::dlerror();
    auto* const copies =
        reinterpret_cast<decltype(&restride_test_copies_on)>(::dlsym(module, "restride_test_copies_on"));
    ASSERT_NE(copies, nullptr);
    // A thread's own plans keep the library until the thread ends.
    std::thread([&] { EXPECT_EQ(copies(4), 0); }).join();
    EXPECT_EQ(::dlclose(module), 0);
    ASSERT_EQ(::dlopen(RESTRIDE_TEAM_MODULE, RTLD_NOW | RTLD_NOLOAD), nullptr) << "it is still loaded";
    for (int k = 0; k < 1000 && threads_there() != before; ++k) ::usleep(1000);  // joined, and leaving /proc
    EXPECT_EQ(threads_there(), before);
  }
}
#endif

}  // namespace
}  // namespace restride::cpu
