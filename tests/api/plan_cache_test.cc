#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include <restride/measurements.hpp>

#include "src/api/plan_impl.h"

namespace restride::api {
namespace {

std::shared_ptr<const Plan::Impl> cached(std::int64_t count, const Options& options = {}) {
  std::shared_ptr<const Plan::Impl> plan;
  cached_plan(contiguous(DType::kF32, {count}), contiguous(DType::kF32, {count}), options, 4, 4, &plan);
  return plan;
}

TEST(PlanCache, GivesOneKindOfCopyOnePlan) { EXPECT_EQ(cached(10001), cached(10001)); }

TEST(PlanCache, TellsLayoutsAndThreadsApart) {
  EXPECT_NE(cached(10002), cached(10003));
  Options two;
  two.threads = 2;
  Options three;
  three.threads = 3;
  EXPECT_NE(cached(10002, two), cached(10002, three));
}

TEST(PlanCache, TellsWhatPairsInCOrderFromWhatHasOneShape) {
  Options reshape;
  reshape.reshape = true;
  EXPECT_NE(cached(10006), cached(10006, reshape));
  std::shared_ptr<const Plan::Impl> plan;
  const Layout dst = contiguous(DType::kF32, {10, 7}), src = contiguous(DType::kF32, {7, 10});
  EXPECT_NO_THROW(cached_plan(dst, src, reshape, 4, 4, &plan));
  EXPECT_THROW(cached_plan(dst, src, {}, 4, 4, &plan), ShapeError);
}

TEST(PlanCache, TellsAddressesApartOnlyWhereAPlanDependsOnThem) {
  const auto at = [](std::int64_t align, const Options& options) {
    std::shared_ptr<const Plan::Impl> plan;
    cached_plan(contiguous(DType::kU8, {10005}), contiguous(DType::kU8, {10005}), options, align, align, &plan);
    return plan;
  };
  Options cpu;
  cpu.device = DeviceKind::kCpu;
  EXPECT_EQ(at(1, cpu), at(64, cpu));
  Options cuda;
  cuda.device = DeviceKind::kCuda;
  cuda.cuda_device = kModelDevice;
  EXPECT_NE(at(1, cuda), at(64, cuda));
}

/// A slice of 64 bytes at a time, which starts so many bytes behind the pointer.
std::shared_ptr<const Plan::Impl> slice_at(std::int64_t offset_bytes, const Options& options) {
  Layout slice = strided(DType::kF32, std::vector<std::int64_t>{8, 16}, std::vector<std::int64_t>{4096, 4});
  slice.offset_bytes = offset_bytes;
  std::shared_ptr<const Plan::Impl> plan;
  cached_plan(slice, contiguous(DType::kF32, {8, 16}), options, 64, 64, &plan);
  return plan;
}

TEST(PlanCache, GivesAMovingSliceOnePlan) {
  Options cpu;
  cpu.device = DeviceKind::kCpu;
  EXPECT_EQ(slice_at(0, cpu), slice_at(4, cpu));
  EXPECT_EQ(slice_at(0, cpu), slice_at(-123457, cpu));
  Options cuda;
  cuda.device = DeviceKind::kCuda;
  cuda.cuda_device = kModelDevice;
  EXPECT_EQ(slice_at(0, cuda), slice_at(1 << 20, cuda));
  EXPECT_EQ(slice_at(68, cuda), slice_at(68 - (1 << 20), cuda));
  EXPECT_NE(slice_at(0, cuda), slice_at(4, cuda));  // its units are smaller
  EXPECT_EQ(slice_at(4 + (1 << 20), cuda)->canonical.dst_unit, 4);
  EXPECT_EQ(slice_at(1 << 20, cuda)->canonical.dst_unit, 16);
}

TEST(PlanCache, RefusesAnOffsetBeyondAllMemoryWhenThereIsAPlanForANearerOne) {
  Options cpu;
  cpu.device = DeviceKind::kCpu;
  slice_at(0, cpu);
  EXPECT_THROW(slice_at(kMaxBytes + 128, cpu), RangeError);
  EXPECT_THROW(slice_at(INT64_MIN, cpu), RangeError);
}

TEST(PlanCache, GivesItsPlansToOtherThreads) {
  const auto here = cached(10004);
  std::shared_ptr<const Plan::Impl> there;
  std::thread([&] { there = cached(10004); }).join();
  EXPECT_EQ(here, there);
}

TEST(PlanCache, ForgetsTheOldestWhenFull) {
  std::weak_ptr<const Plan::Impl> first = cached(20000);
  for (std::int64_t i = 1; i <= 2000; ++i) cached(20000 + i);
  EXPECT_TRUE(first.expired());
}

TEST(PlanCache, KeepsAPlanInUseBeyondItsPlaceInTheCache) {
  const auto plan = cached(30000);
  for (std::int64_t i = 1; i <= 2000; ++i) cached(30000 + i);
  EXPECT_EQ(plan->dst.elements(), 30000);
}

TEST(PlanCache, SeesRecordsThatAreMadeLater) {
  Measurements kept;
  Options by_record;
  by_record.threads = 1;
  by_record.measurements = &kept;
  const auto plan = [&](const Options& options) {
    std::shared_ptr<const Plan::Impl> p;
    cached_plan(contiguous(DType::kF32, {50, 70}), permute(contiguous(DType::kF32, {70, 50}), {1, 0}), options, 4, 4,
                &p);
    return p;
  };
  EXPECT_EQ(plan(by_record)->decision.chosen.measured_ns, 0);
  Options measuring = by_record;
  measuring.measure = true;
  EXPECT_GT(plan(measuring)->decision.chosen.measured_ns, 0);
  EXPECT_GT(plan(by_record)->decision.chosen.measured_ns, 0);
  EXPECT_EQ(plan(by_record), plan(by_record));
}

TEST(PlanCache, ServesManyThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&wrong, t] {
      for (std::int64_t i = 0; i < 2000; ++i) {
        const std::int64_t count = 1 + (i * 7 + t * 13) % 400;
        if (cached(count)->dst.elements() != count) ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace restride::api
