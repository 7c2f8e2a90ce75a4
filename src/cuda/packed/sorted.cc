// Packed's loose runs of small units on CUDA, sorted by where they start: a lane then looks its places up once for all
// its rows.
#include <algorithm>
#include <bit>
#include <span>

#include "src/cuda/packed/banks.h"
#include "src/cuda/packed/lattice.h"

namespace restride::cuda::packed {

namespace {

/// The rows of a loose tile as its kernel sorts them, by where they start in a word of dst.
struct Sorted {
  static constexpr int kMost = 1024;        // of more rows none are sorted
  std::array<std::uint32_t, kMost> inside;  // bytes of src
  std::array<std::uint16_t, kMost> order;
  std::array<int, 17> first{};  // in `order`, of those that start at a byte
  int step = 0, most = 0;       // where rows may start, in bytes; rows that start alike

  explicit Sorted(const PackedArgs& a) {
    if (a.rows > kMost) return;
    std::int64_t bits = 16;
    for (int m = 0; m < a.row_modes.rank; ++m) bits |= a.row_modes.dst_stride[m];
    step = static_cast<int>(bits & -bits);
    const auto rows = static_cast<std::size_t>(a.rows);
    std::array<std::uint32_t, kMost> starts;
    fill_sums(a.row_modes, std::span(starts).first(rows), 0, [&](std::size_t m) { return a.row_modes.dst_stride[m]; });
    fill_sums(a.row_modes, std::span(inside).first(rows), 0, [&](std::size_t m) { return a.row_modes.src_stride[m]; });
    std::array<int, 16> at{};
    for (std::size_t r = 0; r < rows; ++r) ++at[starts[r] & 15];
    most = *std::max_element(at.begin(), at.end());
    for (std::size_t i = 0; i < at.size(); ++i) {
      first[i + 1] = first[i] + at[i];
      at[i] = first[i];
    }
    for (std::size_t r = 0; r < rows; ++r)
      order[static_cast<std::size_t>(at[starts[r] & 15]++)] = static_cast<std::uint16_t>(r);
  }

  /// Makes way.store the lattice of `across` words side by side whose lines are dealt to the starts, and sets
  /// way.threads; false when there are more starts than lines, too few rows, or no room for the table.
  bool deal(const PackedArgs& a, std::int64_t words, std::int64_t across, SortedWay& way) const {
    const std::int64_t rounds = step == 0 ? 0 : kPackedThreads / across / (16 / step);
    if (rounds == 0 || a.rows <= kPackedThreads / across) return false;
    const std::int64_t lines = rounds * (16 / step), passes = ceil_div(most, rounds);
    constexpr std::int64_t kLeastBusy = kPackedThreads * 5 / 8;
    if (across * lines <= kLeastBusy) return false;
    if (a.shared_bytes + (lines * passes - a.rows) * 16 > kMostShared) return false;
    way.threads = static_cast<std::int32_t>(ceil_div(across * lines, 32) * 32);
    way.store.across = base::FastDiv(across);
    way.store.lines = static_cast<std::int32_t>(lines);
    way.store.passes = base::FastDiv(passes);
    way.store.steps = static_cast<std::int32_t>(ceil_div(words, across) * passes);
    way.start_step = step;
    return true;
  }

  /// The words of dst that the first warp's lanes collect.
  Words words(const PackedLattice& store, int units) const {
    Words out;
    const int passes = static_cast<int>(store.passes.divisor);
    const auto starts = static_cast<unsigned>(16 / step);  // a power of two
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      const PackedStep at = packed_step(store, 0, lane);
      if (at.line >= store.lines) continue;
      const auto line = static_cast<unsigned>(at.line);
      const auto start = static_cast<std::size_t>(line & (starts - 1)) * static_cast<std::size_t>(step);
      const int number = first[start] + static_cast<int>(line >> std::countr_zero(starts)) * passes;
      if (number >= first[start + 1]) continue;
      out.push_back(lane, at.word * units + packed_head(static_cast<int>(start) * units / 16, units),
                    inside[order[static_cast<std::size_t>(number)]]);
    }
    return out;
  }
};

/// A lattice over sorted rows: what its first warp collects, and how many times the steps that its words need its
/// threads have.
struct Dealt {
  SortedWay way;
  double waste = 0;
  Words warp;
};

/// The lattices to choose from. Where a warp has the words of one line, its lanes meet alike in all lattices: of those
/// there is only the first that wastes least. Narrower ones have 24, 16 and 8 words side by side.
detail::FixedVector<Dealt, 4> dealt_ways(const Sorted& sorted, const PackedArgs& a, std::int64_t words, int units) {
  detail::FixedVector<Dealt, 4> out;
  Across sizes(words);
  while (const std::int64_t across = sizes.next()) {
    Dealt d;
    if (!sorted.deal(a, words, across, d.way)) continue;
    d.waste = static_cast<double>(d.way.threads) * d.way.store.steps /
              (static_cast<double>(words) * static_cast<double>(a.rows));
    const bool alike = !out.empty() && out.back().way.store.across.divisor >= 32 && across >= 32;
    if (alike && d.waste >= out.back().waste) continue;
    d.warp = alike ? out.back().warp : sorted.words(d.way.store, units);
    if (alike)
      out.back() = d;
    else
      out.push_back(d);
  }
  return out;
}

}  // namespace

SortedWay best_sorted(const layout::Canonical& c, const PackedArgs& a, std::int64_t words, Entries& entries) {
  const Collect collect(c.dst_unit);
  const int units = collect.units, steps = collect.steps;
  const Sorted sorted(a);
  const detail::FixedVector<Dealt, 4> ways = dealt_ways(sorted, a, words, units);
  const CollectCosts costs{static_cast<double>(units)};
  SortedWay best;
  for (const std::int32_t pad : pads_of(a, units)) {
    bool placed = false;
    for (const Dealt& d : ways)
      for (const PackedRotation rotation : {kNoRotation, PackedRotation{1, 3}, PackedRotation{1, 2}}) {
        const int most = costs.most(best.cost, kNoSwizzle, rotation, d.waste);
        if (most < 2) break;
        if (!placed) entries.place(a, pad, 32 * units);
        placed = true;
        int met = cycles(collect.lanes(d.warp, entries, a.run_units, rotation, 0, 0), kNoSwizzle, most - 1);
        if (met >= most) continue;
        met += cycles(collect.lanes(d.warp, entries, a.run_units, rotation, steps / 2, collect.each - 1), kNoSwizzle,
                      most - met);
        if (met > most) continue;
        best = d.way;
        best.pad_shift = pad;
        best.rotation = rotation;
        best.cost = costs.of(met, kNoSwizzle, rotation, d.waste);
      }
  }
  return best;
}

void set_sorted(PackedArgs& a, const SortedWay& way) {
  a.kind = PackedKind::kSorted;
  a.swizzle_shift = kNoSwizzle;
  a.pad_shift = way.pad_shift;
  a.threads = way.threads;
  a.start_step = way.start_step;
  a.store = way.store;
  a.rotation = way.rotation;
}

}  // namespace restride::cuda::packed
