#include <gtest/gtest.h>

#include <atomic>
#include <string_view>
#include <thread>
#include <vector>

#include <restride/log.hpp>
#include <restride/measurements.hpp>

#include "src/api/plan_impl.h"

namespace restride::api {
namespace {

CachedPlan in_use(const Layout& dst, const Layout& src, const Options& options, std::int64_t align) {
  const bool cuda = options.device == DeviceKind::kCuda;
  const Target target{cuda ? DeviceKind::kCuda : DeviceKind::kCpu, options.cuda_device};
  return cached_plan(dst, src, options, target, false, align, align);
}

CachedPlan in_use(std::int64_t count, const Options& options = {}) {
  return in_use(contiguous(DType::kF32, {count}), contiguous(DType::kF32, {count}), options, 4);
}

/// A plan that the cache keeps.
const Plan::Impl* cached(std::int64_t count, const Options& options = {}) { return &*in_use(count, options); }

TEST(PlanCache, KeepsPlansForFreshMemoryApart) {
  const Layout l = contiguous(DType::kF32, {10001});
  const auto of = [&](bool fresh, FreshDestination how) {
    Options options;
    options.fresh_destination = how;
    return &*cached_plan(l, l, options, {DeviceKind::kCpu}, fresh, 4, 4);
  };
  const Plan::Impl* const found = of(true, FreshDestination::kOff);
  EXPECT_EQ(found, of(true, FreshDestination::kPrefault));
  EXPECT_NE(found, of(false, FreshDestination::kOff));
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
  const Layout dst = contiguous(DType::kF32, {10, 7}), src = contiguous(DType::kF32, {7, 10});
  EXPECT_NO_THROW(in_use(dst, src, reshape, 4));
  EXPECT_THROW(in_use(dst, src, {}, 4), ShapeError);
}

TEST(PlanCache, TellsAddressesApartOnlyWhereAPlanDependsOnThem) {
  const auto at = [](std::int64_t align, const Options& options) {
    return &*in_use(contiguous(DType::kU8, {10005}), contiguous(DType::kU8, {10005}), options, align);
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
const Plan::Impl* slice_at(std::int64_t offset_bytes, const Options& options) {
  Layout slice = strided(DType::kF32, std::vector<std::int64_t>{8, 16}, std::vector<std::int64_t>{4096, 4});
  slice.offset_bytes = offset_bytes;
  return &*in_use(slice, contiguous(DType::kF32, {8, 16}), options, 64);
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
  const Plan::Impl* const here = cached(10004);
  const Plan::Impl* there = nullptr;
  std::thread([&] { there = cached(10004); }).join();
  EXPECT_EQ(here, there);
}

TEST(PlanCache, ForgetsTheOldestWhenFull) {
  const auto is_planned = [](std::int64_t count) {
    int lines = 0;
    set_log(
        [](void* all, const char* line) {
          *static_cast<int*>(all) += std::string_view(line).find("not in the cache") != std::string_view::npos ? 1 : 0;
        },
        &lines);
    cached(count);
    set_log(nullptr);
    return lines > 0;
  };
  EXPECT_TRUE(is_planned(20000));
  EXPECT_FALSE(is_planned(20000));
  for (std::int64_t i = 1; i <= 2000; ++i) cached(20000 + i);
  EXPECT_TRUE(is_planned(20000));
}

TEST(PlanCache, KeepsAPlanInUseBeyondItsPlaceInTheCache) {
  const CachedPlan plan = in_use(30000), again = in_use(30000);
  EXPECT_EQ(&*plan, &*again);
  for (std::int64_t i = 1; i <= 2000; ++i) {
    const CachedPlan other = in_use(30000 + i);
    EXPECT_EQ((*other).dst.elements(), 30000 + i);
  }
  EXPECT_EQ((*plan).dst.elements(), 30000);
  EXPECT_EQ(cached(30000), &*plan);
}

TEST(PlanCache, SeesRecordsThatAreMadeLater) {
  Measurements kept;
  Options by_record;
  by_record.threads = 1;
  by_record.measurements = &kept;
  const auto plan = [&](const Options& options) {
    return &*in_use(contiguous(DType::kF32, {50, 70}), permute(contiguous(DType::kF32, {70, 50}), {1, 0}), options, 4);
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
        if ((*in_use(count)).dst.elements() != count) ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace restride::api
