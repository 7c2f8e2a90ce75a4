// Views: functions from a layout to a layout.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "src/base/checked.h"
#include "src/layout/describe.h"

namespace restride {
namespace {

int checked_mode(const Layout& l, std::int64_t mode, const char* what) {
  const std::int64_t m = mode < 0 ? mode + l.rank() : mode;
  if (m < 0 || m >= l.rank())
    throw ShapeError(fmt::format("{}: mode {} of {}, which has {} modes; use 0 to {} or -{} to -1", what, mode,
                                 to_string(l), l.rank(), l.rank() - 1, l.rank()));
  return static_cast<int>(m);
}

void require_room(const Layout& l, std::int64_t rank, const char* what) {
  if (rank > kMaxRank)
    throw ArgumentError(fmt::format("{}: {} would have {} modes; the limit is {}", what, to_string(l), rank, kMaxRank));
}

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

Layout permute(const Layout& l, Extents axes) {
  if (axes.size() != l.modes.size())
    throw ShapeError(fmt::format("permute: {} axes {} for {}, which has {} modes; give each mode once", axes.size(),
                                 layout::join(axes), to_string(l), l.rank()));
  Layout out = l;
  std::uint64_t seen = 0;
  for (std::size_t j = 0; j < axes.size(); ++j) {
    const int m = checked_mode(l, axes[j], "permute");
    if ((seen >> m) & 1)
      throw ShapeError(fmt::format("permute: axes {} name mode {} twice; give each mode once", layout::join(axes), m));
    seen |= std::uint64_t{1} << m;
    out.modes[j] = l.modes[static_cast<std::size_t>(m)];
  }
  return out;
}

Layout permute(const Layout& l, std::initializer_list<std::int64_t> axes) {
  return permute(l, Extents(axes.begin(), axes.size()));
}

Layout slice(const Layout& l, int mode, std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
             std::int64_t step) {
  const auto m = static_cast<std::size_t>(checked_mode(l, mode, "slice"));
  if (step == 0) throw ArgumentError(fmt::format("slice: mode {} has step 0; use 1, or a negative step to reverse", m));
  const std::int64_t n = l.modes[m].extent;
  // Python's rule: where an index may stand depends on the direction of the walk.
  const std::int64_t lowest = step > 0 ? 0 : -1;
  const std::int64_t highest = step > 0 ? n : n - 1;
  const auto place = [&](std::int64_t i) { return std::clamp(i < 0 ? i + n : i, lowest, highest); };
  const std::int64_t first = start ? place(*start) : (step > 0 ? lowest : highest);
  const std::int64_t last = stop ? place(*stop) : (step > 0 ? highest : lowest);
  const std::uint64_t distance = static_cast<std::uint64_t>(step > 0 ? last - first : first - last);
  const bool none = step > 0 ? last <= first : last >= first;
  Layout out = l;
  Mode& mode_out = out.modes[m];
  mode_out.extent = none ? 0 : static_cast<std::int64_t>((distance - 1) / magnitude(step) + 1);
  // Where there are no elements at all, places need not fit and do not matter.
  if (l.elements() == 0) return out;
  if (mode_out.extent > 0) out.offset_bytes += first * l.modes[m].stride_bytes;
  // A single element has no next one, so its stride may keep the old value; more than one fits by construction.
  if (mode_out.extent > 1) mode_out.stride_bytes = l.modes[m].stride_bytes * step;
  return out;
}

Layout slice(const Layout& l, std::span<const std::string> slices) {
  if (slices.size() > l.modes.size())
    throw ShapeError(
        fmt::format("slice: {} slices for {}, which has {} modes; drop some", slices.size(), to_string(l), l.rank()));
  Layout out = l;
  int mode = 0;
  for (const std::string& text : slices) {
    detail::FixedVector<std::optional<std::int64_t>, 3> parts;
    bool has_colon = false;
    const auto malformed = [&]() -> ParseError {
      return ParseError(fmt::format("slice '{}': write start:stop, start:stop:step or an index, as in Python", text));
    };
    for (std::size_t at = 0;; ++at) {
      while (at < text.size() && text[at] == ' ') ++at;
      std::optional<std::int64_t> value;
      if (at < text.size() && text[at] != ':') {
        std::int64_t v = 0;
        const char* begin = text.data() + at + (text[at] == '+' ? 1 : 0);
        const auto [end, error] = std::from_chars(begin, text.data() + text.size(), v);
        if (error == std::errc::result_out_of_range)
          throw ParseError(
              fmt::format("slice '{}': a number there does not fit 63 bits; leave it out to mean the end", text));
        if (error != std::errc{}) throw malformed();
        value = v;
        at = static_cast<std::size_t>(end - text.data());
        while (at < text.size() && text[at] == ' ') ++at;
      }
      if (parts.full()) throw malformed();
      parts.push_back(value);
      if (at == text.size()) break;
      if (text[at] != ':') throw malformed();
      has_colon = true;
    }
    if (has_colon) {
      const std::optional<std::int64_t> step = parts.size() == 3 ? parts[2] : std::nullopt;
      out = slice(out, mode, parts[0], parts[1], step.value_or(1));
      ++mode;
      continue;
    }
    if (!parts[0]) throw malformed();
    const std::int64_t n = out.modes[static_cast<std::size_t>(mode)].extent;
    const std::int64_t index = *parts[0] < 0 ? *parts[0] + n : *parts[0];
    if (index < 0 || index >= n)
      throw ShapeError(fmt::format("slice: index {} of mode {} in {}, which has {} elements there", *parts[0], mode,
                                   to_string(l), n));
    if (l.elements() > 0) out.offset_bytes += index * out.modes[static_cast<std::size_t>(mode)].stride_bytes;
    out.modes.erase(static_cast<std::size_t>(mode));
  }
  return out;
}

Layout flip(const Layout& l, int mode) {
  checked_mode(l, mode, "flip");
  return slice(l, mode, std::nullopt, std::nullopt, -1);
}

Layout broadcast_to(const Layout& l, Extents extents) {
  if (extents.size() < l.modes.size())
    throw ShapeError(fmt::format("broadcast: {} has {} modes but {} only {}; a broadcast never drops modes",
                                 to_string(l), l.rank(), layout::join(extents), extents.size()));
  require_room(l, static_cast<std::int64_t>(extents.size()), "broadcast");
  Layout out = l;
  out.modes.clear();
  const std::size_t added = extents.size() - l.modes.size();
  for (std::size_t i = 0; i < extents.size(); ++i) {
    Mode m{extents[i], 0};
    if (i >= added) {
      const Mode& old = l.modes[i - added];
      if (old.extent == extents[i])
        m = old;
      else if (old.extent != 1)
        throw ShapeError(
            fmt::format("broadcast: mode {} of {} has extent {}, which cannot become {}; only extent 1 stretches",
                        i - added, to_string(l), old.extent, extents[i]));
    }
    out.modes.push_back(m);
  }
  validate(out);
  return out;
}

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

Layout squeeze(const Layout& l, int mode) {
  const auto m = static_cast<std::size_t>(checked_mode(l, mode, "squeeze"));
  if (l.modes[m].extent != 1)
    throw ShapeError(
        fmt::format("squeeze: mode {} of {} has extent {}; only extent 1 can go", m, to_string(l), l.modes[m].extent));
  Layout out = l;
  out.modes.erase(m);
  return out;
}

Layout unsqueeze(const Layout& l, int mode) {
  const std::int64_t m = mode < 0 ? mode + l.rank() + 1 : mode;
  if (m < 0 || m > l.rank())
    throw ShapeError(fmt::format("unsqueeze: place {} in {}; use 0 to {}", mode, to_string(l), l.rank()));
  require_room(l, l.rank() + 1, "unsqueeze");
  Layout out = l;
  out.modes.insert(static_cast<std::size_t>(m), {1, 0});
  return out;
}

Layout reinterpret(const Layout& l, Element element) {
  if (element.size_bytes != l.element.size_bytes)
    throw CastError(fmt::format("reinterpret: {} as {}: elements of {} and {} bytes; only equal sizes can be renamed",
                                to_string(l), to_string(element), l.element.size_bytes, element.size_bytes));
  Layout out = l;
  out.element = element;
  validate(out);
  return out;
}

}  // namespace restride
