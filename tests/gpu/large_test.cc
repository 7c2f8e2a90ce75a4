// Sizes past 32 bits and past the grid's limits: more than 2^31 elements, modes of more than 2^32, rows of more than 2
// GiB, more than 65535 tiles along every mode. All is filled, copied and compared on the device.
// Tagged Large: each test needs up to 97 GiB of device memory, and skips, saying so, where less is free.
// RESTRIDE_LARGE=0 leaves all out.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <restride/error.hpp>

#include "src/api/plan_impl.h"
#include "tests/gpu/device_check.h"
#include "tests/gpu/device_memory.h"
#include "tests/gpu/gpu_case.h"

namespace restride::test {
namespace {

constexpr std::int64_t kMargin = 4096;
constexpr std::uint8_t kCanary = 0xc3;

struct LargeCase {
  const char* what;
  Layout dst, src;
};

class GpuLarge : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* wanted = std::getenv("RESTRIDE_LARGE");
    if (wanted != nullptr && std::strcmp(wanted, "0") == 0) GTEST_SKIP() << "RESTRIDE_LARGE=0";
  }
  void TearDown() override { std::printf("%d large copies\n", copies_); }

  /// The default, every family that claims the layouts, and every other candidate of the planner (gather too, slow as
  /// it is there), compared with src; where elements are converted, with what gather makes of them.
  void check(const LargeCase& c) {
    SCOPED_TRACE(std::string(c.what) + ": " + to_string(c.src) + " -> " + to_string(c.dst));
    const auto [dst_first, dst_last] = byte_range(c.dst);
    const auto [src_first, src_last] = byte_range(c.src);
    ASSERT_EQ(dst_first, 0);
    ASSERT_EQ(src_first, 0);
    const bool cast = !(c.dst.element == c.src.element);
    const std::int64_t dst_bytes = dst_last + 2 * kMargin;
    require_free(src_last + 8 + dst_bytes * (cast ? 2 : 1));
    if (IsSkipped()) return;
    DeviceBuffer src(static_cast<std::size_t>(src_last + 8)), dst(static_cast<std::size_t>(dst_bytes));
    DeviceBuffer expected(static_cast<std::size_t>(cast ? dst_bytes : 1));
    fill_hashed(src.data(), src_last + 8, 99, stream_);
    Job job{c, dst_last, src.data(), dst.data() + kMargin, src.data(), c.src};
    if (cast) {
      copy(Tensor{expected.data() + kMargin, c.dst}, ConstTensor{src.data(), c.src}, options("gather"));
      job.expected = expected.data() + kMargin;
      job.expected_layout = c.dst;
    }
    run_one(job, "default", [&] { copy(Tensor{job.dst, c.dst}, ConstTensor{job.src, c.src}, options({})); });
    for (const std::string_view family : kFamilies)
      run_one(job, family, [&] { copy(Tensor{job.dst, c.dst}, ConstTensor{job.src, c.src}, options(family)); });
    // Both sides are aligned as cudaMalloc aligns: plans know of 128 bytes.
    const Plan plan(c.dst, c.src, options({}), 128, 128);
    note(plan.impl().decision.chosen);
    for (const plan::Candidate& k : plan.impl().decision.others) {
      if (!k.applies) continue;
      plan::Decision decision = plan.impl().decision;
      decision.chosen = k;
      const Plan other(api::with_decision(plan.impl(), decision));
      run_one(job, other.explain(), [&] { ASSERT_EQ(other.run(job.dst, job.src, options({})), 0); });
      note(k);
    }
  }

  /// True when a kernel was among those that `check` ran.
  bool ran(std::string_view kernel) const { return kernels_.count(kernel) != 0; }

 private:
  struct Job {
    const LargeCase& c;
    std::int64_t dst_last;
    const std::byte* src;
    std::byte* dst;
    const std::byte* expected;
    Layout expected_layout;
  };

  /// Skips the test where the device has less memory left.
  void require_free(std::int64_t bytes) {
    std::size_t free = 0, total = 0;
    RESTRIDE_CHECK_CUDA(cudaMemGetInfo(&free, &total));
    const std::int64_t needed = bytes + (std::int64_t{1} << 29);  // the runtime's own among it
    if (static_cast<std::int64_t>(free) < needed)
      GTEST_SKIP() << "needs " << (needed >> 30) + 1 << " GiB of free device memory, " << (free >> 30) << " are left";
  }

  Options options(std::string_view family) const {
    Options o;
    o.device = DeviceKind::kCuda;
    o.stream = static_cast<cudaStream_t>(stream_);
    o.family = family;
    o.reshape = true;
    return o;
  }

  void note(const plan::Candidate& k) {
    if (k.kernel.family == plan::Family::kTile && k.get(plan::ParamId::kBoundaryBytes) == 0)
      kernels_.insert(k.kernel.text);
  }

  /// One copy into a dst full of canaries: all of it is what it should be, and nothing around it was written. `run`
  /// throws ArgumentError where a family does not claim the layouts.
  template <class Run>
  void run_one(const Job& job, std::string_view what, Run run) {
    if (HasFatalFailure()) return;
    SCOPED_TRACE(what);
    RESTRIDE_CHECK_CUDA(
        cudaMemsetAsync(job.dst - kMargin, kCanary, static_cast<std::size_t>(job.dst_last + 2 * kMargin), stream_));
    try {
      run();
    } catch (const ArgumentError&) {
      return;
    }
    if (HasFatalFailure()) return;
    ASSERT_EQ(count_differences(job.dst, job.c.dst, job.expected, job.expected_layout, stream_), 0);
    ASSERT_EQ(count_bytes_other_than(job.dst - kMargin, kMargin, kCanary, stream_), 0) << "bytes before dst";
    ASSERT_EQ(count_bytes_other_than(job.dst + job.dst_last, kMargin, kCanary, stream_), 0) << "bytes behind dst";
    ++copies_;
  }

  Stream stream_;
  std::set<std::string_view> kernels_;
  int copies_ = 0;
};

/// `src` as rows of `cols` elements that lie `step` elements apart along the first mode: windows that overlap.
Layout windows(Element element, std::int64_t rows, std::int64_t cols, std::int64_t step) {
  const std::int64_t unit = element.size_bytes;
  return strided(element, std::vector<std::int64_t>{rows, cols}, std::vector<std::int64_t>{unit, step * unit});
}

TEST_F(GpuLarge, MoreThanTwoToThe31Elements) {
  const Element u8 = DType::kU8;
  const std::int64_t n = (std::int64_t{1} << 31) + 12345;
  check({"run", contiguous(u8, {n}), contiguous(u8, {n})});
  if (HasFatalFailure()) return;
  check({"rows", strided(u8, std::vector<std::int64_t>{70000, 33333}, std::vector<std::int64_t>{33335, 1}),
         strided(u8, std::vector<std::int64_t>{70000, 33333}, std::vector<std::int64_t>{33334, 1})});
  if (HasFatalFailure()) return;
  check({"tile", contiguous(u8, {46357, 46441}), permute(contiguous(u8, {46441, 46357}), {1, 0})});
  if (HasFatalFailure()) return;
  check({"packed", contiguous(u8, {3, 720000001}), permute(contiguous(u8, {720000001, 3}), {1, 0})});
  if (HasFatalFailure()) return;
  check({"two sides", contiguous(u8, {46341, 46349}),
         strided(u8, std::vector<std::int64_t>{46349, 46341}, std::vector<std::int64_t>{46342, 1})});
}

TEST_F(GpuLarge, MoreThan65535TilesAlongEachMode) {
  const Element f32 = DType::kF32;
  check({"long rows", contiguous(f32, {40, 5000000}), permute(contiguous(f32, {5000000, 40}), {1, 0})});
  if (HasFatalFailure()) return;
  check({"long columns", contiguous(f32, {5000000, 40}), permute(contiguous(f32, {40, 5000000}), {1, 0})});
  if (HasFatalFailure()) return;
  check({"many matrices", contiguous(f32, {70001, 33, 65}), permute(contiguous(f32, {70001, 65, 33}), {0, 2, 1})});
  if (HasFatalFailure()) return;
  check({"many rows", strided(f32, std::vector<std::int64_t>{3000001, 70}, std::vector<std::int64_t>{288, 4}),
         contiguous(f32, {3000001, 70})});
}

TEST_F(GpuLarge, RowsOfMoreThanTwoToThe32ElementsBecomeColumns) {
  const std::int64_t n = (std::int64_t{1} << 32) + 1000;
  check({"transposed", contiguous(DType::kU8, {n, 3}), permute(contiguous(DType::kU8, {3, n}), {1, 0})});
}

TEST_F(GpuLarge, ColumnsOfMoreThanTwoToThe32ElementsBecomeRows) {
  const std::int64_t n = (std::int64_t{1} << 32) + 1000;
  check({"transposed", contiguous(DType::kU8, {3, n}), permute(contiguous(DType::kU8, {n, 3}), {1, 0})});
}

TEST_F(GpuLarge, ModesThatThirtyTwoBitsHoldAndThirtyOneDoNot) {
  const std::int64_t n = 2400000007;
  check({"columns", contiguous(DType::kU8, {n, 3}), permute(contiguous(DType::kU8, {3, n}), {1, 0})});
  if (HasFatalFailure() || IsSkipped()) return;
  check({"rows", contiguous(DType::kU8, {3, n}), permute(contiguous(DType::kU8, {n, 3}), {1, 0})});
}

TEST_F(GpuLarge, ModesOfMoreThanTwoToThe32ElementsAreConverted) {
  const std::int64_t n = (std::int64_t{1} << 32) + 1000;
  check({"cast", contiguous(DType::kF16, {n, 2}), permute(contiguous(DType::kU8, {2, n}), {1, 0})});
}

TEST_F(GpuLarge, RowsOfSrcOfTwoGiBAreTransposedInTiles) {
  check({"words", contiguous(DType::kC128, {134217728, 2}), windows(DType::kC128, 134217728, 2, 4)});
  if (HasFatalFailure() || IsSkipped()) return;
  check({"words, and some more", contiguous(DType::kC128, {134218752, 2}), windows(DType::kC128, 134218752, 2, 4)});
  if (HasFatalFailure() || IsSkipped()) return;
  check({"8 bytes", contiguous(DType::kF64, {268436480, 4}), windows(DType::kF64, 268436480, 4, 4)});
  if (HasFatalFailure() || IsSkipped()) return;
  check({"4 bytes", contiguous(DType::kF32, {536871936, 4}), windows(DType::kF32, 536871936, 4, 4)});
  EXPECT_TRUE(IsSkipped() || ran("tile/aligned"));
}

TEST_F(GpuLarge, RowsOfSrcOfTwoGiBAreConvertedInTiles) {
  check({"cast", contiguous(DType::kF32, {268436480, 4}), windows(DType::kF64, 268436480, 4, 4)});
  EXPECT_TRUE(IsSkipped() || ran("tile/aligned"));
}

TEST_F(GpuLarge, RowsOfSrcOfTwoGiBAreMovedByChains) {
  const auto reversed = [](Element element, std::int64_t n) {
    return LargeCase{"reversed", contiguous(element, {n, 2, 2}), permute(contiguous(element, {2, 2, n}), {2, 1, 0})};
  };
  check(reversed(DType::kC128, 134218752));
  if (HasFatalFailure() || IsSkipped()) return;
  check(reversed(DType::kF64, 268436480));
  if (HasFatalFailure() || IsSkipped()) return;
  check(reversed(DType::kF32, 536870912));
  if (HasFatalFailure() || IsSkipped()) return;
  check(reversed(DType::kF32, 536871936));
  EXPECT_TRUE(IsSkipped() || ran("tile/chains"));
}

TEST_F(GpuLarge, RowsOfSrcOfTwoGiBGoByChainsUnasked) {
  check({"reversed", contiguous(DType::kF64, {268436480, 6, 4}),
         permute(contiguous(DType::kF64, {4, 6, 268436480}), {2, 1, 0})});
  EXPECT_TRUE(IsSkipped() || ran("tile/chains"));
}

}  // namespace
}  // namespace restride::test
