#include "tools/view_sequence.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace restride::tools {
namespace {

using Group = ViewSequence::Group;
using Shape = std::vector<std::int64_t>;

std::int64_t product(const Group& group) {
  std::int64_t out = 1;
  for (const Mode& m : group) out *= m.extent;
  return out;
}

Shape extents_of(const Modes& modes) {
  Shape out;
  for (const Mode& m : modes) out.push_back(m.extent);
  return out;
}

/// The same positions in C order in as few modes as strides can say, none of extent 1.
Group merged(const Group& modes) {
  Group out;  // innermost first
  for (auto m = modes.rbegin(); m != modes.rend(); ++m) {
    if (m->extent == 1) continue;
    std::int64_t next = 0;
    if (!out.empty() && !__builtin_mul_overflow(out.back().stride_bytes, out.back().extent, &next) &&
        next == m->stride_bytes)
      out.back().extent *= m->extent;
    else
      out.push_back(*m);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

/// What of a list of modes is not used up yet, from the innermost on.
class Rest {
 public:
  explicit Rest(Group modes) : modes_(std::move(modes)) {}
  bool empty() const { return modes_.empty(); }
  std::int64_t extent() const { return modes_.back().extent; }
  /// Cuts `count` positions off the innermost mode, whose extent it divides.
  Mode take(std::int64_t count) {
    Mode& m = modes_.back();
    const Mode taken{count, m.stride_bytes};
    m.extent /= count;
    if (m.extent == 1)
      modes_.pop_back();
    else
      m.stride_bytes *= count;
    return taken;
  }

 private:
  Group modes_;
};

/// One group an extent, or nothing where an extent cuts across the modes.
std::optional<std::vector<Group>> regrouped(const Group& modes, const Shape& extents) {
  Rest rest(merged(modes));
  std::vector<Group> out(extents.size());
  for (std::size_t i = extents.size(); i-- > 0;) {
    for (std::int64_t need = extents[i]; need != 1;) {
      const std::int64_t have = rest.extent();
      if (have % need != 0 && need % have != 0) return std::nullopt;
      const std::int64_t count = std::min(have, need);
      out[i].insert(out[i].begin(), rest.take(count));
      need /= count;
    }
  }
  return out;
}

void flip_group(Group& group, std::int64_t& offset) {
  for (Mode& m : group) {
    offset += (m.extent - 1) * m.stride_bytes;
    m.stride_bytes = -m.stride_bytes;
  }
}

/// Leaves positions start, start + step, ... of a group, `count` > 0 of them. False where no strides can.
bool cut(Group& group, std::int64_t start, std::int64_t step, std::int64_t count, std::int64_t& offset) {
  group = merged(group);
  if (group.empty()) return true;
  if (count == 1) step = 1;
  if (step < 0) {
    const bool done = cut(group, start + (count - 1) * step, -step, count, offset);
    flip_group(group, offset);
    return done;
  }
  Mode& outer = group.front();
  if (group.size() == 1) {
    offset += start * outer.stride_bytes;
    outer = {count, outer.stride_bytes * step};
    return true;
  }
  Group inner(group.begin() + 1, group.end());
  const std::int64_t n = product(inner);
  const std::int64_t row = start / n, column = start % n, last_row = (start + (count - 1) * step) / n;
  if (row == last_row) {
    offset += row * outer.stride_bytes;
    group = std::move(inner);
    return cut(group, column, step, count, offset);
  }
  if (step % n == 0) {
    if (!cut(inner, column, 1, 1, offset)) return false;
    offset += row * outer.stride_bytes;
    group = {{count, outer.stride_bytes * (step / n)}};
    return true;
  }
  // Every row from the same column on, and to its end.
  if (n % step != 0 || column >= step || count % (n / step) != 0) return false;
  offset += row * outer.stride_bytes;
  const Mode rows{count / (n / step), outer.stride_bytes};
  if (!cut(inner, column, step, n / step, offset)) return false;
  group = std::move(inner);
  group.insert(group.begin(), rows);
  return true;
}

Group flat(const std::vector<Group>& groups) {
  Group out;
  for (const Group& g : groups) out.insert(out.end(), g.begin(), g.end());
  return out;
}

/// What one strided copy cannot do; the remedy is two.
ShapeError too_much(const Layout& shape, const std::string& what) {
  return ShapeError(
      fmt::format("{} of {} takes more than one pass over the data, because no strides describe it; copy with the "
                  "options in front of it into a file, then that file with the others",
                  what, to_string(shape)));
}

/// Without modes of extent 1 where there is no room for them.
void fit_rank(Layout& dst, Layout& src, const Group& d, const Group& s) {
  const bool all = d.size() <= static_cast<std::size_t>(kMaxRank);
  dst.modes.clear(), src.modes.clear();
  for (std::size_t i = 0; i < d.size(); ++i) {
    if (!all && d[i].extent == 1) continue;
    dst.modes.push_back(d[i]), src.modes.push_back(s[i]);
  }
}

}  // namespace

ViewSequence::ViewSequence(const Layout& input) : element_(input.element), offset_(input.offset_bytes) {
  for (const Mode& m : input.modes) groups_.push_back({m});
  empty_if_nothing_is_left();
}

std::int64_t ViewSequence::extent(std::size_t mode) const { return product(groups_[mode]); }

Layout ViewSequence::contiguous() const {
  Shape extents;
  for (const Group& g : groups_) extents.push_back(product(g));
  return restride::contiguous(element_, extents);
}

// An array without elements is its shape and no more.
void ViewSequence::empty_if_nothing_is_left() {
  const auto none = [](const Group& g) { return product(g) == 0; };
  if (std::none_of(groups_.begin(), groups_.end(), none)) return;
  for (Group& g : groups_) g = {{product(g), 0}};
  offset_ = 0;
  before_.reset();
}

void ViewSequence::slice(const std::vector<std::string>& entries) {
  (void)restride::slice(contiguous(), entries);  // its errors name the mode
  std::vector<Group> left;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Group& group = groups_[i];
    if (i >= entries.size()) {
      left.push_back(std::move(group));
      continue;
    }
    const Element unit = DType::kU8;  // positions, not bytes of the array
    const Layout positions = restride::slice(restride::contiguous(unit, {product(group)}), std::span(&entries[i], 1));
    const bool index = positions.rank() == 0;
    const Mode m = index ? Mode{1, 1} : positions.modes[0];
    if (m.extent == 0)
      group = {{0, 0}};
    else if (product(group) != 0 && !cut(group, positions.offset_bytes, m.stride_bytes, m.extent, offset_))
      throw too_much(contiguous(), fmt::format("--slice: entry '{}'", entries[i]));
    if (!index) left.push_back(std::move(group));
  }
  groups_ = std::move(left);
  empty_if_nothing_is_left();
}

void ViewSequence::flip(const std::vector<std::int64_t>& modes) {
  const auto rank = static_cast<std::int64_t>(groups_.size());
  std::set<std::int64_t> seen;
  for (const std::int64_t mode : modes) {
    if (rank == 0) throw ShapeError(fmt::format("--flip {}: {} has no modes", mode, to_string(contiguous())));
    if (mode < -rank || mode >= rank)
      throw ShapeError(fmt::format("--flip {}: {} has modes {} to {}", mode, to_string(contiguous()), -rank, rank - 1));
    const std::int64_t m = mode < 0 ? mode + rank : mode;
    if (!seen.insert(m).second)
      throw ShapeError(
          fmt::format("--flip: modes ({}) name mode {} twice; give each mode once", fmt::join(modes, ","), m));
    flip_group(groups_[static_cast<std::size_t>(m)], offset_);
  }
  empty_if_nothing_is_left();
}

void ViewSequence::broadcast(Extents extents) {
  (void)broadcast_to(contiguous(), extents);
  std::vector<Group> out(extents.size());
  const std::size_t added = extents.size() - groups_.size();
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const bool same = i >= added && extent(i - added) == extents[i];
    out[i] = same ? groups_[i - added] : Group{{extents[i], 0}};
  }
  groups_ = std::move(out);
  empty_if_nothing_is_left();
}

void ViewSequence::permute(Extents axes) {
  (void)restride::permute(contiguous(), axes);
  std::vector<Group> out;
  for (const std::int64_t axis : axes)
    out.push_back(
        groups_[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(groups_.size()) : axis)]);
  groups_ = std::move(out);
}

void ViewSequence::rot90(std::int64_t quarters) {
  if (groups_.size() < 2)
    throw ShapeError(
        fmt::format("--rot90 {}: {} has fewer than the two modes that it turns", quarters, to_string(contiguous())));
  const std::int64_t turns = (quarters % 4 + 4) % 4;
  if (turns == 1 || turns == 2) flip_group(groups_[1], offset_);
  if (turns == 2 || turns == 3) flip_group(groups_[0], offset_);
  if (turns % 2 == 1) std::swap(groups_[0], groups_[1]);
  empty_if_nothing_is_left();
}

void ViewSequence::reshape_to(const std::vector<std::int64_t>& extents) {
  const Layout shape = contiguous();
  if (shape.elements() == 0) {
    groups_.clear();
    for (const std::int64_t e : extents) groups_.push_back({{e, 0}});
    return;
  }
  if (std::optional<std::vector<Group>> regroup = regrouped(flat(groups_), extents)) {
    groups_ = std::move(*regroup);
    return;
  }
  if (before_) throw too_much(shape, fmt::format("the shape ({})", fmt::join(extents, ",")));
  before_ = shape;
  before_->offset_bytes = offset_;
  before_->modes.clear();
  for (const Mode& m : merged(flat(groups_))) before_->modes.push_back(m);
  const Layout positions = restride::contiguous(DType::kU8, extents);
  groups_.clear();
  for (const Mode& m : positions.modes) groups_.push_back({m});
  offset_ = 0;
}

void ViewSequence::reshape(Extents extents) { reshape_to(extents_of(restride::reshape(contiguous(), extents).modes)); }

void ViewSequence::rearrange(std::string_view pattern, std::span<const std::pair<std::string, std::int64_t>> sizes) {
  const Rearrangement r = restride::rearrange(contiguous(), pattern, sizes);
  if (contiguous().elements() == 0 || r.source.elements() == 0) {
    groups_.clear();
    for (const std::int64_t extent : r.shape) groups_.push_back({{extent, 0}});
    empty_if_nothing_is_left();
    return;
  }
  // The modes of the left side come in the order of their strides; those without one are new.
  const auto is_new = [](const Mode& m) { return m.extent == 1 || m.stride_bytes == 0; };
  std::vector<Mode> left;
  std::copy_if(r.source.modes.begin(), r.source.modes.end(), std::back_inserter(left),
               [&](const Mode& m) { return !is_new(m); });
  std::sort(left.begin(), left.end(), [](const Mode& a, const Mode& b) { return a.stride_bytes > b.stride_bytes; });
  Shape split;
  for (const Mode& m : left) split.push_back(m.extent);
  reshape_to(split);
  Group all;
  std::vector<std::size_t> ends;  // in `all`, behind each mode of extent above 1
  Shape ended;
  for (const Mode& m : r.source.modes) {
    if (m.extent == 1) continue;
    const auto at = static_cast<std::size_t>(std::find(left.begin(), left.end(), m) - left.begin());
    const Group part = is_new(m) ? Group{m} : groups_[at];
    all.insert(all.end(), part.begin(), part.end());
    ends.push_back(all.size()), ended.push_back(m.extent);
  }
  std::vector<Group> out;
  std::size_t from = 0, next = 0;
  for (const std::int64_t extent : r.shape) {
    std::int64_t have = 1;
    for (; have < extent; ++next) have *= ended[next];
    const std::size_t to = next == 0 ? 0 : ends[next - 1];
    out.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(from), all.begin() + static_cast<std::ptrdiff_t>(to));
    from = to;
  }
  groups_ = std::move(out);
}

ViewSequence::Pair ViewSequence::into(const Layout& result) const {
  Layout dst = result, src{element_, {}, offset_};
  if (result.elements() == 0) {
    src.modes = result.modes;
    return {dst, src};
  }
  Group d, s;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const std::size_t first = s.size();
    s.insert(s.end(), groups_[i].begin(), groups_[i].end());
    if (s.size() == first) s.push_back({1, 0});
    std::int64_t stride = result.modes[i].stride_bytes;
    d.resize(s.size());
    for (std::size_t j = s.size(); j-- > first; stride *= s[j].extent) d[j] = {s[j].extent, stride};
  }
  fit_rank(dst, src, d, s);
  return before_ ? backwards({dst, src, false}) : Pair{dst, src, false};
}

// Every position of the source's C order is written once, so the destination's modes can be put into that order; the
// two lists are then cut where either ends; where that is inside a mode, the library pairs them by their order.
ViewSequence::Pair ViewSequence::backwards(Pair views) const {
  const ShapeError beyond = too_much(*before_, "the new shape");
  std::vector<std::pair<Mode, Mode>> modes;  // of positions, of the destination
  for (std::size_t i = 0; i < views.src.modes.size(); ++i) {
    Mode position = views.src.modes[i], d = views.dst.modes[i];
    if (position.extent == 1) continue;
    if (position.stride_bytes == 0) throw beyond;
    if (position.stride_bytes < 0) {
      position.stride_bytes = -position.stride_bytes;
      views.dst.offset_bytes += (d.extent - 1) * d.stride_bytes;
      d.stride_bytes = -d.stride_bytes;
    }
    modes.emplace_back(position, d);
  }
  if (views.src.elements() != before_->elements()) throw beyond;
  std::sort(modes.begin(), modes.end(),
            [](const auto& a, const auto& b) { return a.first.stride_bytes > b.first.stride_bytes; });
  Group in_order;
  for (const auto& [position, d] : modes) in_order.push_back(d);
  Rest dst(merged(in_order)), src(Group(before_->modes.begin(), before_->modes.end()));
  Group d, s;
  while (!dst.empty()) {
    const std::int64_t count = std::min(dst.extent(), src.extent());
    if (dst.extent() % count != 0 || src.extent() % count != 0) {  // neither list can be cut to the other
      Pair out{views.dst, *before_, true};
      out.dst.modes.clear();
      for (const Mode& m : merged(in_order)) out.dst.modes.push_back(m);
      return out;
    }
    d.insert(d.begin(), dst.take(count));
    s.insert(s.begin(), src.take(count));
  }
  Pair out{views.dst, *before_, false};
  for (std::size_t i = 0; i < d.size(); ++i) {  // files are written upwards
    if (d[i].stride_bytes >= 0) continue;
    out.dst.offset_bytes += (d[i].extent - 1) * d[i].stride_bytes;
    out.src.offset_bytes += (s[i].extent - 1) * s[i].stride_bytes;
    d[i].stride_bytes = -d[i].stride_bytes;
    s[i].stride_bytes = -s[i].stride_bytes;
  }
  fit_rank(out.dst, out.src, d, s);
  return out;
}

}  // namespace restride::tools
