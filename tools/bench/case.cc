#include "tools/bench/case.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

#include <fmt/format.h>

namespace restride::bench {
namespace {

constexpr std::int64_t kPageBytes = 4096;
constexpr std::int64_t kKeepExtent = 8;   // extents up to here give a case its character
constexpr std::int64_t kKeepModulo = 64;  // odd stays odd, aligned stays aligned

std::vector<std::int64_t> extents_of(const Layout& layout) {
  std::vector<std::int64_t> out;
  for (const Mode& mode : layout.modes) out.push_back(mode.extent);
  return out;
}

Layout source_view(const CaseSpec& spec) {
  Layout view =
      spec.strides_bytes.empty() ? contiguous(spec.src, spec.shape) : strided(spec.src, spec.shape, spec.strides_bytes);
  if (!spec.slice.empty()) view = slice(view, spec.slice);
  if (!spec.broadcast.empty()) view = broadcast_to(view, spec.broadcast);
  if (!spec.axes.empty()) view = permute(view, spec.axes);
  return view;
}

Layout destination_view(const CaseSpec& spec, const Layout& src) {
  const std::vector<std::int64_t> extents = extents_of(src);
  if (spec.dst_slice_of.empty()) {
    return contiguous(spec.dst, spec.dst_shape.empty() ? Extents(extents) : Extents(spec.dst_shape));
  }
  return slice(contiguous(spec.dst, spec.dst_slice_of), spec.dst_slice);
}

Side place(Layout layout) {
  Side side;
  const auto [first, last] = byte_range(layout);
  const std::int64_t page = first >= 0 ? first / kPageBytes : -((-first + kPageBytes - 1) / kPageBytes);
  layout.offset_bytes -= page * kPageBytes;
  side.buffer_bytes = last - page * kPageBytes;
  side.useful_bytes = layout.element.size_bytes;
  for (const Mode& mode : layout.modes)
    if (mode.stride_bytes != 0 || mode.extent == 0) side.useful_bytes *= mode.extent;
  side.layout = std::move(layout);
  return side;
}

std::int64_t larger_side_bytes(const CaseSpec& spec) {
  return source_view(spec).elements() * std::max(spec.src.size_bytes, spec.dst.size_bytes);
}

/// The extent cut by about `factor` (rounded up), its remainder modulo 64 kept where it is long enough.
std::int64_t cut(std::int64_t extent, std::int64_t factor, std::int64_t floor) {
  const std::int64_t target = std::max(extent / factor, std::min(extent, floor));
  if (target < 2 * kKeepModulo) return target;
  const std::int64_t kept = target / kKeepModulo * kKeepModulo + extent % kKeepModulo;
  return kept > target ? kept - kKeepModulo : kept;
}

CaseSpec scale_reshaping(CaseSpec spec, std::int64_t factor) {
  const std::int64_t common = std::gcd(spec.shape.front(), spec.dst_shape.front());
  for (std::int64_t f = factor; f <= common; ++f) {
    if (common % f != 0) continue;
    spec.shape.front() /= f;
    spec.dst_shape.front() /= f;
    return spec;
  }
  throw ShapeError(
      fmt::format("case {}: shape and dst_shape have no common divisor of {} or more in their outermost "
                  "extents, so it cannot be made smaller; leave it out or raise --max-mib",
                  spec.name, factor));
}

/// Cuts the destination's slice to the extents that the scaled source has left.
CaseSpec narrow_destination(CaseSpec spec) {
  if (spec.dst_slice_of.empty()) return spec;
  const Layout src = source_view(spec);
  const Layout dst = slice(contiguous(spec.dst, spec.dst_slice_of), spec.dst_slice);
  if (src.rank() != dst.rank() || dst.rank() != static_cast<int>(spec.dst_slice.size())) return spec;
  for (int m = 0; m < dst.rank(); ++m) {
    const std::int64_t step =
        dst.modes[m].extent > 1
            ? dst.modes[m].stride_bytes / contiguous(spec.dst, spec.dst_slice_of).modes[m].stride_bytes
            : 1;
    if (step < 1 || dst.modes[m].extent <= src.modes[m].extent) continue;
    std::int64_t start = 0;
    const std::string& text = spec.dst_slice[m];
    if (!text.empty() && text[0] != ':') start = std::strtoll(text.c_str(), nullptr, 10);
    if (start < 0) start += spec.dst_slice_of[m];
    spec.dst_slice[m] = fmt::format("{}:{}:{}", start, start + (src.modes[m].extent - 1) * step + 1, step);
  }
  return spec;
}

}  // namespace

Case build_case(const CaseSpec& spec) try {
  Case out;
  out.spec = spec;
  const Layout src = source_view(spec);
  const Layout dst = destination_view(spec, src);
  if (src.elements() != dst.elements())
    throw ShapeError(fmt::format("{} elements do not fit into {} ({} into {})", src.elements(), dst.elements(),
                                 to_string(src), to_string(dst)));
  if (!spec.dst_slice_of.empty() && extents_of(src) != extents_of(dst))
    throw ShapeError(fmt::format("dst_slice selects {} but the source is {}", to_string(dst), to_string(src)));
  out.src = place(src);
  out.dst = place(dst);
  return out;
} catch (const Error& e) {
  throw Error(e.code(), fmt::format("case {}: {}", spec.name, e.what()));
}

CaseSpec with_element(const CaseSpec& spec, Element element) {
  if (spec.src != spec.dst || !spec.strides_bytes.empty() || spec.src == element) return spec;
  CaseSpec out = spec;
  out.src = out.dst = element;
  out.name += fmt::format("@{}", to_string(element));
  if (!out.case_class.empty()) out.case_class += fmt::format("@{}", to_string(element));
  return out;
}

CaseSpec scale_to(const CaseSpec& spec, std::int64_t max_bytes) try {
  CaseSpec out = spec;
  if (max_bytes <= 0) throw ArgumentError("the size cap must be positive");
  const auto factor = [&] { return (larger_side_bytes(out) + max_bytes - 1) / max_bytes; };
  if (factor() <= 1) return out;
  if (!out.dst_shape.empty() && !out.shape.empty()) return scale_reshaping(out, factor());
  std::vector<std::int64_t>& extents = out.broadcast.empty() ? out.shape : out.broadcast;
  for (const std::int64_t floor : {kKeepExtent, std::int64_t{1}}) {
    for (std::int64_t& extent : extents) {
      if (factor() <= 1) break;
      const std::int64_t before = extent;
      extent = cut(extent, factor(), floor);
      while (!out.slice.empty() && out.broadcast.empty() && larger_side_bytes(out) == 0 && extent < before)
        extent = std::min(before, 2 * extent);  // a slice begins behind the cut
      // A broadcast case's own shape shrinks with its target, except where it is stretched.
      if (!out.broadcast.empty()) {
        const std::size_t inner = static_cast<std::size_t>(&extent - extents.data()) + out.shape.size();
        if (inner >= extents.size() && out.shape[inner - extents.size()] == before)
          out.shape[inner - extents.size()] = extent;
      }
    }
  }
  if (factor() > 1)
    throw ShapeError(fmt::format("nothing is left to cut at {} bytes; raise --max-mib", larger_side_bytes(out)));
  return narrow_destination(out);
} catch (const Error& e) {
  throw Error(e.code(), fmt::format("case {}: {}", spec.name, e.what()));
}

std::int64_t sector_bytes_touched(const Layout& layout, std::int64_t sector_bytes) {
  std::vector<Mode> modes;
  for (Mode mode : layout.modes) {
    if (mode.extent == 0) return 0;
    mode.stride_bytes = std::abs(mode.stride_bytes);
    if (mode.extent > 1 && mode.stride_bytes != 0) modes.push_back(mode);
  }
  std::sort(modes.begin(), modes.end(), [](const Mode& a, const Mode& b) { return a.stride_bytes < b.stride_bytes; });
  // `run` bytes in one piece (no hole as long as a sector), repeated `repeats` times.
  std::int64_t run = layout.element.size_bytes;
  std::int64_t useful = run;
  std::int64_t repeats = 1;
  bool dense = true;
  for (const Mode& mode : modes) {
    useful *= mode.extent;
    if (repeats == 1 && mode.stride_bytes - run < sector_bytes) {
      dense = dense && mode.stride_bytes <= run;
      run += (mode.extent - 1) * mode.stride_bytes;
    } else {
      repeats *= mode.extent;
    }
  }
  if (dense && repeats == 1) return useful;
  // A run that starts anywhere inside a sector touches (run - 1) / sector + 1 of them on average.
  const bool on_sectors = run % sector_bytes == 0;
  const double sectors =
      on_sectors ? static_cast<double>(run) / sector_bytes : 1.0 + static_cast<double>(run - 1) / sector_bytes;
  return std::max(useful, static_cast<std::int64_t>(sectors * sector_bytes) * repeats);
}

}  // namespace restride::bench
