#include "src/base/convert.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace restride::base {
namespace {

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                  std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                                     std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
template <class T>
T from_bits(std::uint64_t bits) {
  return std::bit_cast<T>(static_cast<BitsOf<T>>(bits));
}
template <class T>
std::uint64_t to_bits(T value) {
  return std::bit_cast<BitsOf<T>>(value);
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// ---- A second opinion that shares no code with convert.h: decode by ldexp, encode by search. ----

template <class Small>
double value_of(std::uint32_t magnitude) {
  using F = Format<Small>;
  const int exponent = static_cast<int>(magnitude >> F::kMantissaBits);
  const int mantissa = static_cast<int>(magnitude & ((1u << F::kMantissaBits) - 1));
  const int units = exponent == 0 ? mantissa : mantissa + (1 << F::kMantissaBits);
  return std::ldexp(units, std::max(exponent, 1) - F::kBias - F::kMantissaBits);
}

/// The magnitude code nearest to x >= 0, a number; the code after the largest finite one stands for overflow.
template <class Small>
std::uint32_t nearest_code(long double x) {
  using F = Format<Small>;
  std::uint32_t low = 0;
  std::uint32_t high = F::kMaxFinite + 1;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (value_of<Small>(middle) <= x ? low : high) = middle;
  }
  const long double below = value_of<Small>(low);
  const long double above = value_of<Small>(low + 1);
  if (x - below > above - x || (x - below == above - x && low % 2 == 1)) ++low;
  return low;
}

template <class Small>
class SmallFloat : public testing::Test {};
using SmallFloats = testing::Types<F16, BF16, F8E4M3, F8E5M2>;
TYPED_TEST_SUITE(SmallFloat, SmallFloats);

TYPED_TEST(SmallFloat, WidensEveryCodeExactly) {
  using F = Format<TypeParam>;
  for (std::uint32_t code = 0; code <= (F::kMagnitude << 1 | 1u); ++code) {
    const float got = widen(from_bits<TypeParam>(code));
    const std::uint32_t magnitude = code & F::kMagnitude;
    ASSERT_EQ(std::signbit(got), code > F::kMagnitude) << code;
    if (magnitude <= F::kMaxFinite)
      ASSERT_EQ(std::fabs(got), value_of<TypeParam>(magnitude)) << code;
    else if (F::kHasInfinity && magnitude == F::kInf)
      ASSERT_TRUE(std::isinf(got)) << code;
    else
      ASSERT_TRUE(std::isnan(got)) << code;
  }
}

TYPED_TEST(SmallFloat, ComesBackFromWiderFloatsUnchangedButForQuietedNans) {
  using F = Format<TypeParam>;
  for (std::uint32_t code = 0; code <= (F::kMagnitude << 1 | 1u); ++code) {
    const bool nan = (code & F::kMagnitude) > (F::kHasInfinity ? F::kInf : F::kMaxFinite);
    const std::uint32_t want = nan ? code | F::kQuiet : code;
    const auto small = from_bits<TypeParam>(code);
    ASSERT_EQ(convert<TypeParam>(convert<float>(small)).bits, want);
    ASSERT_EQ(convert<TypeParam>(convert<double>(small)).bits, want);
  }
}

TYPED_TEST(SmallFloat, RoundsFloatsAndDoublesNextToEveryTieOnce) {
  using F = Format<TypeParam>;
  for (std::uint32_t code = 0; code <= F::kMaxFinite; ++code) {
    const double tie = (value_of<TypeParam>(code) + value_of<TypeParam>(code + 1)) / 2;
    const auto check = [&](auto x) {
      const std::uint32_t want = nearest_code<TypeParam>(x);
      ASSERT_EQ(convert<TypeParam>(x).bits, want) << std::hexfloat << x;
      ASSERT_EQ(convert<TypeParam>(-x).bits, want | (F::kMagnitude + 1)) << std::hexfloat << -x;
    };
    check(tie);
    check(std::nextafter(tie, 0.0));
    check(std::nextafter(tie, 1e300));
    const auto tie32 = static_cast<float>(tie);
    check(tie32);
    check(std::nextafter(tie32, 0.0f));
    check(std::nextafter(tie32, kInf));
  }
}

TYPED_TEST(SmallFloat, RoundsIntegersOnce) {
  for (int shift = 4; shift < 64; ++shift)
    for (std::uint64_t top :
         {0x10ull, 0x11ull, 0x1full, 0x80ull, 0x81ull, 0x101ull, 0x103ull, 0x1ffull, 0x801ull, 0x803ull})
      for (std::uint64_t low : {~0ull, 0ull, 1ull}) {
        const std::uint64_t x = (top << (shift % 56)) + low;
        const std::uint32_t sign = Format<TypeParam>::kMagnitude + 1;
        ASSERT_EQ(convert<TypeParam>(x).bits, nearest_code<TypeParam>(static_cast<long double>(x))) << x;
        const auto narrower = static_cast<std::uint32_t>(x);
        ASSERT_EQ(convert<TypeParam>(narrower).bits, nearest_code<TypeParam>(narrower)) << narrower;
        const auto y = -static_cast<std::int64_t>(x >> 1);
        ASSERT_EQ(convert<TypeParam>(y).bits,
                  y == 0 ? 0 : sign | nearest_code<TypeParam>(static_cast<long double>(x >> 1)))
            << y;
      }
}

TYPED_TEST(SmallFloat, OverflowsToInfinityOrItsNan) {
  using F = Format<TypeParam>;
  const std::uint32_t sign = F::kMagnitude + 1;
  for (double x : {3.4e38 * 1.1, 1e300, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(convert<TypeParam>(x).bits, F::kOverflow);
    EXPECT_EQ(convert<TypeParam>(-x).bits, sign | F::kOverflow);
  }
  EXPECT_EQ(convert<TypeParam>(kInf).bits, F::kOverflow);
  EXPECT_EQ(convert<TypeParam>(-kInf).bits, sign | F::kOverflow);
}

// ---- Special values ----

TEST(Convert, KeepsSignAndUpperPayloadOfNansAndMakesThemQuiet) {
  const float signalling = std::bit_cast<float>(0xffa5'4321u);
  EXPECT_EQ(to_bits(convert<double>(signalling)), 0xfffc'a864'2000'0000u);
  EXPECT_EQ(convert<F16>(signalling).bits, 0xff2a);
  EXPECT_EQ(convert<BF16>(signalling).bits, 0xffe5);
  EXPECT_EQ(convert<F8E5M2>(signalling).bits, 0xff);
  EXPECT_EQ(convert<F8E4M3>(signalling).bits, 0xff);
  const double low_payload = std::bit_cast<double>(0x7ff0'0000'0000'0001u);
  EXPECT_EQ(to_bits(convert<float>(low_payload)), 0x7fc0'0000u);
  EXPECT_EQ(convert<F16>(low_payload).bits, 0x7e00);
  EXPECT_EQ(convert<F8E5M2>(F8E4M3{0xff}).bits, 0xfe);
  EXPECT_EQ(to_bits(convert<float>(F16{0x7c01})), 0x7fc0'2000u);
}

TEST(Convert, MakesANanQuietThatBecomesAComplexNumberOfItsOwnWidth) {
  const auto single = convert<Complex<float>>(std::bit_cast<float>(0xff80'0001u));
  EXPECT_EQ(to_bits(single.re), 0xffc0'0001u);
  EXPECT_EQ(to_bits(single.im), 0u);
  const auto twice = convert<Complex<double>>(std::bit_cast<double>(0x7ff0'0000'0000'0001u));
  EXPECT_EQ(to_bits(twice.re), 0x7ff8'0000'0000'0001u);
  EXPECT_EQ(to_bits(twice.im), 0u);
  EXPECT_EQ(to_bits(convert<Complex<float>>(-std::numeric_limits<float>::infinity()).re), 0xff80'0000u);
  EXPECT_EQ(to_bits(convert<Complex<double>>(-0.0).re), 0x8000'0000'0000'0000u);
}

TEST(Convert, KeepsNegativeZero) {
  EXPECT_EQ(convert<F16>(-0.0f).bits, 0x8000);
  EXPECT_EQ(convert<F8E4M3>(-0.0).bits, 0x80);
  EXPECT_EQ(to_bits(convert<float>(BF16{0x8000})), 0x8000'0000u);
  EXPECT_EQ(to_bits(convert<float>(-1e-300)), 0x8000'0000u);
}

TEST(Convert, OverflowsF8E4M3ToNanOnlyBeyondTheTieAboveItsLargest) {
  EXPECT_EQ(convert<F8E4M3>(464.0f).bits, 0x7e);
  EXPECT_EQ(convert<F8E4M3>(464.0625f).bits, 0x7f);
  EXPECT_EQ(convert<F8E5M2>(61439.0f).bits, 0x7b);
  EXPECT_EQ(convert<F8E5M2>(61440.0f).bits, 0x7c);
}

template <class Int, class Float>
void expect_saturation() {
  constexpr Int kLow = std::numeric_limits<Int>::min();
  constexpr Int kHigh = std::numeric_limits<Int>::max();
  EXPECT_EQ(convert<Int>(std::numeric_limits<Float>::infinity()), kHigh);
  EXPECT_EQ(convert<Int>(-std::numeric_limits<Float>::infinity()), kLow);
  EXPECT_EQ(convert<Int>(std::numeric_limits<Float>::quiet_NaN()), 0);
  EXPECT_EQ(convert<Int>(-std::numeric_limits<Float>::quiet_NaN()), 0);
  const Float beyond = std::ldexp(Float{1}, std::numeric_limits<Int>::digits);
  EXPECT_EQ(convert<Int>(beyond), kHigh);
  EXPECT_EQ(convert<Int>(-2 * beyond), kLow);
  const Float inside = std::nextafter(beyond, Float{0});
  EXPECT_EQ(convert<Int>(inside), static_cast<Int>(inside));
  EXPECT_EQ(convert<Int>(Float(2.99)), 2);
  EXPECT_EQ(convert<Int>(Float(-2.99)), std::is_signed_v<Int> ? static_cast<Int>(-2) : 0);
  EXPECT_EQ(convert<Int>(Float(-0.5)), 0);
  EXPECT_EQ(convert<Int>(static_cast<Float>(kLow)), kLow);
  EXPECT_EQ(convert<Int>(static_cast<Float>(kLow) - Float(0.5)), kLow);
}

template <class Int>
class Integer : public testing::Test {};
using Integers = testing::Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, std::int8_t, std::int16_t,
                                std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(Integer, Integers);

TYPED_TEST(Integer, TruncatesAndSaturatesFloats) {
  expect_saturation<TypeParam, float>();
  expect_saturation<TypeParam, double>();
}

TEST(Convert, WrapsIntegersAsCDoes) {
  EXPECT_EQ(convert<std::uint8_t>(std::int32_t{-1}), 255);
  EXPECT_EQ(convert<std::int8_t>(std::uint64_t{0x1'0000'0080}), -128);
  EXPECT_EQ(convert<std::uint64_t>(std::int8_t{-1}), ~0ull);
}

TEST(Convert, TakesEverythingButZeroForTrue) {
  EXPECT_EQ(convert<Bool>(kNan).bits, 1);
  EXPECT_EQ(convert<Bool>(-0.0).bits, 0);
  EXPECT_EQ(convert<Bool>(1e-45f).bits, 1);
  EXPECT_EQ(convert<Bool>(F16{0x8000}).bits, 0);
  EXPECT_EQ(convert<Bool>(F8E4M3{0x7f}).bits, 1);
  EXPECT_EQ(convert<Bool>(std::int64_t{1} << 40).bits, 1);
  EXPECT_EQ(convert<float>(Bool{7}), 1.0f);
  EXPECT_EQ(convert<std::int8_t>(Bool{0x80}), 1);
}

TEST(Convert, GivesRealNumbersAZeroImaginaryPart) {
  const auto z = convert<Complex<float>>(std::int8_t{-3});
  EXPECT_EQ(z.re, -3.0f);
  EXPECT_EQ(to_bits(z.im), 0u);
  const auto w = convert<Complex<double>>(Complex<float>{1.5f, -2.5f});
  EXPECT_EQ(w.re, 1.5);
  EXPECT_EQ(w.im, -2.5);
}

// ---- Golden values: NumPy and ml_dtypes, see make_casts_golden.py ----

std::uint64_t splitmix(std::uint64_t index) {
  std::uint64_t z = (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// The i-th source of the stream, as `codes` in the generator makes it.
template <class Src>
Src stream(std::uint64_t i) {
  if constexpr (sizeof(Src) <= 2) return from_bits<Src>(i);
  const std::uint64_t a = splitmix(2 * i);
  const std::uint64_t b = splitmix(2 * i + 1);
  const auto bit = [&](int k) { return (b >> k & 1) != 0; };
  const auto cut = [&](std::uint64_t v, std::uint64_t places) {
    return bit(8) ? v & ~((std::uint64_t{1} << ((b >> 16) % places)) - 1) : v;
  };
  const auto stick = [&](std::uint64_t v) { return v | (bit(9) ? 1u : 0u); };
  if constexpr (std::is_integral_v<Src>) {
    constexpr int kWidth = 8 * sizeof(Src);
    const std::uint64_t v = stick(cut((a >> (64 - kWidth)) >> (b % kWidth), kWidth));
    return from_bits<Src>(bit(10) ? 0 - v : v);
  } else {
    constexpr int kMantissa = sizeof(Src) == 4 ? 23 : 52;
    constexpr int kExponent = sizeof(Src) == 4 ? 8 : 11;
    const std::uint64_t m = stick(cut(a & ((std::uint64_t{1} << kMantissa) - 1), kMantissa));
    const std::uint64_t field = b >> 32;
    const std::uint64_t e =
        (b & 7) == 0 ? field & ((1u << kExponent) - 1) : ((1u << (kExponent - 1)) - 31) + field % 64;
    return from_bits<Src>((a >> 63) << (kMantissa + kExponent) | e << kMantissa | m);
  }
}

template <class Part>
Part nan_to_ones(Part part) {
  if constexpr (kIsSmallFloat<Part>)
    return std::isnan(widen(part)) ? from_bits<Part>(~0ull) : part;
  else if constexpr (std::is_floating_point_v<Part>)
    return std::isnan(part) ? from_bits<Part>(~0ull) : part;
  else
    return part;
}

struct HashCast {
  using Fn = std::uint64_t (*)(std::uint64_t count);
  template <class Dst, class Src>
  static std::uint64_t run(std::uint64_t count) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (std::uint64_t i = 0; i < count; ++i) {
      Dst dst = convert<Dst>(stream<Src>(i));
      if constexpr (kIsComplex<Dst>)
        dst = {nan_to_ones(dst.re), nan_to_ones(dst.im)};
      else
        dst = nan_to_ones(dst);
      unsigned char bytes[sizeof(Dst)];
      std::memcpy(bytes, &dst, sizeof(Dst));
      for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3u;
    }
    return hash;
  }
  template <class Dst, class Src>
  static constexpr Fn get() {
    if constexpr (kIsComplex<Src>)
      return nullptr;
    else
      return &run<Dst, Src>;
  }
};

TEST(Convert, AgreesWithNumpyAndMlDtypes) {
  static constexpr auto kHash = make_cast_table<HashCast::Fn, HashCast>();
  std::map<std::string, DType, std::less<>> by_name;
  for (int t = 0; t < kDTypeCount; ++t) by_name[std::string(name(static_cast<DType>(t)))] = static_cast<DType>(t);
  std::ifstream file(RESTRIDE_TEST_DATA "/base/casts_golden.txt");
  ASSERT_TRUE(file) << "tests/base/casts_golden.txt is missing";
  int rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream row(line);
    std::string dst, src;
    std::uint64_t count = 0, want = 0;
    row >> dst >> src >> count >> std::hex >> want;
    EXPECT_EQ(kHash(by_name.at(dst), by_name.at(src))(count), want) << dst << " from " << src;
    ++rows;
  }
  EXPECT_EQ(rows, 15 * 16) << "15 real sources, 16 other dtypes each";
}

// ---- The table ----

TEST(CastTable, HoldsAFunctionExactlyWhereTheCastExists) {
  static constexpr auto kHash = make_cast_table<HashCast::Fn, HashCast>();
  for (int d = 0; d < kDTypeCount; ++d)
    for (int s = 0; s < kDTypeCount; ++s) {
      const auto dst = static_cast<DType>(d);
      const auto src = static_cast<DType>(s);
      if (kind(src) == DTypeKind::kComplex) continue;
      EXPECT_EQ(kHash(dst, src) != nullptr, castable(dst, src));
    }
  EXPECT_EQ(kHash(DType::kF32, DType::kC64), nullptr);
  EXPECT_EQ(kHash(DType::kBytes, DType::kU8), nullptr);
}

static_assert(convert<F16>(1.0f).bits == 0x3c00, "conversions are constant expressions");
static_assert(convert<std::uint8_t>(-3.5f) == 0);

}  // namespace
}  // namespace restride::base
