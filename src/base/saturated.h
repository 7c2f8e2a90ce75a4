// Sums and products for estimates, of sizes that no memory has.
#pragma once

#include <cstdint>

#include "src/base/checked.h"

namespace restride {

/// a * b of numbers that are not negative, or the largest there is.
constexpr std::int64_t saturated_mul(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t out = 0;
  return checked_mul(a, b, &out) ? out : INT64_MAX;
}

/// a + b of numbers that are not negative, or the largest there is.
constexpr std::int64_t saturated_add(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t out = 0;
  return checked_add(a, b, &out) ? out : INT64_MAX;
}

}  // namespace restride
