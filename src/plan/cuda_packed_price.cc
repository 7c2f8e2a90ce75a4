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
  const std::int64_t tile_bytes = set.tile_units * std::max(c.src_unit, c.dst_unit);
  const std::int64_t piece_bytes = set.piece_bytes;
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
  if (small && c.cast && c.src_unit <= 2) efficiency *= 0.72;  // few bytes for each unit that is looked up
  p.efficiency = efficiency;
  p.time = touched / efficiency;
  return p;
}

}  // namespace restride::plan::packed
