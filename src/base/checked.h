// Integer arithmetic that says when it leaves 63 bits, or fewer, for sizes that come from outside.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>

namespace restride {

/// a * b into *out; false when the product does not fit.
[[nodiscard]] constexpr bool checked_mul(std::int64_t a, std::int64_t b, std::int64_t* out) noexcept {
  return !__builtin_mul_overflow(a, b, out);
}
[[nodiscard]] constexpr bool checked_add(std::int64_t a, std::int64_t b, std::int64_t* out) noexcept {
  return !__builtin_add_overflow(a, b, out);
}

/// Throws InternalError: a plan let a size pass that its kernel has no bits for.
[[noreturn]] void refuse_narrowing();

/// `value` in fewer bits, as kernels' arguments have it. That it fits is the bids' to see to; past them a size is never
/// cut short, it is refused.
template <class To>
constexpr To narrowed(std::int64_t value) {
  if (!std::in_range<To>(value)) refuse_narrowing();
  return static_cast<To>(value);
}

/// a / b rounded up, of a >= 0 and b > 0; nothing overflows on the way.
[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept { return a / b + (a % b != 0); }

/// True when a mode of stride `outer` starts where `extent` steps of `inner` end, that is, both are one longer mode.
/// The end itself may lie past 63 bits although every element lies within.
[[nodiscard]] constexpr bool continues(std::int64_t outer, std::int64_t inner, std::int64_t extent) noexcept {
  std::int64_t end = 0;
  return checked_mul(inner, extent, &end) && end == outer;
}

/// |a| as unsigned: right for the most negative value too.
constexpr std::uint64_t magnitude(std::int64_t a) noexcept {
  return a < 0 ? ~static_cast<std::uint64_t>(a) + 1 : static_cast<std::uint64_t>(a);
}

/// `p` moved by `bytes`. A data pointer need not point into its tensor's memory, only pointer + offset does, so the
/// sum goes by integers, where it may wrap.
template <class T>
T* moved(T* p, std::int64_t bytes) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): once a copy, and the point of this function
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(p) + static_cast<std::uintptr_t>(bytes));
}

/// Largest power of two that divides v, at most `cap` (a power of two); `cap` for v == 0.
constexpr std::int64_t power_of_two_divisor(std::int64_t v, std::int64_t cap) noexcept {
  const int zeros = std::countr_zero(static_cast<std::uint64_t>(v) | static_cast<std::uint64_t>(cap));
  return std::int64_t{1} << zeros;
}

}  // namespace restride
