// What a tile of packed costs on CUDA.
#include <algorithm>

#include "src/base/checked.h"
#include "src/base/saturated.h"
#include "src/plan/cuda_packed.h"

namespace restride::plan::packed {

using layout::Canonical;

namespace {

/// True when what follows a run in dst is not written, so that sectors at its ends are written in part.
bool gap_behind(const Canonical& c, const Set& set) {
  std::int64_t next = 0;
  for (std::size_t m = 0; m < c.modes.size() && next == 0; ++m)
    if (m >= kMaxSet || (set.dst >> m & 1) == 0) next = c.modes[m].dst_stride;
  return set.d_cut == kNone && next > set.run_units * c.dst_unit;
}

/// The constants of a price, by the size of units; fitted to all tiles of 141 layouts, timed on an H200.
struct Weights {
  double whole;          ///< share of a copy's speed that a large tile of long runs and pieces reaches
  double half_tile;      ///< bytes of a tile that reaches half of it
  double crowded;        ///< lost for every KB of a tile beyond 15: fewer are under way at once
  double piece, run;     ///< bytes lost to the ends of a piece, of a run
  double split_words;    ///< words lost where a run may start inside one
  double split_sectors;  ///< runs under way on a multiprocessor, starting inside sectors, that halve its speed
  double alike, merged, loose, block;  ///< factors of rows that start alike, that follow each other, that start
                                       ///< anywhere, and of those moved in blocks
  double block_words;                  ///< words lost a run of blocks, where a lane's words are of different rows
  double entry;                        ///< words that an entry of a tile's tables costs
  double wave, unused;   ///< waves of blocks lost to the last one; share of a tile's idle part that is lost
  double shared_sector;  ///< what the part of a sector costs that others read or write
};
constexpr Weights kBytes{0.95, 2900, 0, 2.2, 0.4, 1.1, 1900, 1, 1, 0.81, 0.96, 0.25, 0.09, 0.5, 0.78, 0.16};
constexpr Weights kHalves{1.0, 2000, 0.0022, 2.1, 1.5, 1.3, 1240, 0.88, 0.97, 0.97, 1, 0.15, 0.117, 0.85, 0.38, 0.42};
constexpr Weights kWider{1.0, 1600, 0.0023, 1.5, 3, 0.3, 1000, 1, 1, 0.96, 1, 0.2, 0.09, 0.7, 0.5, 1};

constexpr Weights kWords = [] {
  Weights w = kWider;
  w.whole = 1.05;
  return w;
}();

constexpr const Weights& weights_of(int unit) {
  return unit == 1 ? kBytes : unit == 2 ? kHalves : unit < 16 ? kWider : kWords;
}

/// Bytes that a tile's tables take.
std::int64_t table_bytes_of(const Set& set, std::int64_t copies) {
  return set.run_units * 2 * copies + (set.tile_units / set.run_units + set.tile_units / set.piece_units) * 16;
}

/// Tiles along all cuts and outer modes.
std::int64_t tiles_of(const Canonical& c, const Set& set) {
  std::int64_t tiles = 1;
  for (std::size_t i = 0; i < c.modes.size(); ++i) {
    const std::int64_t extent = c.modes[i].extent, chunk = i < kMaxSet ? set.chunk[i] : 0;
    if (chunk != extent) tiles *= chunk == 0 ? extent : ceil_div(extent, chunk);  // most are whole: no division
  }
  return tiles;
}

/// Sectors that a tile's pieces are read by.
std::int64_t sectors_read(const Canonical& c, const Set& set) {
  std::int64_t bits = c.src_align | 128;
  for (std::size_t i = 0; i < c.modes.size(); ++i)
    if (i >= kMaxSet || (set.src >> i & 1) == 0)
      bits |= c.modes[i].src_stride;
    else if (static_cast<int>(i) == set.s_cut)
      bits |= set.chunk[i] * c.modes[i].src_stride;
  return sectors(c.units / set.piece_units, set.piece_bytes, bits & -bits);
}

}  // namespace

std::int64_t tiles_of_block(bool blocks, int dst_unit, double entries, double tile_bytes) {
  const double tables = (blocks ? 0.7 : dst_unit < 4 ? 3.0 : 1.5) * entries * 16 / tile_bytes;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::max(tables + 0.5, 20e3 / tile_bytes)), 1, 4);
}

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

Price price_of(const Canonical& c, const CudaMachine& machine, const Set& set, std::int64_t starts, double least) {
  Price p;
  const bool small = c.dst_unit < 4;
  const Weights& w = weights_of(c.dst_unit);
  const auto part = [](double all, double lost) { return all / (all + lost); };
  const auto size = static_cast<double>(set.tile_units * std::max(c.src_unit, c.dst_unit));
  double efficiency = w.whole * part(size, w.half_tile) * (1 - w.crowded * std::max(0.0, size - 15e3) / 1e3);
  efficiency *= part(static_cast<double>(set.piece_bytes), w.piece);
  // A block's tables serve all of its tiles, of which it seldom has many. They are made while the first is under way,
  // so they cost little unless they take longer.
  const auto entries = static_cast<double>(set.run_units);
  const auto with_tables = [&](std::int64_t served) {
    const double per_word = entries / (size / 16 * static_cast<double>(served));
    return efficiency / (1 + w.entry * per_word + 0.35 * std::max(0.0, per_word - 0.5));
  };
  constexpr std::int64_t kMostServed = 2;
  const auto own = static_cast<double>(c.units) * (c.src_unit + c.dst_unit) / 32;
  if (own >= least * with_tables(kMostServed)) return p;

  const std::int64_t table_bytes = table_bytes_of(set, small && starts < 16 ? 4 / c.dst_unit : 1);
  const std::int64_t loaded_bytes = set.tile_units / set.piece_units * set.piece_bytes;
  if (loaded_bytes * 17 / 16 + table_bytes > (44 << 10)) return p;
  const auto tiles = static_cast<double>(tiles_of(c, set));
  const double used = static_cast<double>(c.units) / (tiles * static_cast<double>(set.tile_units));
  efficiency *= std::min(1.0, 1 - w.unused + (w.unused + 0.05) * used);
  const auto block_bytes = static_cast<double>(loaded_bytes + table_bytes + 1024);
  const double resident = std::min(small ? 4.0 : 6.0, static_cast<double>(machine.shared_per_sm_bytes) / block_bytes);
  efficiency *= part(tiles / (machine.sm_count * resident), w.wave);

  const Runs runs = runs_of(c, set);
  p.read = sectors_read(c, set);
  p.written = sectors(runs.count, runs.bytes, starts >= 32 ? 32 : 1);
  if (gap_behind(c, set) && (starts < 32 || runs.bytes % 32 != 0))
    p.read += std::min(p.written, saturated_mul(runs.count, 2));
  efficiency *= part(static_cast<double>(runs.bytes), w.run);
  const auto words = static_cast<double>(set.run_units * c.dst_unit) / 16;
  if (!runs.merged && starts < 16) efficiency *= part(words, w.split_words);
  if (!runs.merged && (starts < 32 || runs.bytes % 32 != 0)) {
    // Sectors that two tiles write parts of wait for each other; the more, the longer.
    const double waiting = resident * static_cast<double>(set.tile_units / set.run_units) / w.split_sectors;
    efficiency /= 1 + waiting * waiting;
  }
  const double touched = own + w.shared_sector * (static_cast<double>(p.read) + static_cast<double>(p.written) - own);
  if (touched >= least * with_tables(kMostServed)) return p;  // what follows only costs more
  const bool blocks = in_blocks(c, set);
  efficiency = with_tables(std::min(kMostServed, tiles_of_block(blocks, c.dst_unit, entries, size)));
  if (blocks)
    efficiency *= w.block * part(words, w.block_words);
  else
    efficiency *= runs.merged ? w.merged : runs.loose ? w.loose : w.alike;
  if (small && c.cast && c.src_unit <= 2) efficiency *= 0.72;  // few bytes for each unit that is looked up
  p.time = touched / efficiency;
  p.efficiency = (static_cast<double>(p.read) + static_cast<double>(p.written)) / p.time;
  return p;
}

}  // namespace restride::plan::packed
