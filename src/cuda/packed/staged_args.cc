// From a tile of packed to its kernel's arguments on CUDA: offsets, counts, and where things lie in shared memory.
#include <algorithm>
#include <array>

#include "src/base/checked.h"
#include "src/cuda/packed/lattice.h"
#include "src/cuda/packed/packed.h"
#include "src/cuda/packed/staged.h"

namespace restride::cuda {

using layout::Canonical;
using layout::CopyMode;

namespace packed {
namespace {

void append(PackedModes& modes, std::uint32_t extent, std::int64_t dst, std::int64_t src, std::uint32_t step) {
  const auto at = static_cast<std::size_t>(modes.rank++);
  modes.extent[at] = base::FastDiv(extent);
  modes.dst_stride[at] = dst;
  modes.src_stride[at] = src;
  modes.piece_step[at] = step;
}

/// Puts the modes first along which the tile's runs, then its pieces, go on in memory: tiles that run side by side then
/// share the sectors at their ends.
void neighbours_first(const Canonical& c, const Set& set, const Order& src_order, Walk& walk) {
  int front = 0;
  const auto bring = [&](std::int64_t dst_stride, std::int64_t src_stride) {
    for (int i = front; i < walk.rank; ++i) {
      if (walk.dst_stride[i] != dst_stride || walk.src_stride[i] != src_stride) continue;
      std::rotate(walk.extent + front, walk.extent + i, walk.extent + i + 1);
      std::rotate(walk.dst_stride + front, walk.dst_stride + i, walk.dst_stride + i + 1);
      std::rotate(walk.src_stride + front, walk.src_stride + i, walk.src_stride + i + 1);
      ++front;
      return;
    }
  };
  const auto outside = [&](std::size_t m) { return m >= kMaxSet || set.chunk[m] == 0; };
  if (set.d_cut == kNone)
    for (std::size_t m = 0; m < c.modes.size(); ++m)
      if (outside(m)) {
        bring(c.modes[m].dst_stride, c.modes[m].src_stride);
        break;
      }
  if (set.s_cut == kNone)
    for (const std::uint8_t m : src_order)
      if (outside(m)) {
        bring(c.modes[m].dst_stride, c.modes[m].src_stride);
        break;
      }
}

/// True when all runs of a tile start alike: a lane then keeps its place in them.
bool starts_alike(const PackedArgs& a) {
  std::int64_t bits = 0;
  for (int i = 0; i < a.row_modes.rank; ++i) bits |= a.row_modes.dst_stride[i];
  return bits % 16 == 0;
}

/// True when the runs of a tile make up one, in the order of the rows.
bool flat(const Canonical& c, const Set& set, const PackedArgs& a) {
  return set.d_cut == kNone && a.row_modes.rank == 1 && a.row_modes.src_stride[0] > 0 &&
         a.row_modes.src_stride[0] <= kSizes.staged_flat_step_bytes &&
         a.row_modes.dst_stride[0] == std::int64_t{a.run_units} * c.dst_unit;
}

/// True when words of small units hold units of two lines: lanes of a lattice would meet in few banks again and again.
bool straddles(const Canonical& c, const PackedArgs& a) {
  return c.dst_unit <= 2 && std::int64_t{a.run_modes.extent[0].divisor} * c.dst_unit % 16 != 0;
}

/// Words that cover a run, wherever it starts, or only whole ones.
std::int64_t run_words(const Canonical& c, const Set& set, const PackedArgs& a) {
  const std::int32_t units = 16 / c.dst_unit;
  if (packed_ends_apart(a.kind, c.dst_unit, c.cast)) return a.run_units / units;
  return ceil_div(a.run_units + (run_alignment(c, set) >= 16 ? 0 : units - 1), units);
}

/// True for kernels of units of 2 bytes, whose few registers would let a fifth block in, where four were faster; rows
/// that are sorted gain by the fifth unless tiles are large.
bool four_blocks(const Canonical& c, const PackedArgs& a) {
  if (c.cast || c.dst_unit != 2) return false;
  return a.kind == PackedKind::kTransposed || a.kind == PackedKind::kLoose ||
         (a.kind == PackedKind::kSorted && a.tile_bytes > kSizes.staged_large_tile_bytes);
}

/// Words that cover a piece, before `finish` moves pieces apart.
std::int64_t piece_words(const PackedArgs& a) {
  const std::int64_t words = ceil_div(a.piece_bytes, 16);
  return words + (a.piece_pitch == words * 16 ? 0 : 1);  // those that start anywhere take a word more
}

bool in(std::uint64_t mask, std::size_t m) { return (mask >> m & 1) != 0; }

/// Where the tile starts, whose modes may go backwards in src.
void start(const Canonical& c, const Set& set, PackedArgs& a) {
  for (std::size_t m = 0; m < c.modes.size() && m < kMaxSet; ++m) {
    const CopyMode& mode = c.modes[m];
    if (set.chunk[m] == 0 || mode.src_stride >= 0 || !in(set.src, m)) continue;
    if (!in(set.dst, m)) {  // walked from its other end
      a.src_offset += (mode.extent - 1) * mode.src_stride;
      a.dst_offset += (mode.extent - 1) * mode.dst_stride;
      continue;
    }
    // A piece that runs backwards starts at its last index; a cut one that is shorter still spans a whole one's bytes.
    const std::int64_t reach = (set.chunk[m] - 1) * mode.src_stride;
    a.src_offset += reach;
    a.run_inside -= narrowed<std::int32_t>(reach);
    if (set.chunk[m] != mode.extent) a.whole_pieces = true;
  }
}

/// The modes of pieces, runs and rows, and how many there are. Pieces are numbered in dst's order, so that neighbours
/// in a run are neighbours in number.
void count(const Canonical& c, const Set& set, const Order& src_order, PackedArgs& a) {
  std::uint32_t pieces = 1;
  std::array<std::uint32_t, kMaxSet> piece_step{};
  for (std::size_t m = 0; m < c.modes.size() && m < kMaxSet; ++m)
    if (in(set.dst & ~set.src, m)) {
      piece_step[m] = pieces;
      pieces *= static_cast<std::uint32_t>(set.chunk[m]);
      append(a.piece_modes, static_cast<std::uint32_t>(set.chunk[m]), 0, c.modes[m].src_stride, piece_step[m]);
    }
  a.pieces = narrowed<std::int32_t>(pieces);
  a.piece_bytes = narrowed<std::int32_t>(set.piece_bytes);
  a.run_units = 1;
  for (std::size_t m = 0; m < c.modes.size() && m < kMaxSet; ++m)
    if (in(set.dst, m)) {
      append(a.run_modes, static_cast<std::uint32_t>(set.chunk[m]), c.modes[m].dst_stride, c.modes[m].src_stride,
             piece_step[m]);
      a.run_units *= set.chunk[m];
    }
  a.rows = 1;
  for (const std::uint8_t m : src_order) {
    if (!in(set.src & ~set.dst, m)) continue;
    const CopyMode mode = forwards(c, set, m);
    append(a.row_modes, static_cast<std::uint32_t>(set.chunk[m]), mode.dst_stride, mode.src_stride, 0);
    a.rows *= set.chunk[m];
  }
}

/// The modes with fewer indices inside than they have, and what shorter last tiles along them hold. The modes may be
/// of any extent: a kernel counts tiles along them, and of the last one's indices, but never all of their own.
void cut(const Canonical& c, const Set& set, PackedArgs& a) {
  const auto one = [&](int mode, std::int32_t* chunk, std::int32_t* last, std::int64_t* dst, std::int64_t* src) {
    if (mode == kNone) return base::FastDiv(1);
    const auto m = static_cast<std::size_t>(mode);
    const std::int64_t extent = c.modes[m].extent, cuts = ceil_div(extent, set.chunk[m]);
    *chunk = set.chunk[m];
    *last = narrowed<std::int32_t>(extent - (cuts - 1) * *chunk);
    const CopyMode way = forwards(c, set, m);
    *dst = set.chunk[m] * way.dst_stride;
    *src = set.chunk[m] * way.src_stride;
    return base::FastDiv(cuts);
  };
  a.same_cut = set.d_cut != kNone && set.d_cut == set.s_cut;
  a.cuts_d = one(set.d_cut, &a.d_chunk, &a.d_last, &a.d_dst_step, &a.d_src_step);
  if (!a.same_cut) a.cuts_s = one(set.s_cut, &a.s_chunk, &a.s_last, &a.s_dst_step, &a.s_src_step);
  // Tiles whose pieces go on in each other's share lines of src, which L2 keeps for some hundred tiles.
  a.pieces_first = order_of_tiles(a.cuts_d.divisor, a.cuts_s.divisor) == TileOrder::kSrc;
  a.run_per_d = a.run_units / a.d_chunk;
  const std::int32_t s_chunk = a.same_cut ? a.d_chunk : a.s_chunk;
  a.piece_per_s = a.piece_bytes / s_chunk;
  if (set.d_cut != kNone && !in(set.src, static_cast<std::size_t>(set.d_cut))) a.pieces_per_d = a.pieces / a.d_chunk;
  if (set.s_cut != kNone && !in(set.dst, static_cast<std::size_t>(set.s_cut))) a.rows_per_s = a.rows / a.s_chunk;
}

/// True when pieces all start on a word, within the tile and with the tile.
bool pieces_on_words(const Canonical& c, const PackedArgs& a) {
  std::int64_t bits = c.src_align | a.d_src_step | a.s_src_step | (a.src_offset - c.src_offset);
  for (int i = 0; i < a.piece_modes.rank; ++i) bits |= a.piece_modes.src_stride[i];
  for (int i = 0; i < a.batch.rank; ++i) bits |= a.batch.src_stride[i];
  return (bits & 15) == 0;
}

}  // namespace

PackedArgs geometry(const Canonical& c, const Set& set, const Order& src_order) {
  PackedArgs a;
  std::int64_t batch = 0;
  outer_walk(c, set.dst | set.src, &a.batch, &batch);
  neighbours_first(c, set, src_order, a.batch);
  set_sides(a, c);
  start(c, set, a);
  count(c, set, src_order, a);
  cut(c, set, a);
  a.tiles = narrowed<std::uint32_t>(std::int64_t{a.cuts_d.divisor} * a.cuts_s.divisor * batch);
  for (int i = 0; i < a.piece_modes.rank; ++i) {
    const std::int64_t reach = (std::int64_t{a.piece_modes.extent[i].divisor} - 1) * a.piece_modes.src_stride[i];
    (reach < 0 ? a.tile_first : a.tile_last) += reach;
  }
  a.tile_last += a.piece_bytes;
  // Pieces that may start anywhere take a word more.
  a.piece_pitch = narrowed<std::int32_t>(ceil_div(a.piece_bytes + (pieces_on_words(c, a) ? 0 : 45), 16)) * 16;
  set_dtypes(a, c);
  return a;
}

PackedKind kind_of(const Canonical& c, const Set& set, const PackedArgs& a) {
  const std::int64_t run_bytes = std::int64_t{a.run_units} * c.dst_unit;
  if (is_transposed(c, set)) return PackedKind::kTransposed;
  if (flat(c, set, a) && (run_bytes % 16 != 0 || run_bytes <= kSizes.staged_few_run_bytes || straddles(c, a)))
    return PackedKind::kFlat;
  return !c.cast && starts_alike(a) ? PackedKind::kFixed : PackedKind::kLoose;
}

void finish(const Canonical& c, PackedKind kind, PackedArgs& a) {
  const std::int32_t units = 16 / c.dst_unit;
  a.kind = kind;
  if (kind == PackedKind::kFlat) {
    a.flat_run = base::FastDiv(a.run_units);
    a.flat_step = narrowed<std::int32_t>(a.row_modes.src_stride[0]);
    // Lanes that collect from pieces side by side meet in the fewest banks when pieces are an odd number of words
    // apart.
    if (a.pieces > 1) a.piece_pitch |= 16;
    a.tile_bytes = a.flat_step * (units / a.run_units + 2);  // what the last word looks up beyond the last run
  }
  const bool found = a.kind == PackedKind::kLoose || a.kind == PackedKind::kFlat;
  if (found && packed_pads(c.dst_unit)) a.tile_bytes += a.pieces / units * 16;
  a.tile_bytes += a.pieces * a.piece_pitch + 32;
  a.tile_bytes = (a.tile_bytes + 127) / 128 * 128;
  a.run_copies = packed_run_copies(kind, c.dst_unit);
  a.run_table = packed_run_table(a.run_units, c.dst_unit, packed_run_gap(kind, c.dst_unit));
  a.shared_bytes = a.tile_bytes + (a.pieces + (a.kind == PackedKind::kFlat ? 0 : a.rows)) * 16 +
                   a.run_table * 2 * a.run_copies + (a.kind == PackedKind::kLoose ? a.rows * 2 : 0);
}

}  // namespace packed

void prepare_staged(const Canonical& c, const Candidate& chosen, CudaArgs& out) {
  const packed::Set set = packed::set_of(c, chosen);
  auto& a = out.args.emplace<PackedArgs>(packed::geometry(c, set, packed::by_src_stride(c)));
  const std::int64_t words = packed::piece_words(a);  // before pieces are moved apart
  packed::finish(c, static_cast<PackedKind>(chosen.get(ParamId::kKind)), a);
  if (a.kind == PackedKind::kFlat) {
    packed::lay_cycles(c, a);
    packed::spread_flat(c, a);
  } else {
    packed::spread(c, a, packed::run_words(c, set, a));
  }
  a.load = packed::load_lattice(words, a.pieces, a.threads);
  if (a.kind == PackedKind::kSorted) a.shared_bytes += (packed_row_table(a) - a.rows) * 16;
  if (packed::four_blocks(c, a)) a.shared_bytes = std::max(a.shared_bytes, kRoomOfFour);
  a.blocks = narrowed<std::uint32_t>(chosen.get(ParamId::kBlocks, 1));
}

}  // namespace restride::cuda
