#include "tools/io/array_entry.h"

#include <fmt/format.h>

namespace restride::io {

Layout dense(const Element& element, Extents extents, bool fortran_order) {
  Layout layout;
  try {
    layout = contiguous(element, extents);
  } catch (const RangeError&) {  // whose remedy is for whoever chose the extents
    throw RangeError(
        fmt::format("its header claims extents ({}) of {}, more than the 2^60 bytes that machines address; it "
                    "is damaged or no file of this format",
                    fmt::join(extents, ","), to_string(element)));
  }
  if (!fortran_order || layout.elements() == 0) return layout;
  std::int64_t stride = element.size_bytes;
  for (Mode& mode : layout.modes) {
    mode.stride_bytes = stride;
    stride *= mode.extent;
  }
  return layout;
}

void require_within(const Layout& layout, std::uint64_t total_bytes, const std::string& what) {
  const auto [first, last] = byte_range(layout);
  if (last == first) return;  // no element: no byte is read
  if (first < 0)
    throw ParseError(fmt::format("{}: {} begins {} bytes before the data; give it a larger offset (`@`)", what,
                                 to_string(layout), -first));
  if (static_cast<std::uint64_t>(last) > total_bytes)
    throw ParseError(fmt::format("{}: {} needs {} bytes, but there are {}; it is truncated or the shape is wrong", what,
                                 to_string(layout), last, total_bytes));
}

}  // namespace restride::io
