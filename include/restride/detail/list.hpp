// A parameter that takes a list: `{0, 3, 1, 2}` where the call is written, or any array, vector or span.
#pragma once

#include <initializer_list>
#include <span>

namespace restride::detail {

/// A span of constants that braces make, too (std::span does so from C++26 on). As a parameter it is good for the call;
/// one made of braces must not be kept.
template <class T>
class List : public std::span<const T> {
 public:
  using std::span<const T>::span;
  constexpr List(std::span<const T> values) noexcept : std::span<const T>(values) {}  // NOLINT: implicit on purpose
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  constexpr List(std::initializer_list<T> values) noexcept : std::span<const T>(values.begin(), values.size()) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
};

}  // namespace restride::detail
