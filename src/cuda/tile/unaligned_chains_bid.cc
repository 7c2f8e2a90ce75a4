// The bid of tile's kernel for chains whose rows start anywhere on CUDA, and its arguments.
#include <algorithm>
#include <bit>

#include "src/base/checked.h"
#include "src/cuda/tile/chain_pairs.h"
#include "src/cuda/tile/tile.h"
#include "src/cuda/tile/tiles.h"
#include "src/cuda/tile/unaligned_chains_map.h"

namespace restride::cuda {

using layout::Canonical;
using layout::CopyMode;
using namespace chains;
using tiles::kSector;

namespace {

constexpr std::int64_t kMostLine = std::int64_t{1} << 30;

/// Both chains and the tile of them.
struct Choice {
  Link d, s;
  std::int64_t tile_d = 0, tile_s = 0;
  std::int64_t threads = 256;
  std::int64_t skew = 0;      ///< most bytes by which windows are shorter than rows of dst that start anywhere
  std::int64_t run_rows = 0;  ///< rows of dst that follow each other, and are stored as runs
};

Choice choice_of(const Canonical& c, const Link& d, const Link& s) {
  Choice k{d, s};
  k.skew = std::max<std::int64_t>(0, kSector - row_alignment(c, d.mask));
  return k;
}

/// Bytes by which tiles' edges may move.
std::int64_t most_skew(const Choice& k) { return k.run_rows != 0 ? 0 : k.skew; }

/// Indices of dst's chain that follow each other in src where all of src's chain lies in a tile; else 1.
std::int64_t line_rows(const Canonical& c, const Choice& k) {
  const CopyMode& first = c.modes[k.d.modes[0]];
  const std::int64_t row_bytes = k.s.extent * c.src_unit;
  return k.tile_s == k.s.extent && first.src_stride == row_bytes && first.extent < kMostLine / row_bytes ? first.extent
                                                                                                         : 1;
}

/// Indices of src's chain from a row of dst to the one that follows it there, where rows follow each other along the
/// chain's first mode or its last one; else 0.
std::int64_t run_step(const Canonical& c, const Choice& k) {
  const auto follows = [&](std::uint8_t m) { return c.modes[m].dst_stride == k.d.extent * c.dst_unit; };
  if (follows(k.s.modes[0])) return 1;
  return follows(k.s.modes.back()) ? k.s.extent / c.modes[k.s.modes.back()].extent : 0;
}

/// Rows of dst that follow each other in a tile, where they do.
std::int64_t rows_of_run(const Canonical& c, const Choice& k) {
  const std::int64_t step = run_step(c, k);
  return step > 1 || k.s.modes.size() == 1 ? k.tile_s / step : c.modes[k.s.modes[0]].extent;
}

/// Everything of the arguments that the shape of a tile decides.
UnalignedChainArgs shape_of(const Canonical& c, const Choice& k) {
  UnalignedChainArgs a;
  const int unit = c.dst_unit;
  const bool small = unit == 1;
  a.tile.tile_d = narrowed<std::int32_t>(k.tile_d);
  a.tile.tile_s = narrowed<std::int32_t>(k.tile_s);
  a.tile.halo = most_skew(k) != 0 ? static_cast<std::int32_t>(kSector) / unit : 0;
  a.tile.skew_mask = a.tile.halo != 0 ? static_cast<std::int32_t>(kSector) - 1 : 0;
  a.threads = narrowed<std::int32_t>(k.threads);
  const std::int64_t rows = std::min<std::int64_t>(unaligned_rows(a), k.d.extent), in_line = line_rows(c, k);
  const std::int64_t row_bytes = k.tile_s * unit;
  a.line_rows = base::FastDiv(in_line);
  a.row_bytes = narrowed<std::int32_t>(row_bytes);
  a.line_words = base::FastDiv(ceil_div(std::min(in_line, rows) * row_bytes, std::int64_t{16}) + 1);
  a.line_pitch = narrowed<std::int32_t>(ceil_div(in_line * row_bytes, std::int64_t{16}) * 16 + 16);
  a.lines = narrowed<std::int32_t>(in_line == 1 ? rows : std::min((rows - 2) / in_line + 2, rows));
  // Lanes side by side read rows that lie `pad_lines` apart.
  a.pad_lines = small ? kPatchRows : 16 / unit;
  if (in_line == 1) {
    const std::int32_t apart = a.pad_lines * a.line_pitch, wanted = small ? 32 : 16;
    while ((apart + a.line_pad) % (2 * wanted) != wanted) a.line_pad += 16;
  }
  const std::int64_t patches = ceil_div(k.tile_s, std::int64_t{kPatchBytes});
  a.patches = base::FastDiv(patches);
  const std::int64_t behind = k.run_rows != 0 ? (k.tile_d / k.d.extent + 1) * run_step(c, k) * unit : 0;
  const std::int64_t room = rows * row_bytes + a.lines * (a.line_pitch - in_line * row_bytes) +
                            (a.lines / a.pad_lines + 1) * std::int64_t{a.line_pad} + behind + 64;
  a.src_room = narrowed<std::int32_t>(ceil_div(room, std::int64_t{128}) * 128);
  if (small) {
    a.dst_pitch = narrowed<std::int32_t>(ceil_div(std::int64_t{unaligned_rows(a)}, std::int64_t{32}) * 32);
    const std::int64_t lines = transposed_line(a, narrowed<std::int32_t>(patches * kPatchBytes)) + 32;
    a.dst_room = narrowed<std::int32_t>(ceil_div(lines, std::int64_t{128}) * 128);
  }
  a.store_words = base::FastDiv(k.tile_d * unit / 16);
  if (k.run_rows != 0) {
    a.run_rows = narrowed<std::int32_t>(k.run_rows);
    a.run_step = narrowed<std::int32_t>(run_step(c, k));
    a.run_gap = a.run_step > 1 ? 1 : a.run_rows;
    a.runs = a.run_step > 1 ? a.run_step : narrowed<std::int32_t>(ceil_div(k.tile_s, k.run_rows));
    const std::int64_t last = k.s.extent % k.tile_s != 0 ? k.s.extent % k.tile_s : k.tile_s;
    a.last_runs = a.run_step > 1 ? a.run_step : narrowed<std::int32_t>(ceil_div(last, k.run_rows));
    a.last_rows = narrowed<std::int32_t>(last / a.run_step - (a.run_step > 1 ? 0 : (a.last_runs - 1) * k.run_rows));
    a.run_units = base::FastDiv(k.d.extent);
    a.store_words = base::FastDiv(k.run_rows * k.d.extent * unit / 16 + 1);
  }
  return a;
}

/// Tiles that a multiprocessor holds at once, each of so many bytes of shared memory.
std::int64_t resident_tiles(const CudaMachine& machine, const Choice& k, std::int64_t shared_bytes) {
  constexpr std::int64_t kRegisters = 65536 / 40;
  return std::min({machine.shared_per_sm_bytes / (shared_bytes + kReservedShared), machine.threads_per_sm / k.threads,
                   kRegisters / k.threads});
}

/// The time that tiles of this shape take, a copy's being 1, where a multiprocessor holds so many of them.
double time_of(const Canonical& c, const Costs& costs, const Choice& k, std::int64_t resident_count) {
  const int unit = c.dst_unit;
  const auto tile_bytes = static_cast<double>(k.tile_d * k.tile_s * unit);
  const bool runs = k.run_rows != 0;
  const std::int64_t along = k.d.extent + most_skew(k) / unit;
  const double used = used_by(along, k.tile_d) * used_by(k.s.extent, k.tile_s) * static_cast<double>(k.d.extent) /
                      static_cast<double>(along);
  const double bytes = used * tile_bytes;
  const auto piece = static_cast<double>(line_rows(c, k) * k.tile_s * unit),
             resident = static_cast<double>(resident_count);
  const double least = unit == 1   ? costs.anywhere_1
                       : unit == 2 ? costs.anywhere_2
                       : unit == 4 ? costs.anywhere_4
                                   : costs.anywhere_8;
  // Where short rows of dst join, packed has whole tiles of them; matrices have kernels that find rows sooner.
  const bool join = run_step(c, k) == 1 && k.d.extent * unit < kSizes.anywhere_joined_bytes;
  const bool matrix = k.d.modes.size() == 1 && k.s.modes.size() == 1;
  const double lost =
      (unit == 1 ? costs.anywhere_bytes : costs.anywhere_unused) * (1 / used - 1) +
      costs.anywhere_ends / static_cast<double>(k.d.extent * std::max<std::int64_t>(k.run_rows, 1) * unit) +
      costs.anywhere_piece / piece + costs.anywhere_tile / bytes + costs.anywhere_resident / (resident * bytes) +
      (unit == 1
           ? 0
           : costs.anywhere_few * (kSizes.anywhere_few_blocks / std::min(resident, kSizes.anywhere_few_blocks) - 1));
  return (least + lost) * (!runs && (join || matrix) ? costs.anywhere_others : 1);
}

/// True where a side's rows start on 16-byte words and are whole words; `stride` is that side's, of a mode.
bool on_words(const Canonical& c, const Link& link, std::int64_t align, std::int64_t CopyMode::*stride) {
  std::int64_t bits = align | link.extent * c.dst_unit;
  for (std::size_t m = 0; m < c.modes.size(); ++m)
    if (m >= 64 || (link.mask >> m & 1) == 0) bits |= c.modes[m].*stride;
  return bits % 16 == 0;
}

bool fits(const Canonical& c, const UnalignedChainArgs& a) {
  return unaligned_tables(a, c.dst_unit).end <= kMostShared;
}

/// The best tile of two chains.
void try_shapes(const Canonical& c, const CudaMachine& machine, Choice k, Choice* best, double* time) {
  const int unit = c.dst_unit;
  const std::int64_t sector = kSector / unit, along = k.d.extent + most_skew(k) / unit, step = run_step(c, k);
  const auto attempt = [&] {
    // Shared memory has room for all that a tile reads at least; of bytes, which are transposed with their halo, twice.
    const std::int64_t halo = unit == 1 && most_skew(k) != 0 ? kSector : 0;
    const std::int64_t bytes = std::min(k.tile_d, k.d.extent) * k.tile_s * unit;
    const std::int64_t least_shared = unit == 1 ? 2 * bytes : bytes;
    if (least_shared > kMostShared) return;
    k.threads = bytes + halo * k.tile_s < kSizes.anywhere_small_tile_bytes ? 128 : 256;
    // Most shapes fall behind the best one before everything about them is known.
    if (time_of(c, *machine.costs, k, resident_tiles(machine, k, least_shared)) >= *time) return;
    const UnalignedChainArgs a = shape_of(c, k);
    if (!fits(c, a)) return;
    const double t = time_of(c, *machine.costs, k, resident_tiles(machine, k, unaligned_tables(a, unit).end));
    if (t >= *time) return;
    *time = t;
    *best = k;
  };
  if (step != 0 && k.d.extent * unit <= kSizes.anywhere_most_row_bytes) {
    const std::int64_t first = c.modes[k.s.modes[0]].extent, rows = k.s.extent / step;
    const std::int64_t row_bytes = k.d.extent * step * unit;
    k.tile_d = ceil_div(k.d.extent + 16 / unit - 1, kPatchRows * kPatchLanes) * (kPatchRows * kPatchLanes);
    for (std::int64_t n = 1; step == 1 && n <= kSizes.anywhere_most_runs; ++n) {
      k.tile_s = k.s.modes.size() == 1 ? ceil_div(k.s.extent, n) : std::min(first * n, k.s.extent);
      k.run_rows = rows_of_run(c, k);
      attempt();
    }
    for (std::int64_t most = std::min(rows, kMostShared / row_bytes);
         step > 1 && most * row_bytes >= kSizes.anywhere_least_runs_bytes;) {
      k.run_rows = ceil_div(rows, ceil_div(rows, most));
      k.tile_s = k.run_rows * step;
      attempt();
      most = k.run_rows - 1;
    }
    k.run_rows = 0;
  }
  std::int64_t last_s = 0;
  for (const std::int64_t row : {48, 72, 96, 120, 144, 192, 240, 320}) {
    if (row == 320 && k.s.extent * unit > row) break;  // only where all of src's chain is in the tile
    k.tile_s = ceil_div(k.s.extent, ceil_div(k.s.extent * unit, row));
    if (k.tile_s == last_s) continue;
    last_s = k.tile_s;
    std::int64_t last_d = 0;
    for (const std::int64_t window : {96, 128, 160, 192, 224, 256, 320, 384, 512, 768, 1024}) {
      k.tile_d = ceil_div(ceil_div(along, ceil_div(along * unit, window)), sector) * sector;
      if (k.tile_d == last_d) continue;
      last_d = k.tile_d;
      attempt();
    }
  }
}

}  // namespace

void bid_unaligned_chains(const Request& request, std::span<Candidate> bids) {
  const Canonical& c = request.c;
  Candidate& bid = bids[0];
  const auto refuse = [&](std::string_view why) { bid.reason = why; };
  if (c.two_sided) return refuse("the sides share no modes");
  if (c.cast) return refuse("chains of modes are moved, not converted");
  if (c.dst_unit > 8) return refuse("units of 16 bytes start on words");
  if (c.modes.size() < 2) return refuse("a chain a side needs two modes");
  const Link longest_d = dst_chain(c), longest_s = src_chain(c);
  if (longest_d.modes.empty() || longest_s.modes.empty()) return refuse("a side has no dense mode");
  const bool named = request.forces("tile/unaligned_chains");
  if (!named && c.dst_bytes() < request.machine.sm_count * kSizes.tile_small_share)
    return refuse("too small for such tiles to pay");
  Choice best;
  double time = 1e300;
  for (std::size_t i = 1; i <= longest_d.modes.size(); ++i)
    for (std::size_t j = 1; j <= longest_s.modes.size(); ++j) {
      const Choice k = choice_of(c, first_of(c, longest_d, i), first_of(c, longest_s, j));
      if ((k.d.mask & k.s.mask) != 0) break;
      if (k.d.extent * c.dst_unit < kSector || k.s.extent * c.src_unit < kSector) continue;
      if (!named && on_words(c, k.d, c.dst_align, &CopyMode::dst_stride) &&
          on_words(c, k.s, c.src_align, &CopyMode::src_stride))
        return refuse("rows of both sides lie on words");
      if (k.d.extent >= (std::int64_t{1} << 28) / c.dst_unit) continue;
      try_shapes(c, request.machine, k, &best, &time);
    }
  if (time >= 1e300) return refuse("no chains of modes, one a side, that are long enough");
  std::int64_t batch = 0;
  if (!outer_walk(c, best.d.mask | best.s.mask, nullptr, &batch)) return refuse("too many outer modes");
  const std::int64_t along = best.d.extent + most_skew(best) / c.dst_unit;
  const std::int64_t tiles_d = ceil_div(along, best.tile_d);
  const std::int64_t tiles_s = ceil_div(best.s.extent, best.tile_s);
  if (too_many(tiles_d * tiles_s, batch)) return refuse("too many tiles");
  bid.params = {
      {ParamId::kDstSet, static_cast<std::int64_t>(best.d.mask)},
      {ParamId::kSrcSet, static_cast<std::int64_t>(best.s.mask)},
      {ParamId::kTileRows, best.tile_d},
      {ParamId::kTileCols, best.tile_s},
      {ParamId::kVectorBytes, 16},
      {ParamId::kThreads, best.threads},
      {ParamId::kBoundaryBytes, best.run_rows != 0 ? 0 : kSector},
      {ParamId::kKind, static_cast<std::int64_t>(best.run_rows != 0 ? UnalignedKind::kRuns : UnalignedKind::kWindows)},
      {ParamId::kOrder, static_cast<std::int64_t>(order_of_tiles(tiles_d, tiles_s))}};
  predict(bid, request.machine, c.src_bytes() / 32 + 1, c.dst_bytes() / 32 + 1, 1 / time);
}

void prepare_unaligned_chains(const Canonical& c, const Candidate& chosen, CudaArgs& out) {
  const auto modes_in = [&](ParamId id) {
    return static_cast<std::size_t>(std::popcount(static_cast<std::uint64_t>(chosen.get(id))));
  };
  Choice k = choice_of(c, first_of(c, dst_chain(c), modes_in(ParamId::kDstSet)),
                       first_of(c, src_chain(c), modes_in(ParamId::kSrcSet)));
  k.tile_d = chosen.get(ParamId::kTileRows);
  k.tile_s = chosen.get(ParamId::kTileCols);
  k.threads = chosen.get(ParamId::kThreads, 256);
  if (static_cast<UnalignedKind>(chosen.get(ParamId::kKind)) == UnalignedKind::kRuns) k.run_rows = rows_of_run(c, k);
  auto& a = out.args.emplace<UnalignedChainArgs>(shape_of(c, k));
  const std::int32_t halo = a.tile.halo, skew_mask = a.tile.skew_mask;
  a.tile = tiles::tiles_over(c, chosen, k.d.mask | k.s.mask, {k.d.extent, k.s.extent}, most_skew(k) / c.dst_unit);
  a.tile.halo = halo;
  a.tile.skew_mask = skew_mask;
  const auto append = [](Chain& chain, std::int64_t extent, std::int64_t stride) {
    const auto at = static_cast<std::size_t>(chain.rank++);
    chain.extent[at] = base::FastDiv(extent);
    chain.stride[at] = stride;
  };
  const bool several = a.line_rows.divisor > 1;
  for (std::size_t m = several ? 1 : 0; m < k.d.modes.size(); ++m)
    append(a.src_lines, c.modes[k.d.modes[m]].extent, c.modes[k.d.modes[m]].src_stride);
  if (a.src_lines.rank == 0) append(a.src_lines, 1, 0);
  for (const std::uint8_t m : k.s.modes) append(a.dst_rows, c.modes[m].extent, c.modes[m].dst_stride);
}

}  // namespace restride::cuda
