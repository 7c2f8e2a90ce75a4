#include "tools/bench/reference_cast.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace restride::bench {
namespace {

// 64 mantissa bits or more hold every integer of 64 bits and every float here; where long double is a double
// (not on x86-64 or Arm Linux), integers above 2^53 would be rounded.
using Wide = long double;

/// A binary float format smaller than f32.
struct SmallFloat {
  int bytes, exponent_bits, mantissa_bits;
  bool has_infinity;
};
constexpr SmallFloat kF16{2, 5, 10, true}, kBF16{2, 8, 7, true}, kF8E5M2{1, 5, 2, true}, kF8E4M3{1, 4, 3, false};

const SmallFloat* small_float(DType t) noexcept {
  switch (t) {
    case DType::kF16: return &kF16;
    case DType::kBF16: return &kBF16;
    case DType::kF8E4M3: return &kF8E4M3;
    case DType::kF8E5M2: return &kF8E5M2;
    default: return nullptr;
  }
}

Wide decode_small(const std::byte* p, const SmallFloat& f) noexcept {
  std::uint16_t bits = 0;
  std::memcpy(&bits, p, static_cast<std::size_t>(f.bytes));
  const int mantissa = bits & ((1 << f.mantissa_bits) - 1);
  const int exponent = (bits >> f.mantissa_bits) & ((1 << f.exponent_bits) - 1);
  const int top = (1 << f.exponent_bits) - 1;
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const bool negative = (bits >> (f.mantissa_bits + f.exponent_bits)) & 1;
  Wide value = 0;
  if (exponent == top && f.has_infinity) {
    value = mantissa == 0 ? std::numeric_limits<Wide>::infinity() : std::numeric_limits<Wide>::quiet_NaN();
  } else if (exponent == top && mantissa == (1 << f.mantissa_bits) - 1) {
    value = std::numeric_limits<Wide>::quiet_NaN();  // e4m3 has one NaN a sign and no infinity
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<Wide>(mantissa), 1 - bias - f.mantissa_bits);
  } else {
    value = std::ldexp(static_cast<Wide>(mantissa + (1 << f.mantissa_bits)), exponent - bias - f.mantissa_bits);
  }
  return negative ? -value : value;
}

void encode_small(std::byte* p, const SmallFloat& f, Wide value) noexcept {
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const int top = (1 << f.exponent_bits) - 1;
  const int nan = top << f.mantissa_bits | (f.has_infinity ? 1 << (f.mantissa_bits - 1) : (1 << f.mantissa_bits) - 1);
  const int infinity = f.has_infinity ? top << f.mantissa_bits : nan;
  int bits = 0;
  if (std::isnan(value)) {
    bits = nan;
  } else if (std::isinf(value)) {
    bits = infinity;
  } else if (value != 0) {
    int exponent = 0;
    std::frexp(value, &exponent);  // |value| in [2^(exponent-1), 2^exponent)
    const int scale = std::max(exponent - 1, 1 - bias) - f.mantissa_bits;
    // The current rounding mode is to nearest even. A carry out of the mantissa raises the exponent by itself.
    const auto steps = static_cast<std::int64_t>(std::nearbyint(std::ldexp(std::fabs(value), -scale)));
    const std::int64_t whole =
        steps + (static_cast<std::int64_t>(scale + f.mantissa_bits + bias - 1) << f.mantissa_bits);
    const int largest = infinity - 1;
    bits = whole > largest ? infinity : static_cast<int>(whole);
  }
  if (std::signbit(value)) bits |= 1 << (f.mantissa_bits + f.exponent_bits);
  const auto out = static_cast<std::uint16_t>(bits);
  std::memcpy(p, &out, static_cast<std::size_t>(f.bytes));
}

/// Calls f with a value of the C++ type that holds `t`; small floats and complex numbers are not among them.
template <class F>
auto with_type(DType t, F&& f) {
  switch (t) {
    case DType::kBool:
    case DType::kU8: return f(std::uint8_t{});
    case DType::kU16: return f(std::uint16_t{});
    case DType::kU32: return f(std::uint32_t{});
    case DType::kU64: return f(std::uint64_t{});
    case DType::kI8: return f(std::int8_t{});
    case DType::kI16: return f(std::int16_t{});
    case DType::kI32: return f(std::int32_t{});
    case DType::kI64: return f(std::int64_t{});
    case DType::kF64:
    case DType::kC128: return f(double{});
    default: return f(float{});
  }
}

Wide decode(const std::byte* p, DType t) noexcept {
  if (t == DType::kBool) return *p != std::byte{0};  // any bit counts
  if (const SmallFloat* f = small_float(t)) return decode_small(p, *f);
  return with_type(t, [p](auto value) {
    std::memcpy(&value, p, sizeof value);
    return static_cast<Wide>(value);
  });
}

void encode(std::byte* p, DType t, Wide value) noexcept {
  if (const SmallFloat* f = small_float(t)) return encode_small(p, *f, value);
  if (t == DType::kBool) {
    *p = std::byte{value != 0};
    return;
  }
  with_type(t, [p, value](auto out) {
    using T = decltype(out);
    // NOLINTNEXTLINE(bugprone-branch-clone): the last branch is the same for another reason, that it fits
    if constexpr (std::is_floating_point_v<T>) {
      out = static_cast<T>(value);
    } else if (std::isnan(value)) {
      out = 0;
    } else if (value <= static_cast<Wide>(std::numeric_limits<T>::min())) {
      out = std::numeric_limits<T>::min();
    } else if (value >= static_cast<Wide>(std::numeric_limits<T>::max())) {
      out = std::numeric_limits<T>::max();
    } else {
      out = static_cast<T>(value);
    }
    std::memcpy(p, &out, sizeof out);
  });
}

bool is_integer(DType t) noexcept {
  const DTypeKind k = kind(t);
  return k == DTypeKind::kBool || k == DTypeKind::kUnsigned || k == DTypeKind::kSigned;
}

/// Modulo 2^bits, by way of 64 bits that carry the sign.
void wrap(std::byte* dst, DType dst_type, const std::byte* src, DType src_type) noexcept {
  const std::byte truth{*src != std::byte{0}};
  if (src_type == DType::kBool) src = &truth;
  with_type(src_type, [=](auto value) {
    std::memcpy(&value, src, sizeof value);
    const auto wide = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    with_type(dst_type, [=](auto out) {
      out = static_cast<decltype(out)>(wide);
      std::memcpy(dst, &out, sizeof out);
    });
  });
}

}  // namespace

void reference_cast(std::byte* dst, DType dst_type, const std::byte* src, DType src_type) noexcept {
  if (src_type == DType::kBool) {
    const std::byte truth{*src != std::byte{0}};  // any byte but 0 is true
    return reference_cast(dst, dst_type, &truth, DType::kU8);
  }
  const bool from_complex = kind(src_type) == DTypeKind::kComplex;
  const std::int64_t half = size_bytes(dst_type) / 2;
  if (is_integer(src_type) && is_integer(dst_type) && dst_type != DType::kBool) {
    wrap(dst, dst_type, src, src_type);
  } else if (kind(dst_type) == DTypeKind::kComplex) {
    encode(dst, dst_type, decode(src, src_type));
    encode(dst + half, dst_type, from_complex ? decode(src + size_bytes(src_type) / 2, src_type) : Wide{0});
  } else {
    encode(dst, dst_type, decode(src, src_type));
  }
}

bool same_value(const std::byte* a, const std::byte* b, DType type) noexcept {
  if (std::memcmp(a, b, static_cast<std::size_t>(size_bytes(type))) == 0) return true;
  if (kind(type) == DTypeKind::kComplex) {
    const std::int64_t half = size_bytes(type) / 2;
    const auto same = [&](std::int64_t at) {
      return std::memcmp(a + at, b + at, static_cast<std::size_t>(half)) == 0 ||
             (std::isnan(decode(a + at, type)) && std::isnan(decode(b + at, type)));
    };
    return same(0) && same(half);
  }
  return kind(type) == DTypeKind::kFloat && std::isnan(decode(a, type)) && std::isnan(decode(b, type));
}

}  // namespace restride::bench
