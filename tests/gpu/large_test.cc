// Sizes past 32 bits and past the grid's limits: more than 2^31 elements, more than 65535 tiles along every mode.
// Tagged Large: needs about 20 GiB of device memory. RESTRIDE_LARGE=0 leaves it out.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

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
    std::size_t free = 0, total = 0;
    RESTRIDE_CHECK_CUDA(cudaMemGetInfo(&free, &total));
    if (free < (std::size_t{24} << 30)) GTEST_SKIP() << "needs 24 GiB of free device memory";
  }

  /// The default and every family that claims the layouts (gather too, slow as it is there).
  void check(const LargeCase& c) {
    SCOPED_TRACE(std::string(c.what) + ": " + to_string(c.src) + " -> " + to_string(c.dst));
    const auto [dst_first, dst_last] = byte_range(c.dst);
    const auto [src_first, src_last] = byte_range(c.src);
    ASSERT_EQ(dst_first, 0);
    ASSERT_EQ(src_first, 0);
    DeviceBuffer src(static_cast<std::size_t>(src_last + 8)), dst(static_cast<std::size_t>(dst_last + 2 * kMargin));
    fill_hashed(src.data(), src_last + 8, 99, stream_);
    std::byte* to = dst.data() + kMargin;
    for (const std::string_view family :
         {std::string_view{}, kFamilies[0], kFamilies[1], kFamilies[2], kFamilies[3], kFamilies[4]}) {
      SCOPED_TRACE("family " + std::string(family));
      RESTRIDE_CHECK_CUDA(cudaMemsetAsync(dst.data(), kCanary, dst.bytes(), stream_));
      Options options;
      options.stream = static_cast<cudaStream_t>(stream_);
      options.family = family;
      try {
        copy(Tensor{to, c.dst}, ConstTensor{src.data(), c.src}, options);
      } catch (const ArgumentError&) {
        continue;
      }
      ASSERT_EQ(count_differences(to, c.dst, src.data(), c.src, stream_), 0);
      ASSERT_EQ(count_bytes_other_than(dst.data(), kMargin, kCanary, stream_), 0) << "bytes before dst";
      ASSERT_EQ(count_bytes_other_than(to + dst_last, kMargin, kCanary, stream_), 0) << "bytes behind dst";
      ++copies_;
    }
  }
  void TearDown() override { std::printf("%d large copies\n", copies_); }

  Stream stream_;
  int copies_ = 0;
};

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

}  // namespace
}  // namespace restride::test
