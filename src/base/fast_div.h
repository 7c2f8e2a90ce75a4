// Division by a number known when a plan is made: a multiplication and a shift on the device.
//
// Source: Granlund and Montgomery, "Division by invariant integers using multiplication", 1994.
#pragma once

#include <bit>
#include <cstdint>

#include "src/base/checked.h"
#include "src/base/hd.h"

namespace restride::base {

/// Divides n in [0, 2^31) by a divisor in [1, 2^31); no other divisor passes.
struct FastDiv {
  std::uint32_t divisor = 1;
  std::uint32_t multiplier = 0;
  std::uint32_t shift = 0;

  constexpr FastDiv() = default;
  explicit constexpr FastDiv(std::int64_t d) : divisor(static_cast<std::uint32_t>(d)) {
    if (d < 1 || d > INT32_MAX) refuse_narrowing();
    if (divisor == 1) return;  // the quotient is n itself
    const auto log = static_cast<std::uint32_t>(std::bit_width(divisor - 1));
    // ceil(2^(31 + log) / d) < 2^32, and its error times n stays below 2^(31 + log).
    multiplier = static_cast<std::uint32_t>(((std::uint64_t{1} << (31 + log)) + divisor - 1) / divisor);
    shift = log - 1;
  }

  RESTRIDE_HD constexpr std::uint32_t quotient(std::uint32_t n) const {
    const auto high = static_cast<std::uint32_t>(static_cast<std::uint64_t>(n) * multiplier >> 32);
    return divisor == 1 ? n : high >> shift;
  }
};

/// Divides n in [0, 2^63) by a divisor in [1, 2^63).
struct FastDiv64 {
  std::uint64_t divisor = 1;
  std::uint64_t multiplier = 0;
  std::uint32_t shift = 0;

  constexpr FastDiv64() = default;
  explicit constexpr FastDiv64(std::int64_t d) : divisor(static_cast<std::uint64_t>(d)) {
    if (divisor <= 1) return;
    const auto log = static_cast<std::uint32_t>(std::bit_width(divisor - 1));
    __extension__ using Wide = unsigned __int128;
    multiplier = static_cast<std::uint64_t>(((Wide{1} << (63 + log)) + divisor - 1) / divisor);
    shift = log - 1;
  }

  RESTRIDE_HD constexpr std::uint64_t quotient(std::uint64_t n) const {
    return divisor == 1 ? n : high_product(n, multiplier) >> shift;
  }

  /// The upper 64 bits of a * b.
  RESTRIDE_HD static constexpr std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
    const std::uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
    const std::uint64_t mid = a1 * b0 + (a0 * b0 >> 32);
    const std::uint64_t mid2 = a0 * b1 + (mid & 0xffffffffu);
    return a1 * b1 + (mid >> 32) + (mid2 >> 32);
  }
};

}  // namespace restride::base
