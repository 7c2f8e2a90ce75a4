// Which modes a tile of packed takes on CUDA, and how much of the cut ones.
#include <algorithm>
#include <bit>
#include <cstdlib>

#include "src/base/checked.h"
#include "src/cuda/packed/staged.h"

namespace restride::cuda::packed {

using layout::Canonical;
using layout::CopyMode;

namespace {

/// Indices of a cut mode: enough for `need`, evenly many a tile, whole sectors where that is cheap.
std::int32_t chunk_of(std::int64_t extent, std::int64_t need, std::int64_t run_bytes) {
  std::int64_t chunk = ceil_div(extent, ceil_div(extent, need));
  std::int64_t step = kSectorBytes;
  while (step > 1 && run_bytes * step / 2 % kSectorBytes == 0) step /= 2;
  if (chunk >= kSizes.staged_cheap_steps * step)
    chunk = ceil_div(chunk, step) * step;
  else if (step == kSectorBytes && chunk >= kSizes.staged_cheap_bytes)
    chunk = ceil_div(chunk, 16) * 16;
  return static_cast<std::int32_t>(std::min(chunk, extent));
}

/// What `take` took.
struct Taken {
  std::int64_t bytes = 0;             ///< spanned, gaps included
  std::int64_t units = 1, fresh = 1;  ///< indices of all modes, and of those that were outside before
  std::int64_t same_until = 0;        ///< the largest target that takes the same
};

/// Takes leading modes of one side until they span `target` bytes, gaps of at most `most_gap` bytes between them
/// included. `stride` and `unit` are that side's.
template <class StrideOf>
Taken take(const Canonical& c, const Order& order, std::int64_t unit, std::int64_t target, std::int64_t most_gap,
           StrideOf stride, Set& set, std::uint64_t& mask, int& cut) {
  Taken taken{unit, 1, 1, kAnyTarget};
  for (const std::uint8_t m : order) {
    const std::int64_t extent = c.modes[m].extent, step = std::abs(stride(c.modes[m]));
    if (step < taken.bytes || step > taken.bytes + most_gap) break;
    std::int32_t& chunk = set.chunk[m];
    const bool fresh = chunk == 0;
    if (fresh) {
      if (taken.bytes * 4 >= target * 3) {  // three quarters of it are enough
        taken.same_until = taken.bytes * 4 / 3;
        break;
      }
      const std::int64_t need = step * extent <= target ? extent : ceil_div(target, step);  // most are taken whole
      constexpr std::int64_t kMostChunk = 1 << 20;
      chunk = extent <= need + need / 2 ? static_cast<std::int32_t>(std::min(extent, kMostChunk))
                                        : chunk_of(extent, need, step);
      taken.fresh *= chunk;
    }
    mask |= std::uint64_t{1} << m;
    taken.units *= chunk;
    taken.bytes = step * chunk;
    if (chunk != extent) {
      cut = m;
      if (fresh) taken.same_until = target;
      break;
    }
  }
  return taken;
}

/// Counts what a tile holds.
void count(const Canonical& c, Set& set) {
  set.run_units = set.piece_units = set.tile_units = 1;
  set.piece_bytes = c.src_unit;
  for_each_mode(set.dst | set.src, [&](std::size_t i) {
    if ((set.dst >> i & 1) != 0) set.run_units *= set.chunk[i];
    if ((set.src >> i & 1) != 0) {
      set.piece_units *= set.chunk[i];
      set.piece_bytes = std::max(set.piece_bytes, std::abs(c.modes[i].src_stride) * set.chunk[i]);
    }
    set.tile_units *= set.chunk[i];
  });
}

}  // namespace

Order by_src_stride(const Canonical& c) {
  Order order;
  for (std::size_t i = 0; i < c.modes.size() && i < kMaxSet; ++i) {
    if (c.modes[i].src_stride == 0) continue;
    std::size_t at = order.size();
    while (at > 0 && std::abs(c.modes[order[at - 1]].src_stride) > std::abs(c.modes[i].src_stride)) --at;
    order.insert(at, static_cast<std::uint8_t>(i));
  }
  return order;
}

std::int64_t take_runs(const Canonical& c, const Order& dst_order, std::int64_t target, Set& set) {
  for_each_mode(set.dst | set.src, [&](std::size_t i) { set.chunk[i] = 0; });
  set.dst = set.src = 0;
  set.d_cut = set.s_cut = kNone;
  const Taken taken = take(
      c, dst_order, c.dst_unit, target, 0, [](const CopyMode& m) { return m.dst_stride; }, set, set.dst, set.d_cut);
  set.run_units = set.tile_units = taken.units;
  return taken.same_until;
}

std::int64_t take_pieces(const Canonical& c, const Order& src_order, std::int64_t target, Set& set) {
  constexpr std::int64_t kMostGap = kSectorBytes - 1;  // a sector that is read anyway
  for_each_mode(set.src & ~set.dst, [&](std::size_t i) { set.chunk[i] = 0; });
  set.src = 0;
  set.s_cut = kNone;
  const Taken taken = take(
      c, src_order, c.src_unit, target, kMostGap, [](const CopyMode& m) { return m.src_stride; }, set, set.src,
      set.s_cut);
  set.piece_units = taken.units;
  set.piece_bytes = taken.bytes;
  set.tile_units = set.run_units * taken.fresh;
  return taken.same_until;
}

Set set_of(const Canonical& c, const Candidate& chosen) {
  Set set;
  set.dst = static_cast<std::uint64_t>(chosen.get(ParamId::kDstSet));
  set.src = static_cast<std::uint64_t>(chosen.get(ParamId::kSrcSet));
  set.d_cut = static_cast<int>(chosen.get(ParamId::kRowMode, kNone));
  set.s_cut = static_cast<int>(chosen.get(ParamId::kColMode, kNone));
  for (std::size_t i = 0; i < c.modes.size() && i < kMaxSet; ++i) {
    if (((set.dst | set.src) >> i & 1) == 0) continue;
    const int mode = static_cast<int>(i);
    const std::int64_t whole = c.modes[i].extent;
    set.chunk[i] = narrowed<std::int32_t>(mode == set.s_cut   ? chosen.get(ParamId::kTileCols)
                                          : mode == set.d_cut ? chosen.get(ParamId::kTileRows)
                                                              : whole);
  }
  count(c, set);
  return set;
}

std::int64_t run_alignment(const Canonical& c, const Set& set) {
  std::int64_t bits = row_alignment(c, set.dst);
  if (set.d_cut != kNone) {
    const auto m = static_cast<std::size_t>(set.d_cut);
    bits |= set.chunk[m] * c.modes[m].dst_stride;
  }
  return bits & -bits;
}

CopyMode forwards(const Canonical& c, const Set& set, std::size_t m) {
  CopyMode mode = c.modes[m];
  if (mode.src_stride < 0 && m < kMaxSet && (set.src & ~set.dst) >> m & 1) {
    mode.dst_stride = -mode.dst_stride;
    mode.src_stride = -mode.src_stride;
  }
  return mode;
}

bool is_transposed(const Canonical& c, const Set& set) {
  if (c.cast || c.dst_unit > 2) return false;
  if (set.piece_bytes != set.piece_units * c.src_unit) return false;  // gaps set rows apart
  // Rows in groups of `across` lie side by side where src's innermost mode counts rows, and evenly many.
  const std::int32_t across = 4 / c.dst_unit;
  bool side_by_side = false;
  for (std::size_t m = 0; m < c.modes.size() && m < kMaxSet; ++m)
    if (std::abs(c.modes[m].src_stride) == c.src_unit && (set.src & ~set.dst) >> m & 1)
      side_by_side = (set.dst & set.src) == 0 || set.chunk[m] % across == 0;
  if (!side_by_side) return false;
  std::int64_t src_bits = c.src_align, dst_bits = 16;
  for (std::size_t m = 0; m < c.modes.size(); ++m) {
    const CopyMode& mode = c.modes[m];
    const bool row = m < kMaxSet && ((set.src & ~set.dst) >> m & 1) != 0;
    if (m < kMaxSet && (set.src & set.dst) >> m & 1 && mode.src_stride < 0) return false;
    if (row && mode.src_stride < 0) src_bits |= (mode.extent - 1) * mode.src_stride;
    if (row)
      dst_bits |= mode.dst_stride;
    else
      src_bits |= mode.src_stride;
    if (row && static_cast<int>(m) == set.s_cut) src_bits |= set.chunk[m] * mode.src_stride;
  }
  return src_bits % 4 == 0 && dst_bits % 16 == 0 && set.piece_units >= across;
}

}  // namespace restride::cuda::packed
