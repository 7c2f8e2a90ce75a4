#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <restride/copy.hpp>

#include "tests/support/throws.h"

namespace restride {
namespace {

constexpr std::int64_t kSide = 700;

TEST(Plan, RunsOnManyThreadsAtOnce) {
  const Layout dst = contiguous(DType::kI32, {kSide, kSide});
  const Plan plan(dst, permute(dst, {1, 0}));
  std::vector<std::int32_t> from(kSide * kSide);
  std::iota(from.begin(), from.end(), 0);
  std::vector<std::vector<std::int32_t>> to(6, std::vector<std::int32_t>(from.size()));
  std::vector<std::thread> threads;
  for (auto& out : to) threads.emplace_back([&] { plan.run(out.data(), from.data()); });
  for (std::thread& t : threads) t.join();
  for (const auto& out : to) {
    ASSERT_EQ(out[1], static_cast<std::int32_t>(kSide));
    ASSERT_EQ(out, to[0]);
  }
}

TEST(Plan, TakesNoMoreThreadsThanPay) {
  Options options;
  options.threads = 8;
  EXPECT_EQ(Plan(contiguous(DType::kU8, {1000}), contiguous(DType::kU8, {1000}), options).threads(), 1);
  EXPECT_EQ(Plan(contiguous(DType::kU8, {512 << 10}), contiguous(DType::kU8, {512 << 10}), options).threads(), 4);
  EXPECT_EQ(Plan(contiguous(DType::kU8, {512 << 20}), contiguous(DType::kU8, {512 << 20}), options).threads(), 8);
}

TEST(Plan, OfOneTaskIsOneThreads) {
  Options options;
  options.threads = 2;
  options.family = "tile";
  // In the caches, with too few columns to cut; two threads would pay.
  const Plan tall(parse_layout("f32 (5,18000)"), parse_layout("f32 (5,18000):(1,5)"), options);
  EXPECT_EQ(tall.threads(), 1);
}

TEST(Plan, OfOneTaskWakesNoPool) {
  int asked = 0;
  const Executor executor{[](void* context, int tasks, void (*body)(void*, int), void* arg) {
                            *static_cast<int*>(context) = tasks;
                            for (int i = 0; i < tasks; ++i) body(arg, i);
                          },
                          &asked, 8};
  Options options;
  options.family = "tile";
  const Plan tall(parse_layout("f32 (5,18000)"), parse_layout("f32 (5,18000):(1,5)"), options);
  std::vector<float> from(5 * 18000, 1.0F), to(from.size());
  options.executor = &executor;
  tall.run(to.data(), from.data(), options);
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(to, from);
}

TEST(Plan, CutsTilesForAllThreadsThatPay) {
  Options options;
  options.family = "tile";
  for (const int threads : {1, 2, 4}) {
    options.threads = threads;
    const Plan plan(parse_layout("f32 (500,900)"), parse_layout("f32 (500,900):(1,500)"), options);
    EXPECT_EQ(plan.threads(), threads) << plan.explain();
    EXPECT_EQ(Plan::deserialize(plan.serialize()).threads(), threads);
    std::vector<float> from(450000), to(from.size());
    std::iota(from.begin(), from.end(), 0.0F);
    plan.run(to.data(), from.data());
    for (std::size_t r = 0; r < 900; ++r)
      for (std::size_t c = 0; c < 500; ++c) ASSERT_EQ(to[c * 900 + r], from[r * 500 + c]);
  }
}

TEST(Plan, SharesEvenOneMatrixInTheCaches) {
  Options options;
  options.threads = 2;
  options.family = "tile";
  EXPECT_EQ(Plan(parse_layout("f32 (300,300)"), parse_layout("f32 (300,300):(1,300)"), options).threads(), 2);
}

TEST(Plan, KeepsWhatItWasMadeFrom) {
  const Plan plan(parse_layout("f32 (4)"), parse_layout("f16 (4):(2)"));
  EXPECT_EQ(plan.dst(), parse_layout("f32 (4)"));
  EXPECT_EQ(plan.src(), parse_layout("f16 (4):(2)"));
  EXPECT_EQ(plan.device(), DeviceKind::kCpu);
  EXPECT_EQ(plan.cuda_device(), -1);
}

TEST(Plan, RefusesAnAlignmentThatIsNoPowerOfTwo) {
  const Layout l = contiguous(DType::kF32, {4});
  EXPECT_THROW(Plan(l, l, {}, 3, 4), ArgumentError);
  EXPECT_THROW(Plan(l, l, {}, 4, -4), ArgumentError);
}

TEST(Plan, IsEmptyUntilItIsAssigned) {
  struct Member {
    Plan plan;
  } member;
  float from[4] = {1, 2, 3, 4}, to[4] = {};
  EXPECT_FALSE(member.plan);
  const auto empty = [](auto use) { return test::message_of<ArgumentError>(use); };
  for (const std::string& message :
       {empty([&] { member.plan.run(to, from); }), empty([&] { member.plan.run(to, from, {}); }),
        empty([&] { member.plan.dst(); }), empty([&] { member.plan.src(); }), empty([&] { member.plan.family(); }),
        empty([&] { member.plan.kernel(); }), empty([&] { member.plan.device(); }),
        empty([&] { member.plan.cuda_device(); }), empty([&] { member.plan.threads(); }),
        empty([&] { member.plan.explain(); }), empty([&] { member.plan.serialize(); })})
    EXPECT_TRUE(test::holds(message, "the plan is empty", "assign Plan(dst, src)"));
  const Layout l = contiguous(DType::kF32, {4});
  member.plan = Plan(l, l);
  EXPECT_TRUE(member.plan);
  EXPECT_EQ(member.plan.run(to, from), 0);
  EXPECT_EQ(to[3], 4);
  const Plan taken = std::move(member.plan);
  EXPECT_FALSE(member.plan);  // NOLINT: what a move leaves is promised
  EXPECT_TRUE(taken);
}

/// Whether one thread writes a plain copy of so many bytes past the caches.
bool streams(std::int64_t bytes, Options options) {
  options.threads = 1;
  const Layout l = contiguous(DType::kU8, {bytes});
  return Plan(l, l, options).serialize().find("\"stream\":1") != std::string::npos;
}

TEST(Plan, LeavesAResultThatIsReadSoonInTheCaches) {
  Options options;
  options.result = ResultUse::kSoon;
  EXPECT_FALSE(streams(1 << 20, options));
  options.result = ResultUse::kLater;
  EXPECT_TRUE(streams(1 << 20, options));
}

TEST(Plan, LeavesMoreInTheCachesWhereThePagesHaveJustBeenZeroed) {
  Options options;
  EXPECT_TRUE(streams(6 << 20, options));
  for (const FreshDestination how : {FreshDestination::kAdvise, FreshDestination::kPrefault}) {
    options.fresh_destination = how;
    EXPECT_FALSE(streams(6 << 20, options));
  }
}

TEST(Plan, CopiesIntoFreshMemoryWhateverIsAskedOfIt) {
  const Layout l = contiguous(DType::kU8, {3 << 20});
  const std::vector<std::uint8_t> src(3 << 20, 5);
  for (const FreshDestination how : {FreshDestination::kOff, FreshDestination::kAdvise, FreshDestination::kPrefault}) {
    Options options;
    options.fresh_destination = how;
    for (int way = 0; way < 4; ++way) {
      const auto dst = std::make_unique_for_overwrite<std::uint8_t[]>(src.size());
      const Plan plan(l, l, options);
      void* const to = dst.get();
      const void* const from = src.data();
      if (way == 0) copy({to, l}, {from, l}, options);
      if (way == 1) plan.run(to, from);
      if (way == 2) plan.run(to, from, options);
      if (way == 3) (void)plan.run_many({&to, 1}, {&from, 1});
      EXPECT_TRUE(std::equal(src.begin(), src.end(), dst.get())) << way;
    }
  }
}

TEST(Plan, OfNothingRunsOnNoMemory) {
  const Plan plan(contiguous(DType::kF32, {3, 0}), parse_layout("f32 (3,0):(5,7)"));
  EXPECT_EQ(plan.family(), "noop");
  EXPECT_EQ(plan.run(nullptr, nullptr), 0);
}

}  // namespace
}  // namespace restride
