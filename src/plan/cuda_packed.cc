// The bid of packed on CUDA: what a tile costs, and the cheapest.
#include <algorithm>

#include "src/base/checked.h"
#include "src/base/saturated.h"
#include "src/plan/cuda_packed.h"

namespace restride::plan {

using layout::Canonical;
using maps::PackedArgs;
using namespace packed;

namespace {

/// Blocks beyond which starting one costs more than their even spread brings; where tiles are whole on both sides,
/// neighbours share nothing and need not stay close.
std::int64_t most_blocks(const CudaMachine& machine, bool whole) {
  return std::int64_t{machine.sm_count} * (whole ? 1024 : 128);
}

/// Tiles a block moves one after the other. Measured on H200: one is best for tiles of 12 KiB and more, unless its
/// tables, made while its first tile is under way, take longer than that.
std::int64_t tiles_of_block(bool blocks, int dst_unit, double entries, double tile_bytes) {
  const double tables = (blocks ? 0.7 : dst_unit < 4 ? 3.0 : 1.5) * entries * 16 / tile_bytes;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::max(tables + 0.5, 20e3 / tile_bytes)), 1, 4);
}

/// A run as memory sees it: those of flat tiles and those that fill whole words go on from row to row.
struct Runs {
  std::int64_t bytes = 0, count = 0;
  bool loose = false;   ///< rows start anywhere in a word
  bool merged = false;  ///< rows follow each other
};
Runs runs_of(const Canonical& c, const Set& set) {
  Runs r{set.run_units * c.dst_unit, c.units / set.run_units, false, false};
  const std::int64_t run_bytes = r.bytes;
  int rows = 0;
  for (std::size_t m = 0; m < c.modes.size() && m < kMaxSet; ++m) {
    if ((set.src & ~set.dst & std::uint64_t{1} << m) == 0) continue;
    ++rows;
    r.loose |= c.modes[m].dst_stride % 16 != 0;
  }
  if (set.d_cut != kNone || (run_bytes % 16 != 0 && rows > 1)) return r;
  for (std::size_t m = 0; m < c.modes.size() && m < kMaxSet; ++m)
    if (c.modes[m].dst_stride == r.bytes && (set.src & ~set.dst) >> m & 1) {
      r.bytes *= set.chunk[m];
      r.count /= set.chunk[m];
      r.loose = false;
      r.merged = true;
      if (set.chunk[m] != c.modes[m].extent) break;
    }
  return r;
}

/// True when what follows a run in dst is not written, so that sectors at its ends are written in part.
bool gap_behind(const Canonical& c, const Set& set) {
  std::int64_t next = 0;
  for (std::size_t m = 0; m < c.modes.size() && next == 0; ++m)
    if (m >= kMaxSet || (set.dst >> m & 1) == 0) next = c.modes[m].dst_stride;
  return set.d_cut == kNone && next > set.run_units * c.dst_unit;
}

struct Price {
  double time = 1e300;
  std::int64_t read = 0, written = 0;
  double efficiency = 0;
};

/// What a tile costs whose runs start on `starts` bytes, if that may be less than `least`; the constants are fitted to
/// all tiles of 70 layouts, timed on an H200.
Price price_of(const Canonical& c, const CudaMachine& machine, const Set& set, std::int64_t starts, double least) {
  Price p;
  const std::int64_t tile_bytes = set.tile_units * std::max(c.src_unit, c.dst_unit);
  const std::int64_t piece_bytes = packed::piece_bytes(c, set);
  const auto size = static_cast<double>(tile_bytes);
  const bool small = c.dst_unit < 4;
  // Blocks of units of 1 and 2 bytes are fewer, so their tiles must be larger; otherwise the smaller tile, of which
  // more are under way at once, overlaps loads and stores better. And memory likes 64 bytes and more in a row.
  double efficiency = 0.97 * size / (size + (!small ? 700 : c.dst_unit == 2 ? 1500 : 3000));
  const double crowded = c.dst_unit == 1 ? 0.0 : c.dst_unit <= 4 ? 0.0035 : 0.001;
  efficiency *= 1 - crowded * std::max(0.0, size - 15e3) / 1e3;
  efficiency *= static_cast<double>(piece_bytes) / static_cast<double>(piece_bytes + 6);
  // A block's tables cost about a word's work an entry, and serve all of its tiles, of which it seldom has many.
  const auto entries = static_cast<double>(set.run_units);
  const auto with_tables = [&](std::int64_t served) {
    return efficiency / (1 + 0.5 * entries / (size / 16 * static_cast<double>(served)));
  };
  constexpr std::int64_t kMostServed = 2;
  if (static_cast<double>(c.units) * (c.src_unit + c.dst_unit) / 32 >= least * with_tables(kMostServed)) return p;
  const std::int64_t copies = small && starts < 16 ? 4 / c.dst_unit : 1;
  const std::int64_t table_bytes =
      set.run_units * 2 * copies + (set.tile_units / set.run_units + set.tile_units / set.piece_units) * 16;
  const std::int64_t loaded_bytes = set.tile_units / set.piece_units * piece_bytes;
  if (loaded_bytes * 17 / 16 + table_bytes > (44 << 10)) return p;
  std::int64_t tiles = 1;
  for (std::size_t i = 0; i < c.modes.size(); ++i) {
    const std::int64_t extent = c.modes[i].extent, chunk = i < kMaxSet ? set.chunk[i] : 0;
    if (chunk != extent) tiles *= chunk == 0 ? extent : ceil_div(extent, chunk);  // most are whole: no division
  }
  const double used = static_cast<double>(c.units) / (static_cast<double>(tiles) * static_cast<double>(set.tile_units));
  efficiency *= std::min(1.0, 0.5 + 0.55 * used);
  // The last wave of blocks leaves part of the GPU idle.
  const double resident = small ? 4.0 : 6.0;
  const auto block_bytes = static_cast<double>(loaded_bytes + table_bytes + 1024);
  const double at_once =
      machine.sm_count * std::min(resident, static_cast<double>(machine.shared_per_sm_bytes) / block_bytes);
  const double waves = static_cast<double>(tiles) / at_once;
  efficiency *= waves / (waves + 0.3);
  const Runs runs = runs_of(c, set);
  std::int64_t src_bits = c.src_align | 128;
  for (std::size_t i = 0; i < c.modes.size(); ++i)
    if (i >= kMaxSet || (set.src >> i & 1) == 0)
      src_bits |= c.modes[i].src_stride;
    else if (static_cast<int>(i) == set.s_cut)
      src_bits |= set.chunk[i] * c.modes[i].src_stride;
  p.read = sectors(c.units / set.piece_units, piece_bytes, src_bits & -src_bits);
  p.written = sectors(runs.count, runs.bytes, starts >= 32 ? 32 : 1);
  if (gap_behind(c, set) && (starts < 32 || runs.bytes % 32 != 0))
    p.read += std::min(p.written, saturated_mul(runs.count, 2));
  efficiency *= static_cast<double>(runs.bytes) / static_cast<double>(runs.bytes + 6);
  // Looking units up one by one, and all the more byte by byte, is bound by instructions; so are the ends of runs.
  const auto words = static_cast<double>(set.run_units * c.dst_unit) / 16;
  if (runs.loose) efficiency *= 0.93;
  if (!runs.merged && starts < 16) efficiency *= words / (words + (small ? 2.0 : 0.7));
  const auto touched = static_cast<double>(p.read) + static_cast<double>(p.written);
  if (touched >= least * with_tables(kMostServed)) return p;  // what follows only costs more
  const bool blocks = in_blocks(c, set);
  efficiency = with_tables(std::min(kMostServed, tiles_of_block(blocks, c.dst_unit, entries, size)));
  if (blocks) efficiency *= words / (words + (c.dst_unit == 1 ? 0.6 : 0.3));  // a thread's words are of different rows
  if (small && !c.cast && !blocks) efficiency *= c.dst_unit == 1 ? 0.8 : 0.9;
  p.efficiency = efficiency;
  p.time = touched / efficiency;
  return p;
}

/// True when a tile fits shared memory; where pieces are short, what aligns them counts.
bool fits(const Canonical& c, const Set& set) {
  const std::int64_t pieces = set.tile_units / set.piece_units, rows = set.tile_units / set.run_units;
  const std::int64_t copies = c.dst_unit < 4 ? 4 / c.dst_unit : 1;
  const std::int64_t most = pieces * (packed::piece_bytes(c, set) + 60) + (pieces + rows) * 16 +
                            maps::packed_run_table(static_cast<std::int32_t>(set.run_units)) * 2 * copies;
  if (most < kMostShared * 3 / 4) return true;
  PackedArgs a = geometry(c, set);
  finish(c, set, a);
  return a.shared_bytes <= kMostShared;
}

/// The cheapest of the tiles that aim at some length of runs and of pieces.
Price cheapest(const Canonical& c, const CudaMachine& machine, Set* best_set) {
  Order dst_order;
  for (std::size_t i = 0; i < c.modes.size() && i < kMaxSet; ++i) dst_order.push_back(static_cast<std::uint8_t>(i));
  const Order src_order = by_src_stride(c);
  Price best;
  std::int64_t last_run = 0;
  for (const std::int64_t dst_target : {4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 1024, 4096}) {
    if (dst_target < 16 && c.dst_unit > 2) continue;  // runs of less than a word are for pixels of small units
    Set runs;
    take_runs(c, dst_order, dst_target, runs);
    if (runs.run_units == last_run) continue;
    last_run = runs.run_units;
    const std::int64_t starts = run_alignment(c, runs);
    std::int64_t last_tile = 0;
    for (const std::int64_t src_target : {64, 128, 192, 256, 384, 512, 768, 1024, 4096, 16384}) {
      Set set = runs;
      take_pieces(c, src_order, src_target, set);
      if (set.tile_units == last_tile) continue;
      last_tile = set.tile_units;
      if (set.tile_units * c.src_unit > (44 << 10)) break;
      const Price p = price_of(c, machine, set, starts, best.time);
      if (p.time >= best.time || !fits(c, set)) continue;
      best = p;
      *best_set = set;
    }
  }
  return best;
}

}  // namespace

Candidate bid_packed(const Canonical& c, const CudaMachine& machine) {
  constexpr Family kFamily = Family::kPacked;
  if (c.two_sided) return refusal(kFamily, "the sides share no modes");
  if (c.modes.empty()) return refusal(kFamily, "one run has nothing to pack");
  if (!units_aligned(c)) return refusal(kFamily, "elements lie off their own alignment");
  if (!moves_or_converts(c)) return refusal(kFamily, "no kernel for this pair of dtypes");

  Set set;
  const Price best = cheapest(c, machine, &set);
  if (best.time >= 1e300) return refusal(kFamily, "no tile fits shared memory");
  maps::Walk walk;
  std::int64_t batch = 0;
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
  const auto tile_bytes = static_cast<double>(set.tile_units * c.dst_unit);
  // Several a block only where every multiprocessor has blocks enough without: a small copy is over sooner in one wave.
  const std::int64_t affordable = std::max<std::int64_t>(a.tiles / (4 * machine.sm_count), 1);
  const std::int64_t tiles =
      std::min(tiles_of_block(a.kind == maps::PackedKind::kBlock, c.dst_unit, entries, tile_bytes), affordable);
  const std::int64_t blocks =
      std::min(ceil_div(a.tiles, tiles), most_blocks(machine, !c.cast && runs_of(c, set).merged));
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

}  // namespace restride::plan
