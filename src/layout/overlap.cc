// Does a destination write an element twice; do two views share a byte?
//
// Both questions ask for integers v_k in [lo_k, hi_k] with  sum v_k * stride_k + delta  in (-below, above).
// Sorted by stride, all but the largest few variables are pinned by what the smaller ones can still reach,
// so a depth-first search answers in a handful of steps for every layout that occurs. A budget bounds the
// rest; past it the answer is "yes", which refuses.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/checked.h"
#include "src/layout/canonical.h"

namespace restride::layout {
namespace {

using Wide = __int128;

Wide address(const void* p) noexcept { return static_cast<Wide>(reinterpret_cast<std::uintptr_t>(p)); }

struct Term {
  Wide stride = 0;  // > 0
  Wide lo = 0;
  Wide hi = 0;
};

class Search {
 public:
  Search(Wide below, Wide above) : below_(below), above_(above) {}

  /// Adds a variable; a negative stride mirrors its range. Equal strides share one variable.
  void add(std::int64_t stride, std::int64_t lo, std::int64_t hi) {
    Term t{stride, lo, hi};
    if (stride < 0) t = {-Wide{stride}, -Wide{hi}, -Wide{lo}};
    for (Term& other : terms_)
      if (other.stride == t.stride) {
        other.lo += t.lo;
        other.hi += t.hi;
        return;
      }
    terms_.push_back(t);
  }

  bool hits(Wide delta) {
    std::sort(terms_.begin(), terms_.end(), [](const Term& a, const Term& b) { return a.stride > b.stride; });
    min_[terms_.size()] = max_[terms_.size()] = 0;
    for (std::size_t k = terms_.size(); k-- > 0;) {
      min_[k] = min_[k + 1] + terms_[k].stride * terms_[k].lo;
      max_[k] = max_[k + 1] + terms_[k].stride * terms_[k].hi;
    }
    budget_ = kBudget;
    return descend(0, delta);
  }

  /// False when the search gave up: its "yes" has no place.
  bool found() const { return budget_ >= 0; }
  /// What the variables that count upwards, or downwards, reach together in the place that was found.
  Wide reached(bool upwards) const {
    Wide sum = 0;
    if (!found()) return sum;
    for (std::size_t k = 0; k < terms_.size(); ++k)
      sum += std::max<Wide>(upwards ? at_[k] : -at_[k], 0) * terms_[k].stride;
    return sum;
  }

 private:
  static constexpr int kBudget = 20000;

  static Wide floor_div(Wide a, Wide b) { return a / b - ((a % b != 0 && a < 0) ? 1 : 0); }

  bool descend(std::size_t k, Wide sum) {
    if (--budget_ < 0) return true;
    if (k == terms_.size()) return sum > -below_ && sum < above_;
    // sum + v*stride + [min, max of the rest] must meet (-below, above).
    const Term& t = terms_[k];
    const Wide first = std::max(t.lo, -floor_div(-(-below_ + 1 - sum - max_[k + 1]), t.stride));
    const Wide last = std::min(t.hi, floor_div(above_ - 1 - sum - min_[k + 1], t.stride));
    for (Wide v = first; v <= last; ++v) {
      at_[k] = v;
      if (descend(k + 1, sum + v * t.stride)) return true;
    }
    return false;
  }

  Wide below_;
  Wide above_;
  detail::FixedVector<Term, 2 * kMaxRank> terms_;
  Wide min_[2 * kMaxRank + 1];
  Wide max_[2 * kMaxRank + 1];
  Wide at_[2 * kMaxRank];  // the variables' values on the way down
  int budget_ = kBudget;
};

struct Ranked {
  std::int64_t extent;
  std::int64_t stride;  // magnitude
  int mode;
};

}  // namespace

void require_one_to_one(const Layout& dst) {
  detail::FixedVector<Ranked, kMaxRank> modes;
  for (int i = 0; i < dst.rank(); ++i) {
    const Mode& m = dst.modes[static_cast<std::size_t>(i)];
    if (m.extent == 0) return;
    if (m.extent > 1) modes.push_back({m.extent, static_cast<std::int64_t>(magnitude(m.stride_bytes)), i});
  }
  std::sort(modes.begin(), modes.end(), [](const Ranked& a, const Ranked& b) { return a.stride < b.stride; });

  // Nested: every mode steps over all that the smaller ones reach. This settles nearly every layout.
  std::int64_t reach = dst.element.size_bytes;
  const Ranked* culprit = nullptr;
  std::int64_t needed = 0;
  for (const Ranked& m : modes) {
    if (m.stride < reach && culprit == nullptr) {
      culprit = &m;
      needed = reach;
    }
    reach += (m.extent - 1) * m.stride;
  }
  if (culprit == nullptr) return;
  if (culprit->stride == 0) needed = reach;  // outside of all that the other modes reach

  // Not nested: look for two index tuples less than an element apart. The first differing mode, by size,
  // may be taken to differ upwards.
  const std::int64_t size = dst.element.size_bytes;
  const std::int64_t lowest = byte_range(dst).first;
  std::int64_t first = lowest, last = lowest + size - 1;  // bytes written twice
  bool twice = false, found = true;
  for (std::size_t k = modes.size(); k-- > 0 && !twice;) {
    Search search(size, size);
    for (std::size_t j = 0; j < k; ++j)
      search.add(std::max<std::int64_t>(modes[j].stride, 1), modes[j].stride == 0 ? 0 : 1 - modes[j].extent,
                 modes[j].stride == 0 ? 0 : modes[j].extent - 1);
    if (modes[k].stride == 0) {
      twice = true;
      break;
    }
    // v_k >= 1: shift by one stride and let the rest run from 0.
    search.add(modes[k].stride, 0, modes[k].extent - 2);
    twice = search.hits(modes[k].stride);
    if (!twice) continue;
    // Of two elements that meet, one has the indices that count upwards, the other those that count downwards.
    found = search.found();
    const auto one = lowest + static_cast<std::int64_t>(modes[k].stride + search.reached(true));
    const auto other = lowest + static_cast<std::int64_t>(search.reached(false));
    first = std::max(one, other);
    last = std::min(one, other) + size - 1;
  }
  if (!twice) return;
  const bool whole = needed % size == 0;
  const std::string where = found ? fmt::format("bytes {} to {}", first, last) : "some bytes, as far as can be told,";
  throw OverlapError(fmt::format("dst overlaps itself: {} writes {} twice; give mode {} a stride of at least {}{}",
                                 to_string(dst), where, culprit->mode, whole ? needed / size : needed,
                                 whole ? " elements" : " bytes"));
}

Reach reach_of(const Layout& layout) noexcept {
  if (layout.elements() == 0) return {};
  // Modular: a plan asks before its layouts are checked, and is refused where they reach further than 63 bits.
  std::uint64_t before = 0, behind = static_cast<std::uint64_t>(layout.element.size_bytes);
  for (const Mode& m : layout.modes) {
    const auto steps = static_cast<std::uint64_t>(m.extent - 1) * static_cast<std::uint64_t>(m.stride_bytes);
    (static_cast<std::int64_t>(steps) < 0 ? before : behind) += steps;
  }
  return {static_cast<std::int64_t>(before), static_cast<std::int64_t>(behind)};
}

bool apart(const void* dst, const Reach& dst_reach, const void* src, const Reach& src_reach) noexcept {
  const Wide d = address(dst), s = address(src);
  return d + dst_reach.behind <= s + src_reach.before || s + src_reach.behind <= d + dst_reach.before;
}

bool may_overlap(const void* dst_data, const Layout& dst, const void* src_data, const Layout& src) {
  // Data pointers may have wrapped; those of the first elements have not.
  const void *const d_first = moved(dst_data, dst.offset_bytes), *const s_first = moved(src_data, src.offset_bytes);
  const Reach d_reach = reach_of(dst), s_reach = reach_of(src);
  if (d_reach.behind == 0 || s_reach.behind == 0 || apart(d_first, d_reach, s_first, s_reach)) return false;
  const Wide d = address(d_first), s = address(s_first);
  // A dst byte meets a src byte: dst - src in (-size_dst, size_src).
  Search search(dst.element.size_bytes, src.element.size_bytes);
  for (const Mode& m : dst.modes)
    if (m.extent > 1 && m.stride_bytes != 0) search.add(m.stride_bytes, 0, m.extent - 1);
  for (const Mode& m : src.modes)
    if (m.extent > 1 && m.stride_bytes != 0) search.add(m.stride_bytes, 1 - m.extent, 0);
  return search.hits(d - s);
}

}  // namespace restride::layout
