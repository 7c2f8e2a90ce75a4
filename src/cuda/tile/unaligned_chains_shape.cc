// The shape of a tile of tile/unaligned_chains, and its arguments.
#include "src/cuda/tile/unaligned_chains_shape.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "src/base/checked.h"
#include "src/cuda/tile/tile.h"
#include "src/cuda/tile/tiles.h"

namespace restride::cuda {

using layout::Canonical;
using layout::CopyMode;
using tiles::kSector;

namespace unaligned {
namespace {

constexpr std::int64_t kMostLine = std::int64_t{1} << 30;

/// Rows of src from the first that a lane reads to the first that the lane beside it reads.
int rows_apart(const Canonical& c) { return in_patches(c) ? kPatchRows : kWordBytes / c.dst_unit; }

/// Lanes of a warp that want different words of one bank, where rows of src follow each other without a gap.
std::int64_t lanes_of_bank(const Canonical& c, const Choice& k) {
  constexpr std::int64_t kBanksBytes = 128, kLanes = 32;
  const std::int64_t step = rows_apart(c) * k.s.extent * c.src_unit;
  const std::int64_t words = std::min(k.tile_d, k.d.extent) * c.dst_unit / kWordBytes;  // of a row of dst
  const std::int64_t lanes = in_patches(c) ? kPatchLanes : std::min(kLanes, words);     // along a row of dst
  return lanes * std::gcd(step, kBanksBytes) / kBanksBytes;
}

/// Indices of dst's chain in a line: all that follow each other in src. Where lanes would meet in banks, as many as a
/// lane reads: a gap behind each line keeps lanes apart.
std::int64_t line_rows(const Canonical& c, const Choice& k) {
  const std::int64_t joined = joined_rows(c, k), apart = rows_apart(c);
  if (joined <= apart || lanes_of_bank(c, k) < (in_patches(c) ? kPatchLanes : 8)) return joined;
  return k.d.modes.size() == 1 || joined % apart == 0 ? apart : joined;
}

}  // namespace

Choice choice_of(const Canonical& c, const Link& d, const Link& s) {
  Choice k{d, s};
  k.skew = std::max<std::int64_t>(0, kSector - row_alignment(c, d.mask));
  return k;
}

std::int64_t most_skew(const Choice& k) { return k.run_rows != 0 ? 0 : k.skew; }

std::int64_t joined_rows(const Canonical& c, const Choice& k) {
  const CopyMode& first = c.modes[k.d.modes[0]];
  const std::int64_t row_bytes = k.s.extent * c.src_unit;
  return k.tile_s == k.s.extent && first.src_stride == row_bytes && first.extent < kMostLine / row_bytes ? first.extent
                                                                                                         : 1;
}

double banks_cycles(const Canonical& c, const Choice& k) {
  if (in_patches(c) || line_rows(c, k) <= rows_apart(c)) return 0;
  return static_cast<double>(rows_apart(c) * lanes_of_bank(c, k));
}

std::int64_t run_step(const Canonical& c, const Choice& k) {
  const auto follows = [&](std::uint8_t m) { return c.modes[m].dst_stride == k.d.extent * c.dst_unit; };
  if (follows(k.s.modes[0])) return 1;
  return follows(k.s.modes.back()) ? k.s.extent / c.modes[k.s.modes.back()].extent : 0;
}

std::int64_t rows_of_run(const Canonical& c, const Choice& k) {
  const std::int64_t step = run_step(c, k);
  return step > 1 || k.s.modes.size() == 1 ? k.tile_s / step : c.modes[k.s.modes[0]].extent;
}

std::int64_t patches_along(std::int64_t tile_s) { return ceil_div(tile_s, std::int64_t{kPatchBytes}); }

void set_rooms(const Canonical& c, const Choice& k, UnalignedChainArgs& a) {
  a.tile.tile_d = narrowed<std::int32_t>(k.tile_d);
  a.tile.tile_s = narrowed<std::int32_t>(k.tile_s);
  a.tile.halo = most_skew(k) != 0 ? static_cast<std::int32_t>(kSector) / c.dst_unit : 0;
  a.threads = narrowed<std::int32_t>(k.threads);
  const std::int64_t rows = std::min<std::int64_t>(unaligned_rows(a), k.d.extent), in_line = line_rows(c, k);
  const std::int64_t row_bytes = k.tile_s * c.src_unit;
  a.row_bytes = narrowed<std::int32_t>(row_bytes);
  a.line_pitch = narrowed<std::int32_t>(ceil_div(in_line * row_bytes, std::int64_t{16}) * 16 + 16);
  a.lines = narrowed<std::int32_t>(in_line == 1 ? rows : std::min((rows - 2) / in_line + 2, rows));
  // Lanes side by side read rows that lie `pad_lines` lines apart.
  const bool padded = in_line == 1 || in_line < joined_rows(c, k);
  a.pad_lines = in_line == rows_apart(c) ? 1 : rows_apart(c);
  a.line_pad = 0;
  if (padded) {
    const std::int32_t apart = a.pad_lines * a.line_pitch, wanted = in_patches(c) ? 32 : 16;
    while ((apart + a.line_pad) % (2 * wanted) != wanted) a.line_pad += 16;
  }
  const std::int64_t behind = k.run_rows != 0 ? (k.tile_d / k.d.extent + 1) * run_step(c, k) * c.src_unit : 0;
  const std::int64_t room = rows * row_bytes + a.lines * (a.line_pitch - in_line * row_bytes) +
                            (a.lines / a.pad_lines + 1) * std::int64_t{a.line_pad} + behind + 64;
  a.src_room = narrowed<std::int32_t>(ceil_div(room, std::int64_t{128}) * 128);
  if (!in_patches(c)) return;
  a.dst_pitch = narrowed<std::int32_t>(ceil_div(std::int64_t{unaligned_rows(a)}, std::int64_t{32}) * 32);
  const std::int64_t columns = patches_along(k.tile_s) * kPatchBytes;
  const std::int64_t lines = transposed_line(a, narrowed<std::int32_t>(columns)) + 32;
  a.dst_room = narrowed<std::int32_t>(ceil_div(lines, std::int64_t{128}) * 128);
}

namespace {

/// Everything of the arguments that the shape of a tile decides.
UnalignedChainArgs shape_of(const Canonical& c, const Choice& k) {
  UnalignedChainArgs a;
  const int unit = c.dst_unit;
  set_rooms(c, k, a);
  a.tile.skew_mask = a.tile.halo != 0 ? static_cast<std::int32_t>(kSector) - 1 : 0;
  const std::int64_t rows = std::min<std::int64_t>(unaligned_rows(a), k.d.extent), in_line = line_rows(c, k);
  a.line_rows = base::FastDiv(in_line);
  a.line_words = base::FastDiv(ceil_div(std::min(in_line, rows) * a.row_bytes, std::int64_t{16}) + 1);
  a.lines_at_once = std::max(1, a.threads / static_cast<std::int32_t>(a.line_words.divisor));
  a.patches = base::FastDiv(patches_along(k.tile_s));
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
    // Of units that are converted also what comes before the first whole word.
    const std::int64_t whole = k.run_rows * k.d.extent * unit / 16 + 1;
    a.store_words = base::FastDiv(in_patches(c) ? ceil_div(k.d.extent, 16) : whole + (c.cast ? 1 : 0));
  }
  a.store_rows = std::max(1, a.threads / static_cast<std::int32_t>(a.store_words.divisor));
  return a;
}

}  // namespace
}  // namespace unaligned

void prepare_unaligned_chains(const Canonical& c, const Candidate& chosen, CudaArgs& out) {
  using namespace chains;
  using namespace unaligned;
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
  set_dtypes(a.tile, c);
  const auto append = [](Chain& chain, std::int64_t extent, std::int64_t stride) {
    const auto at = static_cast<std::size_t>(chain.rank++);
    chain.extent[at] = base::FastDiv(extent);
    chain.stride[at] = stride;
  };
  const auto in_line = std::int64_t{a.line_rows.divisor};
  for (std::size_t m = 0; m < k.d.modes.size(); ++m) {
    const CopyMode& mode = c.modes[k.d.modes[m]];
    const std::int64_t rows = m == 0 ? in_line : 1, lines = ceil_div(mode.extent, rows);
    if (m > 0 || lines > 1) append(a.src_lines, lines, mode.src_stride * rows);
  }
  if (a.src_lines.rank == 0) append(a.src_lines, 1, 0);
  for (const std::uint8_t m : k.s.modes) append(a.dst_rows, c.modes[m].extent, c.modes[m].dst_stride);
}

}  // namespace restride::cuda
