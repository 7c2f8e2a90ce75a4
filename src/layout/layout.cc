// Making and checking layouts.
#include <restride/layout.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "src/base/checked.h"
#include "src/layout/describe.h"

namespace restride {
namespace {

[[noreturn]] void throw_range(const Layout& layout) {
  throw RangeError(
      fmt::format("{} of {} takes up more than 2^60 bytes, which no machine addresses; use smaller extents or strides",
                  layout::join_extents(layout.modes), to_string(layout.element)));
}

void require_rank(std::size_t rank) {
  if (rank > kMaxRank)
    throw ArgumentError(
        fmt::format("rank {} is above the limit of {}; merge modes that lie in one stride first", rank, kMaxRank));
}

}  // namespace

std::int64_t Layout::elements() const noexcept {
  // An empty tensor may have other extents whose product does not fit, so zeros come first.
  for (const Mode& m : modes)
    if (m.extent == 0) return 0;
  std::int64_t n = 1;
  for (const Mode& m : modes) n *= m.extent;
  return n;
}

void validate(const Layout& layout) {
  if (layout.element.size_bytes < 1 || layout.element.size_bytes > INT32_MAX)
    throw ArgumentError(fmt::format("an element of {} bytes; sizes run from 1 to 2^31-1", layout.element.size_bytes));
  if (layout.element.dtype != DType::kBytes && static_cast<int>(layout.element.dtype) > kDTypeCount)
    throw ArgumentError(
        fmt::format("{} is no dtype; see restride/dtype.hpp for the list", static_cast<int>(layout.element.dtype)));
  if (layout.element.dtype != DType::kBytes && layout.element.size_bytes != size_bytes(layout.element.dtype))
    throw ArgumentError(fmt::format("{} elements have {} bytes, not {}", name(layout.element.dtype),
                                    size_bytes(layout.element.dtype), layout.element.size_bytes));
  bool empty = false;
  for (std::size_t i = 0; i < layout.modes.size(); ++i) {
    if (layout.modes[i].extent < 0)
      throw ArgumentError(fmt::format("mode {} has extent {}; extents are 0 or more", i, layout.modes[i].extent));
    empty |= layout.modes[i].extent == 0;
  }
  if (empty) return;
  std::int64_t bytes = layout.element.size_bytes;
  std::int64_t lo = 0;  // of the bytes touched, from element (0, ..., 0)
  std::int64_t hi = layout.element.size_bytes;
  for (const Mode& m : layout.modes) {
    std::int64_t reach = 0;
    if (!checked_mul(bytes, m.extent, &bytes) || !checked_mul(m.extent - 1, m.stride_bytes, &reach))
      throw_range(layout);
    std::int64_t& end = reach < 0 ? lo : hi;
    if (!checked_add(end, reach, &end)) throw_range(layout);
  }
  std::int64_t span = 0;
  if (__builtin_sub_overflow(hi, lo, &span) || std::max(bytes, span) > kMaxBytes) throw_range(layout);
  if (!checked_add(lo, layout.offset_bytes, &lo) || !checked_add(hi, layout.offset_bytes, &hi))
    throw RangeError(fmt::format("an offset of {} bytes puts elements of {} of {} beyond 63 bits; use one nearer to 0",
                                 layout.offset_bytes, layout::join_extents(layout.modes), to_string(layout.element)));
}

Layout strided(Element element, Extents extents, Extents strides_bytes, std::int64_t offset_bytes) {
  if (extents.size() != strides_bytes.size())
    throw ShapeError(layout::extents_but_strides(extents.size(), strides_bytes.size()) + "; give one stride a mode");
  require_rank(extents.size());
  Layout out;
  out.element = element;
  out.offset_bytes = offset_bytes;
  for (std::size_t i = 0; i < extents.size(); ++i) out.modes.push_back({extents[i], strides_bytes[i]});
  validate(out);
  return out;
}

Layout contiguous(Element element, Extents extents) {
  require_rank(extents.size());
  Layout out;
  out.element = element;
  for (std::int64_t e : extents) out.modes.push_back({e, 0});
  validate(out);  // extents and element before strides are made of them
  std::int64_t stride = element.size_bytes;
  for (std::size_t i = out.modes.size(); i-- > 0;) {
    out.modes[i].stride_bytes = stride;
    const std::int64_t step = extents[i] > 0 ? extents[i] : 1;
    // Only an empty tensor's product may not fit, and its strides place nothing.
    if (!checked_mul(stride, step, &stride)) stride = 0;
  }
  return out;
}

std::pair<std::int64_t, std::int64_t> byte_range(const Layout& layout) {
  if (layout.elements() == 0) return {0, 0};
  std::int64_t lo = layout.offset_bytes;
  std::int64_t hi = layout.offset_bytes + layout.element.size_bytes;
  for (const Mode& m : layout.modes) {
    const std::int64_t reach = (m.extent - 1) * m.stride_bytes;
    (reach < 0 ? lo : hi) += reach;
  }
  return {lo, hi};
}

bool is_contiguous(const Layout& layout) noexcept {
  std::int64_t stride = layout.element.size_bytes;
  if (layout.elements() == 0) return true;
  for (std::size_t i = layout.modes.size(); i-- > 0;) {
    if (layout.modes[i].extent != 1 && layout.modes[i].stride_bytes != stride) return false;
    stride *= layout.modes[i].extent;
  }
  return true;
}

}  // namespace restride
