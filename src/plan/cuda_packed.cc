// The bid of packed on CUDA: which modes a tile takes, how much of the cut ones, and the kernel's arguments.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "src/plan/cuda_families.h"

namespace restride::plan {

using layout::Canonical;
using layout::CopyMode;
using maps::PackedArgs;
using maps::PackedKind;
using maps::PackedModes;

namespace {

constexpr int kMaxSet = 63;  // modes a bit mask can name
constexpr std::int32_t kMostShared = (48 << 10) - 256;  // what a kernel has without asking, less its own
constexpr int kNone = -1;
constexpr int kMostBlocksPerSm = 128;  // beyond, starting blocks costs more than their even spread brings

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// A tile as a choice: how many indices of each mode are inside (0: the mode is outside).
struct Set {
  std::array<std::int32_t, kMaxSet> chunk{};
  std::uint64_t dst = 0, src = 0;   ///< modes of the run, modes of the piece
  int d_cut = kNone, s_cut = kNone; ///< modes with fewer indices inside than they have
  std::int64_t run_units = 1, piece_units = 1, tile_units = 1;
};

using Order = detail::FixedVector<std::uint8_t, kMaxSet>;

/// Mode numbers by |src_stride|, those that repeat (stride 0) left out.
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

/// Indices of a cut mode: enough for `need`, evenly many a tile, whole sectors where that is cheap.
std::int32_t chunk_of(std::int64_t extent, std::int64_t need, std::int64_t run_bytes) {
  std::int64_t chunk = ceil_div(extent, ceil_div(extent, need));
  std::int64_t step = 32;
  while (step > 1 && run_bytes * step / 2 % 32 == 0) step /= 2;
  if (chunk >= 4 * step) chunk = ceil_div(chunk, step) * step;
  return static_cast<std::int32_t>(std::min(chunk, extent));
}

/// Takes leading modes of one side until they make up `target` bytes. `stride` and `unit` are that side's.
template <class StrideOf>
void take(const Canonical& c, const Order& order, std::int64_t unit, std::int64_t target, StrideOf stride, Set& set,
          std::uint64_t& mask, int& cut, std::int64_t& run) {
  std::int64_t bytes = unit;
  for (const std::uint8_t m : order) {
    const std::int64_t extent = c.modes[m].extent;
    if (std::abs(stride(c.modes[m])) != bytes) break;
    const bool backwards = stride(c.modes[m]) < 0;
    std::int32_t& chunk = set.chunk[m];
    if (chunk == 0) {
      if (bytes * 4 >= target * 3) break;
      const std::int64_t need = ceil_div(target, bytes);
      // A run that goes backwards is taken whole, so that its lowest address is known beforehand.
      chunk = extent <= need + need / 2 ? static_cast<std::int32_t>(std::min<std::int64_t>(extent, 1 << 20))
                                        : chunk_of(extent, need, bytes);
      if (backwards && chunk != extent) {
        chunk = 0;
        break;
      }
    } else if (backwards && chunk != extent) {
      break;
    }
    mask |= std::uint64_t{1} << m;
    bytes *= chunk;
    if (chunk != extent) {
      cut = m;
      break;
    }
  }
  run = bytes / unit;
}

Set make_set(const Canonical& c, const Order& dst_order, const Order& src_order, std::int64_t dst_target,
             std::int64_t src_target) {
  Set set;
  take(c, dst_order, c.dst_unit, dst_target, [](const CopyMode& m) { return m.dst_stride; }, set, set.dst, set.d_cut,
       set.run_units);
  take(c, src_order, c.src_unit, src_target, [](const CopyMode& m) { return m.src_stride; }, set, set.src, set.s_cut,
       set.piece_units);
  for (std::size_t i = 0; i < c.modes.size() && i < kMaxSet; ++i)
    if (set.chunk[i] != 0) set.tile_units *= set.chunk[i];
  return set;
}

/// The set that a candidate's parameters name.
Set set_of(const Canonical& c, const Candidate& chosen) {
  Set set;
  set.dst = static_cast<std::uint64_t>(chosen.get(ParamId::kDstSet));
  set.src = static_cast<std::uint64_t>(chosen.get(ParamId::kSrcSet));
  set.d_cut = static_cast<int>(chosen.get(ParamId::kRowMode, kNone));
  set.s_cut = static_cast<int>(chosen.get(ParamId::kColMode, kNone));
  for (std::size_t i = 0; i < c.modes.size() && i < kMaxSet; ++i)
    if (((set.dst | set.src) >> i & 1) != 0) set.chunk[i] = static_cast<std::int32_t>(c.modes[i].extent);
  if (set.d_cut != kNone) set.chunk[static_cast<std::size_t>(set.d_cut)] = static_cast<std::int32_t>(chosen.get(ParamId::kTileRows));
  if (set.s_cut != kNone) set.chunk[static_cast<std::size_t>(set.s_cut)] = static_cast<std::int32_t>(chosen.get(ParamId::kTileCols));
  for (std::size_t i = 0; i < c.modes.size() && i < kMaxSet; ++i) {
    if ((set.dst >> i & 1) != 0) set.run_units *= set.chunk[i];
    if ((set.src >> i & 1) != 0) set.piece_units *= set.chunk[i];
    if (set.chunk[i] != 0) set.tile_units *= set.chunk[i];
  }
  return set;
}

void append(PackedModes& modes, std::uint32_t extent, std::int64_t dst, std::int64_t src, std::uint32_t step) {
  const auto at = static_cast<std::size_t>(modes.rank++);
  modes.extent[at] = extent;
  modes.dst_stride[at] = dst;
  modes.src_stride[at] = src;
  modes.piece_step[at] = step;
}

/// Where the lanes of the first warp find a unit: shared-memory addresses at one step of collecting their words.
using Lanes = std::array<std::uint32_t, 32>;

/// Cycles one such access takes: lanes that want different words of one bank wait for each other.
int cycles(const Lanes& lanes, int count, std::int32_t shift) {
  std::array<std::array<std::uint32_t, 8>, 32> words;
  std::array<std::uint8_t, 32> used{};
  int worst = 1;
  for (int lane = 0; lane < count; ++lane) {
    const std::uint32_t word = maps::packed_swizzle(lanes[static_cast<std::size_t>(lane)], shift) / 4;
    const std::size_t bank = word & 31;
    bool known = false;
    for (std::size_t i = 0; i < used[bank] && !known; ++i) known = words[bank][i] == word;
    if (known || used[bank] == 8) continue;
    words[bank][used[bank]++] = word;
    worst = std::max<int>(worst, used[bank]);
  }
  return worst;
}

/// The addresses of the first warp's lanes at step `step`, sub-unit `part` of a word.
int lanes_of(const PackedArgs& a, int across, int units, int steps, int step, int part, Lanes& lanes) {
  int count = 0;
  for (int lane = 0; lane < 32; ++lane) {
    const maps::PackedStore at = maps::packed_store(a, static_cast<std::uint32_t>(lane));
    const int turn = maps::packed_turn(lane, step, steps, a.rotate);
    const std::int32_t unit = at.word * units + turn * (units / steps) + part;
    const std::int32_t row = at.row * across;
    if (unit >= a.run_units || row >= a.rows) continue;
    lanes[static_cast<std::size_t>(count++)] = static_cast<std::uint32_t>(
        maps::packed_run_entry(a, static_cast<std::uint32_t>(unit)) +
        maps::packed_row_entry(a, static_cast<std::uint32_t>(row)).inside);
  }
  return count;
}

/// Chooses lanes' places, swizzle and turns so that the stores meet the fewest bank conflicts.
void spread(const Canonical& c, PackedArgs& a) {
  const int units = 16 / c.dst_unit;
  const int steps = c.dst_unit <= 4 ? 4 : units;
  const int across = a.kind == PackedKind::kBlock ? 4 / c.dst_unit : 1;
  const auto words = static_cast<std::int32_t>(a.run_words.divisor);
  const std::int32_t lines = (a.rows + across - 1) / across;
  // A conflict costs a cycle of shared memory; a lane without work, turns and swizzles cost instructions, by which
  // collecting small units is bound.
  const bool bound = c.dst_unit < 4 && a.kind != PackedKind::kBlock;
  const double turn_cost = bound ? 2.0 : 0.3, swizzle_cost = bound ? 1.6 : 0.2;
  PackedArgs best = a;
  double best_cost = 1e9;
  for (const std::int32_t warp_words : {8, 4, 0}) {
    if (warp_words != 0 && lines < 32 / warp_words) continue;
    a.warp_words = warp_words;
    a.run_groups = base::FastDiv(warp_words != 0 ? ceil_div(words, warp_words) : words);
    const double waste = static_cast<double>(maps::packed_stores(a, lines)) / (static_cast<double>(words) * lines);
    for (const bool rotate : {false, true}) {
      if (rotate && steps == 1) break;
      a.rotate = rotate;
      Lanes first, second;
      const int n1 = lanes_of(a, across, units, steps, 0, 0, first);
      const int n2 = lanes_of(a, across, units, steps, steps / 2, units / steps - 1, second);
      for (const std::int32_t shift : {0, 7, 8, 9, 10, 11, 12, 13}) {
        const double cost = (2.0 + cycles(first, n1, shift) + cycles(second, n2, shift)) * waste +
                            (rotate ? turn_cost : 0.0) + (shift != 0 ? swizzle_cost : 0.0);
        if (cost >= best_cost) continue;
        best_cost = cost;
        a.swizzle_shift = shift;
        best = a;
      }
    }
    if (best_cost < 4.6) break;
  }
  a = best;
  if (a.kind == PackedKind::kPlain && (a.rotate || a.swizzle_shift != 0)) a.kind = PackedKind::kSpread;
}

/// Puts the modes first along which the tile's runs, then its pieces, go on in memory: tiles that run side by side then
/// share the sectors at their ends.
void neighbours_first(const Canonical& c, const Set& set, const Order& src_order, maps::Walk& walk) {
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

/// Everything of the arguments but the padding and the vector width.
PackedArgs geometry(const Canonical& c, const Set& set) {
  PackedArgs a;
  const std::uint64_t inside = set.dst | set.src;
  std::int64_t batch = 0;
  outer_walk(c, inside, &a.batch, &batch);
  const Order src_order = by_src_stride(c);
  neighbours_first(c, set, src_order, a.batch);
  const ByteRange range = source_range(c);
  a.src_first = range.first;
  a.src_last = range.last;
  a.dst_offset = c.dst_offset;
  a.src_offset = c.src_offset;
  a.same_cut = set.d_cut != kNone && set.d_cut == set.s_cut;

  const auto in = [](std::uint64_t mask, std::size_t m) { return (mask >> m & 1) != 0; };
  const auto step_inside = [&](std::size_t m) {
    const CopyMode& mode = c.modes[m];
    if (mode.src_stride >= 0 || !in(set.src, m)) return;
    // A piece that runs backwards starts at its last index.
    const std::int64_t reach = (set.chunk[m] - 1) * mode.src_stride;
    a.src_offset += reach;
    (in(set.dst, m) ? a.run_inside : a.row_inside) -= static_cast<std::int32_t>(reach);
  };
  for (std::size_t m = 0; m < c.modes.size() && m < kMaxSet; ++m)
    if (set.chunk[m] != 0) step_inside(m);

  // Pieces are numbered in dst's order, so that neighbours in a run are neighbours in number.
  std::uint32_t pieces = 1;
  std::array<std::uint32_t, kMaxSet> piece_step{};
  for (std::size_t m = 0; m < c.modes.size() && m < kMaxSet; ++m)
    if (in(set.dst & ~set.src, m)) {
      piece_step[m] = pieces;
      pieces *= static_cast<std::uint32_t>(set.chunk[m]);
      append(a.piece_modes, static_cast<std::uint32_t>(set.chunk[m]), 0, c.modes[m].src_stride, piece_step[m]);
    }
  a.run_units = 1;
  for (std::size_t m = 0; m < c.modes.size() && m < kMaxSet; ++m)
    if (in(set.dst, m)) {
      append(a.run_modes, static_cast<std::uint32_t>(set.chunk[m]), c.modes[m].dst_stride, c.modes[m].src_stride,
             piece_step[m]);
      a.run_units *= set.chunk[m];
    }
  a.rows = 1;
  std::int64_t piece_bytes = c.src_unit;
  for (const std::uint8_t m : src_order) {
    if (in(set.src, m)) piece_bytes *= set.chunk[m];
    if (!in(set.src & ~set.dst, m)) continue;
    append(a.row_modes, static_cast<std::uint32_t>(set.chunk[m]), c.modes[m].dst_stride, c.modes[m].src_stride, 0);
    a.rows *= set.chunk[m];
  }
  a.pieces = static_cast<std::int32_t>(pieces);
  a.piece_bytes = static_cast<std::int32_t>(piece_bytes);

  const auto cut = [&](int mode, std::int32_t* extent, std::int32_t* chunk, std::int64_t* dst, std::int64_t* src) {
    if (mode == kNone) return base::FastDiv(1);
    const auto m = static_cast<std::size_t>(mode);
    *extent = static_cast<std::int32_t>(c.modes[m].extent);
    *chunk = set.chunk[m];
    *dst = set.chunk[m] * c.modes[m].dst_stride;
    *src = set.chunk[m] * c.modes[m].src_stride;
    return base::FastDiv(ceil_div(*extent, *chunk));
  };
  a.cuts_d = cut(set.d_cut, &a.d_extent, &a.d_chunk, &a.d_dst_step, &a.d_src_step);
  if (!a.same_cut) a.cuts_s = cut(set.s_cut, &a.s_extent, &a.s_chunk, &a.s_dst_step, &a.s_src_step);
  a.run_per_d = a.run_units / a.d_chunk;
  const std::int32_t s_chunk = a.same_cut ? a.d_chunk : a.s_chunk;
  a.piece_per_s = a.piece_bytes / s_chunk;
  if (set.d_cut != kNone && !in(set.src, static_cast<std::size_t>(set.d_cut))) a.pieces_per_d = a.pieces / a.d_chunk;
  if (set.s_cut != kNone && !in(set.dst, static_cast<std::size_t>(set.s_cut))) a.rows_per_s = a.rows / a.s_chunk;
  a.tiles = static_cast<std::uint32_t>(std::int64_t{a.cuts_d.divisor} * a.cuts_s.divisor * batch);

  // Pieces all start on a word, or may start anywhere, within the tile and with the tile, and take a word more.
  std::int64_t bits = c.src_align | a.d_src_step | a.s_src_step | (a.src_offset - c.src_offset);
  for (int i = 0; i < a.piece_modes.rank; ++i) bits |= a.piece_modes.src_stride[i];
  for (int i = 0; i < a.batch.rank; ++i) bits |= a.batch.src_stride[i];
  const bool on_words = (bits & 15) == 0;
  const std::int32_t words = static_cast<std::int32_t>(ceil_div(piece_bytes, 16)) + (on_words ? 0 : 1);
  a.piece_words = base::FastDiv(words);
  a.piece_pitch = on_words ? words * 16 : static_cast<std::int32_t>(ceil_div(piece_bytes + 45, 16)) * 16;
  a.dst_dtype = static_cast<std::uint8_t>(c.dst_dtype);
  a.src_dtype = static_cast<std::uint8_t>(c.src_dtype);
  return a;
}

bool runs_on(const Canonical& c, const Set& set, std::int64_t alignment) {
  std::int64_t bits = row_alignment(c, set.dst);
  if (set.d_cut != kNone) {
    const auto m = static_cast<std::size_t>(set.d_cut);
    bits |= set.chunk[m] * c.modes[m].dst_stride;
  }
  return (bits & (alignment - 1)) == 0;
}

/// True when 4 bytes of a piece are units of rows that lie side by side and start alike: see PackedKind::kBlock.
bool in_blocks(const Canonical& c, const Set& set) {
  if (c.cast || c.dst_unit > 2) return false;
  // Rows in groups of `across` lie side by side where src's innermost mode counts rows, and evenly many.
  const std::int32_t across = 4 / c.dst_unit;
  bool side_by_side = false;
  for (std::size_t m = 0; m < c.modes.size() && m < kMaxSet; ++m)
    if (c.modes[m].src_stride == c.src_unit && (set.src & ~set.dst) >> m & 1)
      side_by_side = (set.dst & set.src) == 0 || set.chunk[m] % across == 0;
  if (!side_by_side) return false;
  std::int64_t src_bits = c.src_align, dst_bits = 16;
  for (std::size_t m = 0; m < c.modes.size(); ++m) {
    const CopyMode& mode = c.modes[m];
    const bool row = m < kMaxSet && ((set.src & ~set.dst) >> m & 1) != 0;
    if (m < kMaxSet && (set.src >> m & 1) != 0 && mode.src_stride < 0) return false;
    if (row) dst_bits |= mode.dst_stride;
    else src_bits |= mode.src_stride;
    if (row && static_cast<int>(m) == set.s_cut) src_bits |= set.chunk[m] * mode.src_stride;
  }
  return src_bits % 4 == 0 && dst_bits % 16 == 0 && set.piece_units >= across;
}

/// The store's side of the arguments, and the shared memory a tile takes.
void finish(const Canonical& c, const Set& set, PackedArgs& a) {
  const std::int32_t units = 16 / c.dst_unit;
  const bool aligned = runs_on(c, set, 16);
  a.on_words = aligned;
  a.run_words = base::FastDiv(ceil_div(a.run_units + (aligned ? 0 : units - 1), units));
  a.run_copies = aligned ? 1 : std::max(1, 4 / c.dst_unit);
  a.tile_bytes = (a.pieces * a.piece_pitch + 32 + 127) / 128 * 128;
  if (in_blocks(c, set)) a.kind = PackedKind::kBlock;
  a.shared_bytes = a.tile_bytes + (a.rows + a.pieces) * 16 + maps::packed_run_table(a.run_units) * 2 * a.run_copies;
}

/// Tiles a block moves one after the other. Measured on H200: one is best (0.90 -> 0.95 of a copy on small matrices),
/// but its tables, made while its first tile is under way, must not take longer than that.
std::int64_t tiles_of_block(double entries, double words) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(2 * entries / words + 0.5));
}

struct Priced {
  Set set;
  double time = 1e300;
  std::int64_t read = 0, written = 0;
  double efficiency = 0;
};

Priced price(const Canonical& c, const CudaMachine& machine, const Set& set) {
  Priced p;
  p.set = set;
  const std::int64_t tile_bytes = set.tile_units * std::max(c.src_unit, c.dst_unit);
  const std::int64_t copies = c.dst_unit < 4 && !runs_on(c, set, 16) ? 4 / c.dst_unit : 1;
  const std::int64_t table_bytes = set.run_units * 2 * copies + (set.tile_units / set.run_units + set.tile_units / set.piece_units) * 16;
  if (set.tile_units * c.src_unit * 17 / 16 + table_bytes > (44 << 10)) return p;
  std::int64_t tiles = 1;
  for (std::size_t i = 0; i < c.modes.size(); ++i) {
    const std::int64_t chunk = i < kMaxSet ? set.chunk[i] : 0;
    tiles *= chunk == 0 ? c.modes[i].extent : ceil_div(c.modes[i].extent, chunk);
  }
  // Rows that follow each other in dst make one run of memory.
  std::int64_t run_bytes = set.run_units * c.dst_unit;
  std::int64_t runs = c.units / set.run_units;
  if (set.d_cut == kNone && run_bytes % 16 == 0)
    for (std::size_t m = 0; m < c.modes.size() && m < kMaxSet; ++m)
      if (c.modes[m].dst_stride == run_bytes && set.chunk[m] == c.modes[m].extent) {
        run_bytes *= c.modes[m].extent;
        runs /= c.modes[m].extent;
      }
  const std::int64_t piece_bytes = set.piece_units * c.src_unit;
  std::int64_t src_bits = c.src_align | 128;
  for (std::size_t i = 0; i < c.modes.size(); ++i)
    if (i >= kMaxSet || (set.src >> i & 1) == 0) src_bits |= c.modes[i].src_stride;
    else if (static_cast<int>(i) == set.s_cut) src_bits |= set.chunk[i] * c.modes[i].src_stride;
  p.read = sectors(c.units / set.piece_units, piece_bytes, src_bits & -src_bits);
  p.written = sectors(runs, run_bytes, runs_on(c, set, 32) ? 32 : 1);
  const double used = static_cast<double>(c.units) / (static_cast<double>(tiles) * static_cast<double>(set.tile_units));
  const auto size = static_cast<double>(tile_bytes);
  double efficiency = 0.93 * size / (size + 1500) * std::min(1.0, 0.5 + 0.55 * used);
  // Memory likes 64 bytes and more in a row.
  efficiency *= static_cast<double>(run_bytes) / static_cast<double>(run_bytes + 8);
  efficiency *= static_cast<double>(piece_bytes) / static_cast<double>(piece_bytes + 8);
  // The last wave of blocks leaves part of the GPU idle.
  const double at_once = machine.sm_count * std::min(6.0, static_cast<double>(machine.shared_per_sm_bytes) /
                                                              static_cast<double>(set.tile_units * c.src_unit + table_bytes + 1024));
  const double waves = static_cast<double>(tiles) / at_once;
  efficiency *= waves / (waves + 0.5);
  // A block's tables cost about a word's work an entry, and serve all of its tiles.
  const double words = size / 16, entries = static_cast<double>(set.run_units);
  efficiency /= 1 + 0.5 * entries / (words * static_cast<double>(tiles_of_block(entries, words)));
  // Collecting byte by byte is bound by instructions.
  if (c.dst_unit < 4 && !c.cast && !in_blocks(c, set)) efficiency *= c.dst_unit == 1 ? 0.45 : 0.75;
  p.efficiency = efficiency;
  p.time = static_cast<double>(p.read + p.written) / efficiency;
  return p;
}

}  // namespace

Candidate bid_packed(const Canonical& c, const CudaMachine& machine) {
  constexpr Family kFamily = Family::kPacked;
  if (c.two_sided) return refusal(kFamily, "the sides share no modes");
  if (c.modes.empty()) return refusal(kFamily, "one run has nothing to pack");
  if (!units_aligned(c)) return refusal(kFamily, "elements lie off their own alignment");
  if (!moves_or_converts(c)) return refusal(kFamily, "no kernel for this pair of dtypes");

  const Order src_order = by_src_stride(c);
  Order dst_order;
  for (std::size_t i = 0; i < c.modes.size() && i < kMaxSet; ++i) dst_order.push_back(static_cast<std::uint8_t>(i));
  Priced best;
  for (const std::int64_t dst_target : {16, 32, 64, 128, 256, 512, 1024, 4096, 8192, 16384})
    for (const std::int64_t src_target : {128, 256, 512, 1024, 4096, 8192, 16384}) {
      const Set set = make_set(c, dst_order, src_order, dst_target, src_target);
      const Priced p = price(c, machine, set);
      if (p.time < best.time) best = p;
    }
  if (best.time >= 1e300) return refusal(kFamily, "no tile fits shared memory");
  maps::Walk walk;
  std::int64_t batch = 0;
  const Set& set = best.set;
  if (!outer_walk(c, set.dst | set.src, &walk, &batch)) return refusal(kFamily, "too many outer modes");
  PackedArgs a = geometry(c, set);
  if (std::max({a.run_modes.rank, a.row_modes.rank, a.piece_modes.rank}) > maps::kMaxPackedModes)
    return refusal(kFamily, "too many modes in a tile");
  if (std::int64_t{a.cuts_d.divisor} * a.cuts_s.divisor >= (std::int64_t{1} << 31) / batch)
    return refusal(kFamily, "too many tiles");

  finish(c, set, a);
  if (a.shared_bytes > kMostShared) return refusal(kFamily, "no tile fits shared memory");

  Candidate bid;
  bid.family = kFamily;
  const double entries = a.run_units + a.rows + a.pieces;
  const std::int64_t blocks =
      std::min<std::int64_t>(ceil_div(a.tiles, tiles_of_block(entries, static_cast<double>(set.tile_units * c.dst_unit) / 16)),
                             std::int64_t{machine.sm_count} * kMostBlocksPerSm);
  bid.params = {{ParamId::kDstSet, static_cast<std::int64_t>(set.dst)},
                {ParamId::kSrcSet, static_cast<std::int64_t>(set.src)},
                {ParamId::kVectorBytes, 16},
                {ParamId::kThreads, maps::kPackedThreads},
                {ParamId::kBlocks, blocks}};
  if (set.d_cut != kNone) {
    bid.params.push_back({ParamId::kRowMode, set.d_cut});
    bid.params.push_back({ParamId::kTileRows, set.chunk[static_cast<std::size_t>(set.d_cut)]});
  }
  if (set.s_cut != kNone) {
    bid.params.push_back({ParamId::kColMode, set.s_cut});
    bid.params.push_back({ParamId::kTileCols, set.chunk[static_cast<std::size_t>(set.s_cut)]});
  }
  predict(bid, c, machine, best.read, best.written, best.efficiency);
  return bid;
}

maps::PackedArgs packed_args(const Canonical& c, const Candidate& chosen) {
  const Set set = set_of(c, chosen);
  PackedArgs a = geometry(c, set);
  finish(c, set, a);
  spread(c, a);
  a.blocks = static_cast<std::uint32_t>(chosen.get(ParamId::kBlocks, 1));
  return a;
}

}  // namespace restride::plan
