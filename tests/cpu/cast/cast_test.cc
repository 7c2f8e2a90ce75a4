#include "src/cpu/cast/cast.h"

#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "tests/base/every_cast.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace restride::cpu {
namespace {

using namespace base::test;

/// Runs each test once for every instruction set that this machine and this build share.
class CastOnEveryTarget : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

std::vector<std::int64_t> targets() {
  std::vector<std::int64_t> all;
  for (std::int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1)
    all.push_back(left & -left);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Targets, CastOnEveryTarget, testing::ValuesIn(targets()),
                         [](const auto& info) { return std::string(hwy::TargetName(info.param)); });

TEST_P(CastOnEveryTarget, EqualsConvertOnWholeRuns) {
  for_each_pair([](DType dst, DType src) {
    const Bytes in = sources(src);
    const Bytes want = reference(dst, src, in);
    Bytes got(want.size(), 0xa5);
    cast_run(dst, src)(got.data(), in.data(), in.size() / static_cast<std::size_t>(size_bytes(src)));
    EXPECT_EQ(difference(got, want, static_cast<std::size_t>(size_bytes(dst))), "") << pair_name(dst, src);
  });
}

TEST_P(CastOnEveryTarget, WritesExactlyNElementsAtAnyAlignment) {
  for_each_pair([](DType dst, DType src) {
    const auto dst_size = static_cast<std::size_t>(size_bytes(dst));
    const auto src_size = static_cast<std::size_t>(size_bytes(src));
    const Bytes in = sources(src);
    const Bytes want = reference(dst, src, in);
    constexpr std::size_t kMost = 131;  // two whole steps of 64 elements and a tail
    for (std::size_t n = 0; n <= kMost; ++n) {
      const std::size_t shift = n % 7;
      const std::size_t first = (n * 31) % (in.size() / src_size - kMost);
      const Bytes shifted = [&] {
        Bytes b(shift);  // ends with the last element, so that a sanitizer sees any read beyond it
        b.insert(b.end(), in.begin() + static_cast<std::ptrdiff_t>(first * src_size),
                 in.begin() + static_cast<std::ptrdiff_t>((first + n) * src_size));
        return b;
      }();
      Bytes got(shift + n * dst_size + 64, 0xa5);
      cast_run(dst, src)(got.data() + shift, shifted.data() + shift, n);
      Bytes expected(got.size(), 0xa5);
      std::memcpy(expected.data() + shift, want.data() + first * dst_size, n * dst_size);
      ASSERT_EQ(got, expected) << pair_name(dst, src) << " n " << n;
    }
  });
}

TEST_P(CastOnEveryTarget, RoundsToBf16WithAndWithoutItsInstructions) {
  const Bytes in = sources(DType::kF32);
  const Bytes want = reference(DType::kBF16, DType::kF32, in);
  for (const bool with_bf16 : {true, false}) {
    Bytes got(want.size(), 0xa5);
    cast_run(DType::kBF16, DType::kF32, with_bf16)(got.data(), in.data(), in.size() / sizeof(float));
    EXPECT_EQ(difference(got, want, 2), "") << with_bf16;
  }
  // Vectors without subnormals, which the instructions round themselves, each value in each lane.
  const std::uint32_t values[] = {0x3f80'7fff, 0x3f80'8000, 0x3f81'8000, 0xbf80'8001, 0x7f7f'ffff,
                                  0x7f80'0001, 0xff80'0000, 0x0080'0000, 0x8000'0000};
  for (std::size_t shift = 0; shift < std::size(values); ++shift) {
    Bytes normal(96 * sizeof(float));
    for (std::size_t i = 0; i < 96; ++i)
      std::memcpy(&normal[4 * i], &values[(i + shift) % std::size(values)], sizeof(float));
    const Bytes rounded = reference(DType::kBF16, DType::kF32, normal);
    for (const bool with_bf16 : {true, false}) {
      Bytes got(rounded.size(), 0xa5);
      cast_run(DType::kBF16, DType::kF32, with_bf16)(got.data(), normal.data(), 96);
      EXPECT_EQ(difference(got, rounded, 2), "") << with_bf16 << " shift " << shift;
    }
  }
}

#if defined(__SSE2__)
TEST_P(CastOnEveryTarget, KeepsSubnormalsOfBf16WhereTheThreadTakesThemForZero) {
  const std::vector<std::uint32_t> in(96, 0x0070'0000);
  std::vector<std::uint16_t> got(in.size());
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);
  cast_run(DType::kBF16, DType::kF32)(got.data(), in.data(), in.size());
  _mm_setcsr(before);
  EXPECT_EQ(got, std::vector<std::uint16_t>(in.size(), 0x70));
}
#endif

/// True for the bits of a signalling NaN; f8e4m3 has no such.
bool is_signalling(DType real, std::uint64_t bits) {
  const auto between = [bits](std::uint64_t infinity, std::uint64_t quiet) {
    const std::uint64_t magnitude = bits & (quiet | (quiet - 1));
    return magnitude > infinity && magnitude < quiet;
  };
  switch (real) {
    case DType::kF16: return between(0x7c00, 0x7e00);
    case DType::kBF16: return between(0x7f80, 0x7fc0);
    case DType::kF8E5M2: return between(0x7c, 0x7e);
    case DType::kF32: return between(0x7f80'0000, 0x7fc0'0000);
    case DType::kF64: return between(0x7ff0'0000'0000'0000, 0x7ff8'0000'0000'0000);
    default: return false;
  }
}

DType part_of(DType t) { return t == DType::kC64 ? DType::kF32 : t == DType::kC128 ? DType::kF64 : t; }

std::size_t signalling_parts(DType t, const Bytes& bytes) {
  const auto size = static_cast<std::size_t>(size_bytes(part_of(t)));
  std::size_t found = 0;
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &bytes[at], size);
    found += is_signalling(part_of(t), bits);
  }
  return found;
}

TEST_P(CastOnEveryTarget, LeavesNoNanSignalling) {
  int pairs = 0;
  for_each_pair([&pairs](DType dst, DType src) {
    const Bytes in = sources(src);
    if (dst == src || signalling_parts(src, in) == 0) return;
    Bytes out(in.size() / static_cast<std::size_t>(size_bytes(src)) * static_cast<std::size_t>(size_bytes(dst)));
    cast_run(dst, src)(out.data(), in.data(), in.size() / static_cast<std::size_t>(size_bytes(src)));
    EXPECT_EQ(signalling_parts(dst, out), 0u) << pair_name(dst, src);
    ++pairs;
  });
  EXPECT_EQ(pairs, 5 * 16 + 2) << "five floats to all other dtypes, and each complex one to the other";
}

TEST(CastStrided, EqualsConvertForAnyStrides) {
  for_each_pair([](DType dst, DType src) {
    const auto dst_size = static_cast<std::size_t>(size_bytes(dst));
    const auto src_size = static_cast<std::size_t>(size_bytes(src));
    const Bytes in = sources(src);
    const Bytes want = reference(dst, src, in);
    constexpr std::size_t kCount = 50;
    Bytes got(kCount * (dst_size + 3), 0xa5);
    const auto step = static_cast<std::ptrdiff_t>(dst_size + 3);
    cast_strided(dst, src)(got.data(), step, in.data() + (kCount - 1) * src_size,
                           -static_cast<std::ptrdiff_t>(src_size), kCount);
    Bytes expected(got.size(), 0xa5);
    for (std::size_t i = 0; i < kCount; ++i)
      std::memcpy(&expected[i * (dst_size + 3)], &want[(kCount - 1 - i) * dst_size], dst_size);
    ASSERT_EQ(got, expected) << pair_name(dst, src);
    cast_strided(dst, src)(got.data(), step, in.data() + 9 * src_size, 0, kCount);
    for (std::size_t i = 0; i < kCount; ++i)
      ASSERT_EQ(std::memcmp(&got[i * (dst_size + 3)], &want[9 * dst_size], dst_size), 0) << pair_name(dst, src);
  });
}

TEST(CastRun, IsNullWhereTheCastIsRefused) {
  EXPECT_EQ(cast_run(DType::kF32, DType::kC64), nullptr);
  EXPECT_EQ(cast_run(DType::kBool, DType::kC128), nullptr);
  EXPECT_EQ(cast_run(DType::kBytes, DType::kU8), nullptr);
  EXPECT_EQ(cast_strided(DType::kU8, DType::kBytes), nullptr);
}

}  // namespace
}  // namespace restride::cpu
