#include "tools/bench/check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <restride/restride.hpp>

#include "tools/bench/host_memory.h"
#include "tools/bench/reference_cast.h"

namespace restride::bench {
namespace {

/// A right output over poisoned, guarded memory, for tests to spoil.
struct Output {
  Layout dst, src;
  std::vector<std::byte> in, guarded;

  Output(const std::string& dst_text, const std::string& src_text, std::int64_t bytes)
      : dst(parse_layout(dst_text)), src(parse_layout(src_text)), in(4096), guarded(bytes + 2 * kGuardBytes, kPoison) {
    fill_random(in, 7);
    Options options;
    options.reshape = true;
    copy({data(), dst}, ConstTensor{in.data(), src}, options);
  }
  std::byte* data() { return guarded.data() + kGuardBytes; }
  std::optional<std::string> fault() { return find_fault(data(), dst, in.data(), src, guarded); }
};

TEST(FindFault, FindsNoneInARightOutput) {
  EXPECT_EQ(Output("f32 (16,8):(8,1)", "f32 (16,8):(1,16)", 512).fault(), std::nullopt);
  EXPECT_EQ(Output("b3 (16,8):(8,1)", "b3 (16,8):(1,16)", 384).fault(), std::nullopt);
  EXPECT_EQ(Output("f16 (16,8):(9,1)", "f32 (16,8):(1,16)", 288).fault(), std::nullopt);
  EXPECT_EQ(Output("f32 (128):(1)", "f32 (16,8):(1,16)", 512).fault(), std::nullopt);
}

TEST(FindFault, FindsOneWrongByte) {
  Output out("u8 (16,8):(8,1)", "u8 (16,8):(1,16)", 128);
  out.data()[77] ^= std::byte{1};
  EXPECT_EQ(out.fault(), "element 77 of 128 (C order) is wrong");
}

TEST(FindFault, FindsAnElementThatNobodyWroteForEveryInput) {
  Output out("u8 (16,8):(8,1)", "u8 (16,8):(1,16)", 128);
  for (const std::byte b : out.in) EXPECT_NE(b, kPoison);
  out.data()[5] = kPoison;
  EXPECT_TRUE(out.fault().has_value());
}

TEST(FindFault, FindsWritesIntoTheGapsAndTheGuards) {
  Output gap("u8 (4,8):(16,1)", "u8 (4,8):(1,4)", 64);
  gap.data()[9] = std::byte{0};
  EXPECT_EQ(gap.fault(), "bytes outside the destination's elements were written");
  Output guard("u8 (4,8):(8,1)", "u8 (4,8):(1,4)", 32);
  guard.guarded.back() = std::byte{0};
  EXPECT_TRUE(guard.fault().has_value());
}

template <class To, class From>
To cast_one(DType to, DType from, From value) {
  To out{};
  reference_cast(reinterpret_cast<std::byte*>(&out), to, reinterpret_cast<const std::byte*>(&value), from);
  return out;
}

TEST(ReferenceCast, RoundsFloatsToNearestEven) {
  EXPECT_EQ((cast_one<std::uint16_t>(DType::kF16, DType::kF32, 1.0f)), 0x3C00);
  EXPECT_EQ((cast_one<std::uint16_t>(DType::kF16, DType::kF32, 1.0f + 0x1p-11f)), 0x3C00);      // a tie, to even
  EXPECT_EQ((cast_one<std::uint16_t>(DType::kF16, DType::kF32, 1.0f + 3 * 0x1p-11f)), 0x3C02);  // a tie, to even
  EXPECT_EQ((cast_one<std::uint16_t>(DType::kF16, DType::kF32, 65520.0f)), 0x7C00);             // rounds to infinity
  EXPECT_EQ((cast_one<std::uint16_t>(DType::kF16, DType::kF32, 0x1p-24f)), 0x0001);             // the least subnormal
  EXPECT_EQ((cast_one<std::uint16_t>(DType::kF16, DType::kF32, 0x1p-25f)), 0x0000);
  EXPECT_EQ((cast_one<std::uint16_t>(DType::kBF16, DType::kF32, -1.00390625f)), 0xBF80);  // a tie, to even
  EXPECT_EQ((cast_one<float>(DType::kF32, DType::kF16, std::uint16_t{0xFBFF})), -65504.0f);
  EXPECT_EQ((cast_one<float>(DType::kF32, DType::kF64, 1e300)), std::numeric_limits<float>::infinity());
}

TEST(ReferenceCast, OverflowsEightBitFloatsAsMlDtypesDoes) {
  EXPECT_EQ((cast_one<std::uint8_t>(DType::kF8E4M3, DType::kF32, 448.0f)), 0x7E);
  EXPECT_EQ((cast_one<std::uint8_t>(DType::kF8E4M3, DType::kF32, 464.0f)), 0x7E);  // a tie, to even
  EXPECT_EQ((cast_one<std::uint8_t>(DType::kF8E4M3, DType::kF32, 465.0f)), 0x7F);  // NaN
  EXPECT_EQ((cast_one<std::uint8_t>(DType::kF8E5M2, DType::kF32, 1e6f)), 0x7C);    // infinity
  EXPECT_EQ((cast_one<float>(DType::kF32, DType::kF8E4M3, std::uint8_t{0x01})), 0x1p-9f);
}

TEST(ReferenceCast, TruncatesAndSaturatesFloatsButWrapsIntegers) {
  EXPECT_EQ((cast_one<std::uint8_t>(DType::kU8, DType::kF32, -3.0f)), 0);
  EXPECT_EQ((cast_one<std::uint8_t>(DType::kU8, DType::kF32, 254.9f)), 254);
  EXPECT_EQ((cast_one<std::uint8_t>(DType::kU8, DType::kF32, 1e9f)), 255);
  EXPECT_EQ((cast_one<std::int32_t>(DType::kI32, DType::kF32, std::nanf(""))), 0);
  EXPECT_EQ((cast_one<std::int64_t>(DType::kI64, DType::kU64, ~std::uint64_t{0})), -1);  // wraps
  EXPECT_EQ((cast_one<std::uint8_t>(DType::kU8, DType::kI16, std::int16_t{-2})), 254);
  EXPECT_EQ((cast_one<std::uint8_t>(DType::kBool, DType::kF32, 0.25f)), 1);
  EXPECT_EQ((cast_one<std::int64_t>(DType::kI64, DType::kBool, std::uint8_t{2})), 1);  // any byte but 0 is true
}

TEST(ReferenceCast, TakesAnyBitOfABoolForTrue) {
  EXPECT_EQ((cast_one<float>(DType::kF32, DType::kBool, std::uint8_t{0x40})), 1.0f);
  EXPECT_EQ((cast_one<std::int32_t>(DType::kI32, DType::kBool, std::uint8_t{0x80})), 1);
  EXPECT_EQ((cast_one<std::uint8_t>(DType::kU8, DType::kBool, std::uint8_t{0})), 0);
}

TEST(ReferenceCast, AgreesWithTheLibraryOnEveryPairOfDtypes) {
  for (int from = 0; from < kDTypeCount; ++from) {
    for (int to = 0; to < kDTypeCount; ++to) {
      const Element src(static_cast<DType>(from)), dst(static_cast<DType>(to));
      if (src == dst || !castable(dst, src)) continue;
      std::vector<std::byte> in(256 * 16), guarded(256 * 16 + 2 * kGuardBytes, kPoison);
      fill_random(in, static_cast<std::uint64_t>(from * 100 + to));
      const Layout a = contiguous(dst, {256}), b = contiguous(src, {256});
      copy({guarded.data() + kGuardBytes, a}, ConstTensor{in.data(), b});
      EXPECT_EQ(find_fault(guarded.data() + kGuardBytes, a, in.data(), b, guarded), std::nullopt)
          << to_string(src) << " to " << to_string(dst);
    }
  }
}

}  // namespace
}  // namespace restride::bench
