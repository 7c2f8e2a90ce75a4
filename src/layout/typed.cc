// The layouts of typed memory, which must hold all of their elements.
#include <restride/typed.hpp>

#include <fmt/format.h>

#include "src/base/checked.h"
#include "src/layout/describe.h"

namespace restride::detail {

Layout dense_over(Element element, Extents extents, std::int64_t held) {
  Layout out = contiguous(element, extents);
  if (out.elements() != held)
    throw ShapeError(fmt::format(
        "tensor: {} holds {} elements but the memory {}; {}", to_string(out), out.elements(), held,
        out.elements() < held ? "pass the part that it fills, as span.first(n)" : "make the extents' product equal"));
  return out;
}

Layout strided_over(Element element, Extents extents, Extents strides_elems, std::int64_t first, std::int64_t held) {
  if (extents.size() != strides_elems.size())
    throw ShapeError(layout::extents_but_strides(extents.size(), strides_elems.size()) + "; give one stride a mode");
  Shape strides_bytes;
  const auto in_bytes = [&](std::int64_t elems, const char* what) {
    std::int64_t bytes = 0;
    if (!checked_mul(elems, element.size_bytes, &bytes))
      throw RangeError(fmt::format("tensor: {} of {} elements does not fit 63 bits in bytes", what, elems));
    return bytes;
  };
  for (const std::int64_t stride : strides_elems) {
    if (strides_bytes.full()) break;  // `strided` refuses the rank
    strides_bytes.push_back(in_bytes(stride, "a stride"));
  }
  const Extents strides = strides_bytes.size() == extents.size() ? Extents(strides_bytes) : strides_elems;
  Layout out = strided(element, extents, strides, in_bytes(first, "an offset"));
  const auto [from, to] = byte_range(out);
  if (from < 0 || to > held * element.size_bytes)
    throw ShapeError(fmt::format("tensor: {} takes elements {} to {} but the memory holds {}; change strides or first",
                                 to_string(out), from / element.size_bytes, to / element.size_bytes - 1, held));
  return out;
}

}  // namespace restride::detail
