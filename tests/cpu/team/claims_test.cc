#include "src/cpu/team/claims.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace restride::cpu {
namespace {

struct Counts {
  explicit Counts(int tasks) : of_task(static_cast<std::size_t>(tasks)) {}
  static void count(void* self, int task) { ++static_cast<Counts*>(self)->of_task[static_cast<std::size_t>(task)]; }
  std::vector<std::atomic<int>> of_task;
};

TEST(Claims, AreOneThreadsWhereNoOtherComes) {
  for (const int threads : {1, 2, 7, 64, 200})
    for (const int tasks : {0, 1, 5, 64, 1000}) {
      Counts counts(tasks);
      Claims claims(threads, tasks, Counts::count, &counts);
      claims.work(threads - 1);
      for (const std::atomic<int>& n : counts.of_task) EXPECT_EQ(n, 1) << threads << " threads, " << tasks << " tasks";
    }
}

TEST(Claims, BeginWithATasksOwnShareInOrder) {
  std::vector<int> order;
  Claims claims(
      3, 8, [](void* to, int i) { static_cast<std::vector<int>*>(to)->push_back(i); }, &order);
  claims.work(1);
  EXPECT_EQ(order, (std::vector<int>{3, 4, 5, 6, 7, 0, 1, 2}));
}

TEST(Claims, OfManyThreadsAreDoneOnceEach) {
  constexpr int kTasks = 20000;
  Counts counts(kTasks);
  Claims claims(4, kTasks, Counts::count, &counts);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&claims, i] { claims.work(i); });
  for (std::thread& t : threads) t.join();
  for (const std::atomic<int>& n : counts.of_task) EXPECT_EQ(n, 1);
}

}  // namespace
}  // namespace restride::cpu
