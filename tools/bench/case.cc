#include "tools/bench/case.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>
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
  if (!spec.dst_strides_bytes.empty()) {
    if (spec.dst_strides_bytes.size() != extents.size())
      throw ShapeError(
          fmt::format("dst_strides_bytes has {} entries for {}", spec.dst_strides_bytes.size(), to_string(src)));
    return strided(spec.dst, extents, spec.dst_strides_bytes);
  }
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

/// What a slice takes of a mode.
struct Taken {
  bool index = false;  ///< one element, and the mode is gone
  std::int64_t first = 0;
  std::int64_t extent = 0;
  std::int64_t step = 1;
};

Taken taken(const std::vector<std::string>& slices, std::size_t mode, std::int64_t extent) {
  if (mode >= slices.size()) return {false, 0, extent, 1};
  const Layout places = strided(Element::bytes(1), {&extent, 1}, std::vector<std::int64_t>{1});
  const Layout view = slice(places, {&slices[mode], 1});
  if (view.rank() == 0) return {true, view.offset_bytes, 1, 1};
  return {false, view.offset_bytes, view.modes[0].extent, view.modes[0].stride_bytes};
}

/// Lets a slice take the first `extent` elements of what it takes.
void shorten(std::vector<std::string>& slices, std::size_t mode, const Taken& from, std::int64_t extent) {
  if (slices.size() <= mode) slices.resize(mode + 1, ":");
  const std::int64_t stop = from.first + (extent - 1) * from.step + (from.step > 0 ? 1 : -1);
  slices[mode] = fmt::format("{}:{}:{}", from.first, stop < 0 ? "" : std::to_string(stop), from.step);
}

/// Modes of the case's array that are modes of its slice, too.
std::vector<std::size_t> kept_modes(const CaseSpec& spec) {
  std::vector<std::size_t> out;
  for (std::size_t m = 0; m < spec.shape.size(); ++m)
    if (!taken(spec.slice, m, spec.shape[m]).index) out.push_back(m);
  return out;
}

CaseSpec scale_reshaping(CaseSpec spec, std::int64_t factor) {
  const std::vector<std::size_t> modes = kept_modes(spec);
  const std::size_t outermost = modes.empty() ? 0 : modes.front();
  const Taken all = taken(spec.slice, outermost, spec.shape[outermost]);
  const std::int64_t common = std::gcd(all.extent, spec.dst_shape.front());
  for (std::int64_t f = factor; f <= common; ++f) {
    if (common % f != 0) continue;
    if (spec.slice.empty())
      spec.shape.front() /= f;
    else
      shorten(spec.slice, outermost, all, all.extent / f);
    spec.dst_shape.front() /= f;
    return spec;
  }
  throw ShapeError(
      fmt::format("shape and dst_shape have no common divisor of {} or more in their outermost extents, so it cannot "
                  "be made smaller; leave it out or raise --max-mib",
                  factor));
}

/// Cuts the target of a broadcast, and with it the array's own mode where that is not stretched.
void cut_broadcast(CaseSpec& spec, std::size_t mode, std::int64_t extent) {
  const std::int64_t before = std::exchange(spec.broadcast[mode], extent);
  const std::vector<std::size_t> modes = kept_modes(spec);
  const std::size_t inner = mode + modes.size();
  if (inner < spec.broadcast.size()) return;
  const std::size_t own = modes[inner - spec.broadcast.size()];
  const Taken all = taken(spec.slice, own, spec.shape[own]);
  if (all.extent != before) return;
  if (spec.shape[own] == before)
    spec.shape[own] = extent;
  else
    shorten(spec.slice, own, all, extent);
}

/// Cuts a mode of the array, unless a slice takes one element of it, which leaves nothing to cut.
void cut_array(CaseSpec& spec, std::size_t mode, std::int64_t extent) {
  const std::int64_t before = spec.shape[mode];
  if (taken(spec.slice, mode, before).index) return;
  spec.shape[mode] = extent;
  while (larger_side_bytes(spec) == 0 && spec.shape[mode] < before)
    spec.shape[mode] = std::min(before, 2 * spec.shape[mode]);  // a slice begins behind the cut
}

/// Cuts the destination's slice to the extents that the scaled source has left.
CaseSpec narrow_destination(CaseSpec spec) {
  const Layout src = source_view(spec);
  int mode = 0;  // of src
  for (std::size_t m = 0; m < spec.dst_slice_of.size(); ++m) {
    const Taken all = taken(spec.dst_slice, m, spec.dst_slice_of[m]);
    if (all.index || mode == src.rank()) continue;
    const std::int64_t extent = src.modes[static_cast<std::size_t>(mode++)].extent;
    if (extent < all.extent) shorten(spec.dst_slice, m, all, extent);
  }
  return spec;
}

CaseSpec scaled(const CaseSpec& spec, std::int64_t max_bytes) {
  CaseSpec out = spec;
  const auto factor = [&] { return (larger_side_bytes(out) + max_bytes - 1) / max_bytes; };
  if (factor() <= 1) return out;
  if (!out.dst_shape.empty() && !out.shape.empty()) return scale_reshaping(out, factor());
  const bool stretched = !out.broadcast.empty();
  const std::vector<std::int64_t>& extents = stretched ? out.broadcast : out.shape;
  for (const std::int64_t floor : {kKeepExtent, std::int64_t{1}})
    for (std::size_t m = 0; m < extents.size() && factor() > 1; ++m)
      (stretched ? cut_broadcast : cut_array)(out, m, cut(extents[m], factor(), floor));
  if (factor() > 1)
    throw ShapeError(fmt::format("nothing is left to cut at {} bytes, so it cannot be made smaller; raise --max-mib",
                                 larger_side_bytes(out)));
  return narrow_destination(out);
}

Case built(const CaseSpec& spec) {
  Case out;
  out.spec = spec;
  const Layout src = source_view(spec);
  const Layout dst = destination_view(spec, src);
  if (src.elements() != dst.elements())
    throw ShapeError(fmt::format("{} elements do not fit into {} ({} into {})", src.elements(), dst.elements(),
                                 to_string(src), to_string(dst)));
  if (!spec.dst_slice_of.empty() && extents_of(src) != extents_of(dst))
    throw ShapeError(fmt::format("dst_slice selects {} but the source is {}", to_string(dst), to_string(src)));
  out.reshape = extents_of(src) != extents_of(dst);
  out.src = place(src);
  out.dst = place(dst);
  return out;
}

/// Throws what a scaled case has that the case as written has not.
void require_built(const CaseSpec& spec) try { built(spec); } catch (const Error& e) {
  throw ShapeError(
      fmt::format("cut to size, {}, so it cannot be made smaller; leave it out or raise --max-mib", e.what()));
}

}  // namespace

Case build_case(const CaseSpec& spec) try { return built(spec); } catch (const Error& e) {
  throw Error(e.code(), fmt::format("case {}: {}", spec.name, e.what()));
}

CaseSpec with_element(const CaseSpec& spec, Element element) {
  const bool given = !spec.strides_bytes.empty() || !spec.dst_strides_bytes.empty();
  if (spec.src != spec.dst || given || spec.src == element) return spec;
  CaseSpec out = spec;
  out.src = out.dst = element;
  out.name += fmt::format("@{}", to_string(element));
  if (!out.case_class.empty()) out.case_class += fmt::format("@{}", to_string(element));
  return out;
}

CaseSpec scale_to(const CaseSpec& spec, std::int64_t max_bytes) try {
  if (max_bytes <= 0) throw ArgumentError("the size cap must be positive");
  built(spec);  // what is wrong with the case is no matter of its size
  CaseSpec out = scaled(spec, max_bytes);
  require_built(out);
  return out;
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
