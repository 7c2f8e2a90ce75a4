// Tensors of typed memory: the element follows from the C++ type, and the size is checked.
//
//     std::vector<std::uint8_t> image(480 * 640 * 3);
//     std::vector<float> planes(image.size());
//     copy(tensor(planes, {3, 480, 640}), permute(tensor(image, {480, 640, 3}), {2, 0, 1}));
#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>

#include <restride/copy.hpp>

namespace restride {

/// The element a C++ type is copied as. Specialise it for types of your own: `template <> inline constexpr Element
/// element_of<my::half> = DType::kF16;`. Without a row, a trivially copyable type is opaque bytes of its size, which
/// moves but does not convert; `std::byte` is opaque too.
template <class T>
inline constexpr Element element_of = [] {
  static_assert(std::is_trivially_copyable_v<T>, "only trivially copyable elements can be moved as bytes");
  if constexpr (std::is_same_v<T, bool>) {
    return Element(DType::kBool);
  } else if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
    constexpr DType kSigned[] = {DType::kI8, DType::kI16, DType::kI32, DType::kI64};
    constexpr DType kUnsigned[] = {DType::kU8, DType::kU16, DType::kU32, DType::kU64};
    constexpr int kLog2 = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return Element(std::is_signed_v<T> ? kSigned[kLog2] : kUnsigned[kLog2]);
  } else if constexpr (std::is_same_v<T, float>) {
    return Element(DType::kF32);
  } else if constexpr (std::is_same_v<T, double>) {
    return Element(DType::kF64);
  } else {
    return Element::bytes(sizeof(T));
  }
}();
template <>
inline constexpr Element element_of<std::complex<float>> = DType::kC64;
template <>
inline constexpr Element element_of<std::complex<double>> = DType::kC128;

namespace detail {

/// Memory that elements of one type fill: std::vector, std::array, std::span, an array of C. Not a temporary that owns
/// it, whose elements would be gone.
template <class R>
concept ElementRange = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    std::ranges::borrowed_range<R> && std::is_object_v<std::ranges::range_value_t<R>>;

template <class T>
auto typed(T* data, const Layout& layout) {
  if constexpr (std::is_const_v<T>) {
    return ConstTensor(data, layout);
  } else {
    return Tensor{data, layout};
  }
}

template <class T>
concept AnyTensor = std::same_as<T, Tensor> || std::same_as<T, ConstTensor>;

/// In bytes; extents and strides that do not fit are refused by whoever makes the layout.
RESTRIDE_PUBLIC Layout dense_over(Element element, Extents extents, std::int64_t held);
RESTRIDE_PUBLIC Layout strided_over(Element element, Extents extents, Extents strides_elems, std::int64_t first,
                                    std::int64_t held);

}  // namespace detail

/// Memory as a tensor of rank 1: all of its elements. `T` const gives a ConstTensor. Nothing is copied.
/// Example: `copy(tensor(out), tensor(in))`
template <detail::ElementRange R>
auto tensor(R&& data) {
  using T = std::remove_reference_t<std::ranges::range_reference_t<R>>;
  const auto size = static_cast<std::int64_t>(std::ranges::size(data));
  return detail::typed<T>(std::ranges::data(data), contiguous(element_of<std::remove_cv_t<T>>, {size}));
}

/// Memory as a tensor of these extents, contiguous in C order.
/// Errors: ShapeError when the extents' product is not the number of elements (of more memory take `span.first(n)`),
/// and those of `contiguous`. Example: `tensor(std::span(pixels), {480, 640, 3})`
template <detail::ElementRange R>
auto tensor(R&& data, Extents extents) {
  using T = std::remove_reference_t<std::ranges::range_reference_t<R>>;
  const auto size = static_cast<std::int64_t>(std::ranges::size(data));
  return detail::typed<T>(std::ranges::data(data), detail::dense_over(element_of<std::remove_cv_t<T>>, extents, size));
}

/// Memory as a strided tensor. Strides count elements, not bytes, and may be negative, or zero to repeat; element
/// (0, ..., 0) is `data[first]`.
/// Errors: ShapeError when an element would lie outside of `data`, and those of `strided`.
/// Example: `tensor(image, {480, 640, 3}, {2048, 3, 1})` has rows of 2048 elements.
template <detail::ElementRange R>
auto tensor(R&& data, Extents extents, Extents strides_elems, std::int64_t first = 0) {
  using T = std::remove_reference_t<std::ranges::range_reference_t<R>>;
  const auto size = static_cast<std::int64_t>(std::ranges::size(data));
  return detail::typed<T>(std::ranges::data(data),
                          detail::strided_over(element_of<std::remove_cv_t<T>>, extents, strides_elems, first, size));
}

// ---- Views of a tensor: the same memory under a view of its layout; layout.hpp says what each takes and throws. ----

/// `{t.data, permute(t.layout, axes)}`; the other views of a tensor below do as this one.
template <detail::AnyTensor T>
T permute(const T& t, Extents axes) {
  return {t.data, permute(t.layout, axes)};
}
template <detail::AnyTensor T>
T slice(const T& t, int mode, std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
        std::int64_t step = 1) {
  return {t.data, slice(t.layout, mode, start, stop, step)};
}
template <detail::AnyTensor T>
T slice(const T& t, Slices slices) {
  return {t.data, slice(t.layout, slices)};
}
template <detail::AnyTensor T>
T flip(const T& t, int mode) {
  return {t.data, flip(t.layout, mode)};
}
template <detail::AnyTensor T>
T broadcast_to(const T& t, Extents extents) {
  return {t.data, broadcast_to(t.layout, extents)};
}
template <detail::AnyTensor T>
T reshape(const T& t, Extents extents) {
  return {t.data, reshape(t.layout, extents)};
}
template <detail::AnyTensor T>
T split(const T& t, int mode, Extents extents) {
  return {t.data, split(t.layout, mode, extents)};
}
template <detail::AnyTensor T>
T merge(const T& t, int first, int count) {
  return {t.data, merge(t.layout, first, count)};
}
template <detail::AnyTensor T>
T squeeze(const T& t, int mode) {
  return {t.data, squeeze(t.layout, mode)};
}
template <detail::AnyTensor T>
T unsqueeze(const T& t, int mode) {
  return {t.data, unsqueeze(t.layout, mode)};
}
template <detail::AnyTensor T>
T reinterpret(const T& t, Element element) {
  return {t.data, reinterpret(t.layout, element)};
}

}  // namespace restride
