// mdspan without including it: anything that looks like a strided std::mdspan becomes a Tensor.
//
//     std::mdspan m(data, 64, 512);                     // or Kokkos::mdspan, or your own class
//     restride::copy(restride::tensor(dst), restride::tensor(m));
//
// "Looks like" is StridedView below: data_handle(), rank(), extents().extent(r), stride(r) in elements. Elements
// must lie in memory: a view whose accessor computes its elements (std::linalg::scaled, an atomic accessor) is refused.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include <restride/typed.hpp>

namespace restride {

namespace detail {

/// The type that a view's handle, a plain pointer, points to.
template <class M>
using Pointee = std::remove_pointer_t<std::remove_cvref_t<decltype(std::declval<const M&>().data_handle())>>;

/// The members of a strided std::mdspan, whatever its accessor does.
template <class M>
concept StridedSpan = requires(const M& m, std::size_t r) {
  requires std::is_pointer_v<std::remove_cvref_t<decltype(m.data_handle())>>;
  requires std::is_object_v<Pointee<M>>;
  { M::rank() } -> std::convertible_to<std::size_t>;
  { m.extents().extent(r) } -> std::convertible_to<std::int64_t>;
  { m.stride(r) } -> std::convertible_to<std::int64_t>;
};

/// True where `Holder`, a view or its accessor, has no word on references, or refers to elements where they lie.
template <class Holder, class T>
inline constexpr bool kRefersToMemory = [] {
  if constexpr (requires { typename Holder::reference; }) {
    using Reference = typename Holder::reference;
    return std::is_lvalue_reference_v<Reference> && std::is_same_v<std::remove_reference_t<Reference>, T>;
  } else {
    return true;
  }
}();

/// True unless the view or its accessor computes elements, as those of std::linalg::scaled and of atomics do.
template <StridedSpan M>
inline constexpr bool kElementsAreMemory = [] {
  if constexpr (requires { typename M::accessor_type; }) {
    return kRefersToMemory<M, Pointee<M>> && kRefersToMemory<typename M::accessor_type, Pointee<M>>;
  } else {
    return kRefersToMemory<M, Pointee<M>>;
  }
}();

/// A view that has an mdspan's members, and elements that lie nowhere.
template <class M>
concept ComputesItsElements = StridedSpan<M> && !kElementsAreMemory<M>;

}  // namespace detail

/// A strided view of memory with the members of std::mdspan. Its handle is a plain pointer to its
/// elements: where it or its accessor names a `reference`, that is a reference to such an element.
template <class M>
concept StridedView = detail::StridedSpan<M> && detail::kElementsAreMemory<M>;

/// The layout of a view: its extents, its strides times the element's size.
/// Errors: ArgumentError (rank above 64; a mapping that says it is not strided), RangeError.
template <StridedView M>
Layout layout_of(const M& m) {
  using T = std::remove_cv_t<detail::Pointee<M>>;
  constexpr std::size_t kRank = M::rank();
  static_assert(kRank <= kMaxRank, "restride takes ranks up to 64");
  if constexpr (requires {
                  { m.is_strided() } -> std::convertible_to<bool>;
                }) {
    if (!m.is_strided()) throw ArgumentError("the mdspan's mapping is not strided: copy it element by element");
  }
  std::int64_t extents[kRank == 0 ? 1 : kRank] = {};
  std::int64_t strides_bytes[kRank == 0 ? 1 : kRank] = {};
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  if constexpr (kRank > 0)  // a mapping of rank 0 has no stride to ask for
    for (std::size_t r = 0; r < kRank; ++r) {
      extents[r] = static_cast<std::int64_t>(m.extents().extent(r));
      const auto stride = static_cast<std::int64_t>(m.stride(r));
      if (stride > std::numeric_limits<std::int64_t>::max() / kSize ||
          stride < std::numeric_limits<std::int64_t>::min() / kSize)
        throw RangeError("mode " + std::to_string(r) + ": the stride in bytes does not fit 63 bits");
      strides_bytes[r] = stride * kSize;
    }
  return strided(element_of<T>, Extents(extents, kRank), Extents(strides_bytes, kRank));
}

/// A view as restride's argument: a Tensor, or a ConstTensor where its elements are const. Nothing is copied.
/// Shape, strides: the view's. Errors: as `layout_of`. Example: examples/mdspan.cc
template <StridedView M>
auto tensor(const M& m) {
  if constexpr (std::is_const_v<detail::Pointee<M>>) {
    return ConstTensor(m.data_handle(), layout_of(m));
  } else {
    return Tensor{m.data_handle(), layout_of(m)};
  }
}

template <detail::ComputesItsElements M>
auto tensor(const M& m) = delete;  // what is computed on access lies nowhere: write it to an array first, and copy that

}  // namespace restride
