// The five steps to the canonical form.
#include "src/layout/canonical.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "src/base/checked.h"
#include "src/layout/describe.h"

namespace restride::layout {
namespace {

using Side = detail::FixedVector<Mode, kMaxRank>;

/// A side's modes innermost first, extent-1 modes dropped, neighbours in one stride merged.
Side own_modes(const Layout& l) {
  Side out;
  for (std::size_t i = l.modes.size(); i-- > 0;) {
    const Mode& m = l.modes[i];
    if (m.extent == 1) continue;
    if (!out.empty() && continues(m.stride_bytes, out.back().stride_bytes, out.back().extent))
      out.back().extent *= m.extent;
    else
      out.push_back(m);
  }
  return out;
}

/// Cuts both sides into common modes; false when an extent of one side divides no extent of the other.
bool refine(Side dst, Side src, CopyModes* out) {
  std::size_t d = 0;
  std::size_t s = 0;
  while (d < dst.size() && s < src.size()) {
    const std::int64_t take = std::min(dst[d].extent, src[s].extent);
    if (dst[d].extent % take != 0 || src[s].extent % take != 0) return false;
    out->push_back({take, dst[d].stride_bytes, src[s].stride_bytes});
    const auto advance = [take](Side& side, std::size_t& at) {
      side[at].extent /= take;
      if (side[at].extent == 1)
        ++at;
      else
        side[at].stride_bytes *= take;
    };
    advance(dst, d);
    advance(src, s);
  }
  return true;
}

void make_dst_positive(Canonical& c) {
  for (CopyMode& m : c.modes) {
    if (m.dst_stride >= 0) continue;
    c.dst_offset += (m.extent - 1) * m.dst_stride;
    c.src_offset += (m.extent - 1) * m.src_stride;
    m.dst_stride = -m.dst_stride;
    m.src_stride = -m.src_stride;
  }
}

void sort_by_dst(CopyModes& modes) {
  for (std::size_t i = 1; i < modes.size(); ++i) {  // insertion: few modes, mostly sorted
    const CopyMode m = modes[i];
    std::size_t at = i;
    for (; at > 0 && modes[at - 1].dst_stride > m.dst_stride; --at) modes[at] = modes[at - 1];
    modes[at] = m;
  }
}

void merge_neighbours(CopyModes& modes) {
  std::size_t kept = 0;
  for (std::size_t i = 1; i < modes.size(); ++i) {
    CopyMode& last = modes[kept];
    if (continues(modes[i].dst_stride, last.dst_stride, last.extent) &&
        continues(modes[i].src_stride, last.src_stride, last.extent))
      last.extent *= modes[i].extent;
    else
      modes[++kept] = modes[i];
  }
  modes.resize(modes.empty() ? 0 : kept + 1);
}

/// Widens the innermost common run to units of up to 16 bytes, or splits an element into smaller ones.
void set_unit(Canonical& c, std::int64_t element_bytes, UnitRule rule) {
  std::int64_t run = element_bytes;
  const bool has_run = !c.two_sided && !c.modes.empty() && c.modes[0].dst_stride == element_bytes &&
                       c.modes[0].src_stride == element_bytes;
  if (has_run) run *= c.modes[0].extent;
  std::int64_t unit = power_of_two_divisor(run, 16);
  if (rule == UnitRule::kAligned) {
    unit = std::min<std::int64_t>({unit, c.dst_align, c.src_align});
    for (std::size_t i = has_run ? 1 : 0; i < c.modes.size(); ++i) {
      unit = power_of_two_divisor(c.modes[i].dst_stride, unit);
      if (!c.two_sided) unit = power_of_two_divisor(c.modes[i].src_stride, unit);
    }
    for (const CopyMode& m : c.src_modes) unit = power_of_two_divisor(m.src_stride, unit);
  }
  if (has_run) c.modes.erase(0);
  if (run > unit) {
    const std::int64_t parts = run / unit;
    c.modes.insert(0, {parts, unit, c.two_sided ? 0 : unit});
    if (c.two_sided) c.src_modes.insert(0, {parts, 0, unit});
  }
  c.dst_unit = c.src_unit = static_cast<std::int32_t>(unit);
}

/// Modes without the leading ones of extent 1.
std::span<const Mode> without_leading_ones(const Modes& modes) noexcept {
  std::span<const Mode> out(modes.data(), modes.size());
  while (!out.empty() && out.front().extent == 1) out = out.subspan(1);
  return out;
}

/// The axes that bring src's modes into dst's shape, "(0,3,1,2)"; empty where there are none, or more than one choice.
std::string axes_to(const Layout& dst, const Layout& src) {
  if (dst.modes.size() != src.modes.size()) return "";
  std::vector<std::int64_t> axes;
  for (const Mode& d : dst.modes) {
    const auto is = [&d](const Mode& s) { return s.extent == d.extent; };
    if (std::count_if(src.modes.begin(), src.modes.end(), is) != 1) return "";
    axes.push_back(std::find_if(src.modes.begin(), src.modes.end(), is) - src.modes.begin());
  }
  return join(axes);
}

/// True where some order of src's modes has dst's shape; modes of extent 1 may go anywhere.
bool permutes_to(const Layout& dst, const Layout& src) {
  const auto sorted = [](const Layout& l) {
    std::vector<std::int64_t> extents;
    for (const Mode& m : l.modes)
      if (m.extent != 1) extents.push_back(m.extent);
    std::sort(extents.begin(), extents.end());
    return extents;
  };
  return sorted(dst) == sorted(src);
}

void require_paired(const Layout& dst, const Layout& src, Shapes shapes) {
  if (dst.elements() != src.elements())
    throw ShapeError(fmt::format("dst {} holds {} elements but src {} has {}; {}", to_string(dst), dst.elements(),
                                 to_string(src), src.elements(),
                                 dst.elements() == 0 || src.elements() == 0
                                     ? "a slice that begins past the end holds none"
                                     : "make the counts equal or broadcast src"));
  if (shapes == Shapes::kOfOneCount || equal_shapes(dst, src)) return;
  const std::string axes = axes_to(dst, src);
  std::string permute;
  if (permutes_to(dst, src))
    permute = fmt::format("permute src into dst's order{}, or ", axes.empty() ? "" : ", by axes " + axes);
  throw ShapeError(fmt::format(
      "dst {} and src {} differ in shape, {} and {}; {}set reshape (Options::reshape, --reshape) where elements are "
      "meant to pair in C order",
      to_string(dst), to_string(src), join_extents(dst.modes), join_extents(src.modes), permute));
}

/// What a layout says, innermost first, before anything is done to it.
CopyModes as_given(const Layout& l, bool is_dst) {
  CopyModes out;
  for (std::size_t i = l.modes.size(); i-- > 0;)
    out.push_back({l.modes[i].extent, is_dst ? l.modes[i].stride_bytes : 0, is_dst ? 0 : l.modes[i].stride_bytes});
  return out;
}

/// The form as it is now, as the step `name`; nothing where nobody asks for steps.
void tell(std::vector<CanonicalStep>* steps, std::string_view name, const Canonical& c) {
  if (steps != nullptr) steps->push_back({name, c.modes, c.src_modes, c.two_sided, c.dst_offset, c.src_offset});
}
void tell(std::vector<CanonicalStep>* steps, std::string_view name, const Layout& dst, const Layout& src,
          const CopyModes& dst_modes, const CopyModes& src_modes) {
  if (steps != nullptr) steps->push_back({name, dst_modes, src_modes, true, dst.offset_bytes, src.offset_bytes});
}
CopyModes of_side(const Side& side, bool is_dst) {
  CopyModes out;
  for (const Mode& m : side) out.push_back({m.extent, is_dst ? m.stride_bytes : 0, is_dst ? 0 : m.stride_bytes});
  return out;
}

/// True where every element keeps its bits: integers of one width wrap into each other.
bool same_bits(const Element& dst, const Element& src) noexcept {
  const auto is_integer = [](const Element& e) {
    return kind(e.dtype) == DTypeKind::kSigned || kind(e.dtype) == DTypeKind::kUnsigned;
  };
  return dst == src || (is_integer(dst) && is_integer(src) && dst.size_bytes == src.size_bytes);
}

Canonical canonical_form(const Layout& dst, const Layout& src, std::int64_t dst_align, std::int64_t src_align,
                         UnitRule rule, Shapes shapes, std::vector<CanonicalStep>* steps) {
  validate(dst);
  validate(src);
  require_paired(dst, src, shapes);
  if (!castable(dst.element, src.element)) {
    const bool bytes = dst.element.dtype == DType::kBytes || src.element.dtype == DType::kBytes;
    throw CastError(
        fmt::format("{} cannot become {}: {}", to_string(src.element), to_string(dst.element),
                    bytes ? "opaque bytes move, they never convert; reinterpret one side as the other's element"
                          : "complex to real drops the imaginary part; copy a real view of the part you want"));
  }
  for (std::int64_t a : {dst_align, src_align})
    if (a < 1 || (a & (a - 1)) != 0)
      throw ArgumentError(fmt::format("an alignment of {} bytes; promise a power of two", a));

  Canonical c;
  if (steps != nullptr) tell(steps, "given", dst, src, as_given(dst, true), as_given(src, false));
  if (dst.elements() == 0) return c;
  for (const Layout* l : {&dst, &src})
    if (magnitude(l->offset_bytes) > kMaxBytes)
      throw RangeError(
          fmt::format("{} lies more than 2^60 bytes from its data pointer; move the pointer", to_string(*l)));
  require_one_to_one(dst);
  c.dst_offset = dst.offset_bytes;
  c.src_offset = src.offset_bytes;
  const Side dst_side = own_modes(dst);
  const Side src_side = own_modes(src);
  if (steps != nullptr) tell(steps, "drop", dst, src, of_side(dst_side, true), of_side(src_side, false));
  if (refine(dst_side, src_side, &c.modes)) {
    tell(steps, "refine", c);
    make_dst_positive(c);
    tell(steps, "flip", c);
    sort_by_dst(c.modes);
    tell(steps, "sort", c);
    merge_neighbours(c.modes);
    tell(steps, "merge", c);
  } else {
    c.two_sided = true;
    c.modes.clear();
    for (const Mode& m : dst_side) c.modes.push_back({m.extent, m.stride_bytes, 0});
    for (const Mode& m : src_side) c.src_modes.push_back({m.extent, 0, m.stride_bytes});
    tell(steps, "refine", c);
  }
  c.dst_align = static_cast<std::int32_t>(power_of_two_divisor(c.dst_offset, std::min<std::int64_t>(dst_align, 128)));
  c.src_data_align = static_cast<std::int32_t>(std::min<std::int64_t>(src_align, 128));
  c.src_align = static_cast<std::int32_t>(power_of_two_divisor(c.src_offset, std::min<std::int64_t>(src_align, 128)));
  c.cast = !same_bits(dst.element, src.element);
  c.units = dst.elements();
  if (c.cast) {
    c.dst_dtype = dst.element.dtype;
    c.src_dtype = src.element.dtype;
    c.dst_unit = static_cast<std::int32_t>(dst.element.size_bytes);
    c.src_unit = static_cast<std::int32_t>(src.element.size_bytes);
  } else {
    set_unit(c, dst.element.size_bytes, rule);
    c.units = dst.elements() * dst.element.size_bytes / c.dst_unit;
  }
  tell(steps, "unit", c);
  return c;
}

}  // namespace

bool equal_shapes(const Layout& a, const Layout& b) noexcept {
  const auto x = without_leading_ones(a.modes), y = without_leading_ones(b.modes);
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](const Mode& m, const Mode& n) { return m.extent == n.extent; });
}

Canonical canonicalize(const Layout& dst, const Layout& src, std::int64_t dst_align, std::int64_t src_align,
                       UnitRule rule, Shapes shapes) {
  return canonical_form(dst, src, dst_align, src_align, rule, shapes, nullptr);
}

std::vector<CanonicalStep> canonical_steps(const Layout& dst, const Layout& src, std::int64_t dst_align,
                                           std::int64_t src_align, UnitRule rule) {
  std::vector<CanonicalStep> steps;
  canonical_form(dst, src, dst_align, src_align, rule, Shapes::kOfOneCount, &steps);
  return steps;
}

detail::FixedVector<std::uint8_t, kMaxCopyModes> modes_by_src_stride(const Canonical& c) {
  detail::FixedVector<std::uint8_t, kMaxCopyModes> order;
  for (std::size_t i = 0; i < c.modes.size(); ++i) order.push_back(static_cast<std::uint8_t>(i));
  const auto key = [&](std::uint8_t i) { return magnitude(c.modes[i].src_stride) - 1; };  // 0 wraps to the end
  std::sort(order.begin(), order.end(),
            [&](std::uint8_t a, std::uint8_t b) { return key(a) != key(b) ? key(a) < key(b) : a < b; });
  return order;
}

std::string to_string(const Canonical& c) {
  std::vector<std::int64_t> extents, dst, src, src_extents;
  for (const CopyMode& m : c.modes) {
    extents.push_back(m.extent);
    dst.push_back(m.dst_stride);
    if (!c.two_sided) src.push_back(m.src_stride);
  }
  for (const CopyMode& m : c.src_modes) {
    src_extents.push_back(m.extent);
    src.push_back(m.src_stride);
  }
  const std::string unit =
      c.cast ? fmt::format("{} -> {}", name(c.src_dtype), name(c.dst_dtype)) : fmt::format("unit {}", c.dst_unit);
  if (c.units == 0) return "empty";
  if (c.two_sided)
    return fmt::format("{}: dst {}:{}b src {}:{}b, innermost first", unit, join(extents), join(dst), join(src_extents),
                       join(src));
  return fmt::format("{}: {} dst {}b src {}b, innermost first", unit, join(extents), join(dst), join(src));
}

}  // namespace restride::layout
