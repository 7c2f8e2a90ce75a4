// Views under other extents: reshape, split, merge.
#include <fmt/format.h>

#include "src/base/checked.h"
#include "src/layout/describe.h"
#include "src/layout/view_checks.h"

namespace restride {

using layout::checked_mode;
using layout::require_room;

namespace {

/// `extents` with the -1 among them replaced by what is left of `total`, which their product is then.
/// Errors: ArgumentError: no layout has these; ShapeError, RangeError: `l` has not.
detail::FixedVector<std::int64_t, kMaxRank> resolve_extents(Extents extents, std::int64_t total, const Layout& l,
                                                            const char* what) {
  require_room(l, static_cast<std::int64_t>(extents.size()), what);
  detail::FixedVector<std::int64_t, kMaxRank> out;
  std::int64_t* open = nullptr;
  std::int64_t known = 1;
  bool empty = false;
  bool fits = true;
  for (const std::int64_t e : extents) {
    if (e < -1 || (e == -1 && open != nullptr))
      throw ArgumentError(
          fmt::format("{}: extents {} must be non-negative, one may be -1", what, layout::join(extents)));
    out.push_back(e);
    if (e == -1)
      open = &out.back();
    else if (e == 0)
      empty = true;
    else
      fits = fits && checked_mul(known, e, &known);
  }
  if (open != nullptr && empty)
    throw ArgumentError(fmt::format("{}: extents {}: beside an extent of 0, -1 could be anything; write it out", what,
                                    layout::join(extents)));
  if (empty) known = 0;
  if (!fits && !empty)
    throw RangeError(fmt::format("{}: {} has {} elements, but the product of {} does not fit 63 bits", what,
                                 to_string(l), total, layout::join(extents)));
  if (open != nullptr) {
    if (total % known != 0)
      throw ShapeError(fmt::format("{}: {} elements of {} do not divide into {}; change an extent", what, total,
                                   to_string(l), layout::join(extents)));
    *open = total / known;
    known = total;
  }
  if (known != total)
    throw ShapeError(fmt::format("{}: {} has {} elements but {} holds {}; make the products equal", what, to_string(l),
                                 total, layout::join(extents), known));
  return out;
}

}  // namespace

Layout reshape(const Layout& l, Extents extents) {
  const auto want = resolve_extents(extents, l.elements(), l, "reshape");
  Layout out = l;
  out.modes.clear();
  for (std::int64_t e : want) out.modes.push_back({e, 0});
  if (l.elements() == 0) return out;
  // Runs of one stride, innermost first; every new mode must be cut from a single one.
  Modes runs;
  for (std::size_t i = l.modes.size(); i-- > 0;) {
    const Mode& m = l.modes[i];
    if (m.extent == 1) continue;
    if (!runs.empty() && continues(m.stride_bytes, runs.back().stride_bytes, runs.back().extent))
      runs.back().extent *= m.extent;
    else
      runs.push_back(m);
  }
  std::size_t run = 0;
  std::int64_t left = 1;  // positions of the current run not used up by new modes
  std::int64_t stride = l.element.size_bytes;
  for (std::size_t i = want.size(); i-- > 0;) {
    if (want[i] != 1 && left == 1) {
      left = runs[run].extent;
      stride = runs[run++].stride_bytes;
    }
    if (left % want[i] != 0)
      throw ShapeError(fmt::format("reshape: no strides describe {} as {}; copy it to a contiguous layout first",
                                   to_string(l), layout::join({want.data(), want.size()})));
    out.modes[i].stride_bytes = stride;
    left /= want[i];
    if (!checked_mul(stride, want[i], &stride)) stride = 0;  // of modes of extent 1 only
  }
  return out;
}

Layout split(const Layout& l, int mode, Extents extents) {
  const auto m = static_cast<std::size_t>(checked_mode(l, mode, "split"));
  const auto parts = resolve_extents(extents, l.modes[m].extent, l, "split");
  require_room(l, l.rank() - 1 + static_cast<std::int64_t>(parts.size()), "split");
  Layout out = l;
  out.modes.erase(m);
  std::int64_t stride = l.modes[m].stride_bytes;
  for (std::size_t i = parts.size(); i-- > 0;) {
    out.modes.insert(m, {parts[i], stride});
    if (l.elements() != 0 && !checked_mul(stride, parts[i], &stride)) stride = 0;  // of a mode of extent 1 at most
  }
  return out;
}

Layout merge(const Layout& l, int first, int count) {
  if (count < 1) throw ArgumentError(fmt::format("merge: {} modes of {}; name at least one", count, to_string(l)));
  const auto f = static_cast<std::size_t>(checked_mode(l, first, "merge"));
  const auto last = static_cast<std::size_t>(checked_mode(l, static_cast<std::int64_t>(f) + count - 1, "merge"));
  Layout out = l;
  Mode joined{1, l.modes[last].stride_bytes};
  for (std::size_t i = last + 1; i-- > f;) {
    const Mode& m = l.modes[i];
    if (m.extent == 1) continue;
    if (joined.extent == 1)
      joined.stride_bytes = m.stride_bytes;
    else if (l.elements() != 0 && !continues(m.stride_bytes, joined.stride_bytes, joined.extent))
      throw ShapeError(
          fmt::format("merge: mode {} of {} does not continue the modes behind it in one stride; copy it to a "
                      "contiguous layout first",
                      i, to_string(l)));
    if (!checked_mul(joined.extent, m.extent, &joined.extent))  // of an empty tensor
      throw RangeError(fmt::format("merge: modes {} to {} of {} have a product beyond 63 bits", f, last, to_string(l)));
  }
  for (std::size_t i = f; i <= last; ++i) out.modes.erase(f);
  out.modes.insert(f, joined);
  return out;
}

}  // namespace restride
