// What a tile of packed costs on CUDA.
#include <algorithm>
#include <bit>

#include "src/base/checked.h"
#include "src/base/saturated.h"
#include "src/cuda/packed/staged.h"

namespace restride::cuda::packed {

using layout::Canonical;

namespace {

/// True when what follows a run in dst is not written, so that sectors at its ends are written in part.
bool gap_behind(const Canonical& c, const Set& set) {
  const auto first = static_cast<std::size_t>(std::countr_one(set.dst));
  const std::int64_t next = first < c.modes.size() ? c.modes[first].dst_stride : 0;
  return set.d_cut == kNone && next > set.run_units * c.dst_unit;
}

/// By the size of units.
const StagedCosts& weights_of(const Costs& costs, int unit) {
  return unit == 1   ? costs.staged_bytes
         : unit == 2 ? costs.staged_halves
         : unit < 16 ? costs.staged_wider
                     : costs.staged_words;
}

/// Bytes that a tile's tables take.
std::int64_t table_bytes_of(const Set& set, std::int64_t copies) {
  return set.run_units * 2 * copies + (set.tile_units / set.run_units + set.tile_units / set.piece_units) * 16;
}

}  // namespace

std::int64_t tiles_of(const Canonical& c, const Set& set) {
  std::int64_t tiles = 1, whole_units = set.tile_units;  // of a tile that nothing is cut of
  const auto cut = [&](int mode) {
    const auto m = static_cast<std::size_t>(mode);
    tiles *= ceil_div(c.modes[m].extent, std::int64_t{set.chunk[m]});
    whole_units = whole_units / set.chunk[m] * c.modes[m].extent;
  };
  if (set.d_cut != kNone) cut(set.d_cut);
  if (set.s_cut != kNone && set.s_cut != set.d_cut) cut(set.s_cut);
  return tiles * (c.units / whole_units);
}

namespace {

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

/// A share of the speed as a quotient that is not divided yet: most tiles turn out too dear before they have a price.
struct Share {
  double above = 1, below = 1;
  /// What of `all` is left where `lost` more takes as long.
  constexpr void part(double all, double lost) { above *= all, below *= all + lost; }
};

/// What is left of `speed` by the tables of a tile of `size` bytes. A block's serve all of its tiles, of which it
/// seldom has many. They are made while the first is under way, so they cost little unless they take longer.
Share with_tables(const Costs& costs, const StagedCosts& w, const Share& speed, const Set& set, double size,
                  std::int64_t served) {
  const auto entries = static_cast<double>(set.run_units);
  const double words = size / 16 * static_cast<double>(served), over = entries - costs.staged_table_free * words;
  return {speed.above * words,
          speed.below * (words + w.entry * entries + costs.staged_table_cost * std::max(0.0, over))};
}

/// The share of runs that start inside a word, where they start on `starts` bytes, less than a word's.
double off_words(std::int64_t starts) { return 1 - static_cast<double>(starts) / 16; }

/// Sectors that the copy's bytes fill.
double own_sectors(const Canonical& c) {
  return static_cast<double>(c.units) * (c.src_unit + c.dst_unit) / kSectorBytes;
}

/// Leaves the share of the speed that the ends of runs leave. A run has `words` words and starts on `starts` bytes, and
/// `under_way` runs are moved at once on a multiprocessor.
void yield_of_ends(const StagedCosts& w, const Runs& runs, double words, std::int64_t starts, double under_way,
                   Share& speed) {
  speed.part(static_cast<double>(runs.bytes), w.run);
  if (runs.merged) return;
  if (starts < 16) speed.part(words, w.split_words * off_words(starts));
  if (starts >= kSectorBytes && runs.bytes % kSectorBytes == 0) return;
  // Sectors that two tiles write parts of wait for each other; the more, the longer.
  const double waiting = under_way / w.split_sectors;
  speed.below *= 1 + waiting * waiting;
}

}  // namespace

std::int64_t tiles_of_block(const Costs& k, bool transposed, int dst_unit, double entries, double tile_bytes) {
  const double weight = transposed ? k.staged_served_moved : dst_unit < 4 ? k.staged_served_small : k.staged_served;
  const double tiles = std::max(weight * entries * 16 / tile_bytes + 0.5, k.staged_served_bytes / tile_bytes);
  return static_cast<std::int64_t>(std::clamp(tiles, 1.0, kSizes.staged_most_served));
}

Runs runs_of(const Canonical& c, const Set& set) {
  Runs r{set.run_units * c.dst_unit, c.units / set.run_units, false, false};
  const std::uint64_t rows = set.src & ~set.dst;
  for_each_mode(rows, [&](std::size_t m) { r.loose |= c.modes[m].dst_stride % 16 != 0; });
  if (set.d_cut != kNone || (r.bytes % 16 != 0 && !std::has_single_bit(rows))) return r;
  bool whole = true;
  for_each_mode(rows, [&](std::size_t m) {
    if (!whole || c.modes[m].dst_stride != r.bytes) return;
    r.bytes *= set.chunk[m];
    r.count /= set.chunk[m];
    r.loose = false;
    r.merged = true;
    whole = set.chunk[m] == c.modes[m].extent;
  });
  return r;
}

bool runs_too_dear(const Canonical& c, const CudaMachine& machine, const Set& set, std::int64_t starts, double least) {
  const StagedCosts& w = weights_of(*machine.costs, c.dst_unit);
  const double largest = static_cast<double>(kMostTile) * std::max(1.0, static_cast<double>(c.dst_unit) / c.src_unit);
  Share speed{w.whole, 1};
  speed.part(largest, w.half_tile);
  if (set.d_cut != kNone) {  // runs that end inside a mode are not merged
    const auto bytes = static_cast<double>(set.run_units * c.dst_unit);
    speed.part(bytes, w.run);
    if (starts < 16) speed.part(bytes / 16, w.split_words * off_words(starts));
  }
  speed = with_tables(*machine.costs, w, speed, set, largest, kSizes.staged_most_priced);
  return own_sectors(c) * speed.below >= least * speed.above;
}

Price price_of(const Canonical& c, const CudaMachine& machine, const Set& set, std::int64_t starts, double least) {
  Price p;
  const bool small = c.dst_unit < 4;
  const Costs& costs = *machine.costs;
  const StagedCosts& w = weights_of(costs, c.dst_unit);
  const auto size = static_cast<double>(set.tile_units * std::max(c.src_unit, c.dst_unit));
  Share speed;
  speed.above = w.whole * (1 - w.crowded * std::max(0.0, size - costs.staged_crowded_from_bytes) / 1e3);
  speed.part(size, w.half_tile);
  speed.part(static_cast<double>(set.piece_bytes), w.piece);
  const auto entries = static_cast<double>(set.run_units);
  const auto with_tables_of = [&](std::int64_t served) { return with_tables(costs, w, speed, set, size, served); };
  const double own = own_sectors(c);
  const auto too_dear = [&](double sectors) {  // most are so even without their tables
    const auto at = [&](const Share& share) { return sectors * share.below >= least * share.above; };
    return at(speed) || at(with_tables_of(kSizes.staged_most_priced));
  };
  if (too_dear(own)) return p;

  const std::int64_t table_bytes = table_bytes_of(set, small && starts < 16 ? 4 / c.dst_unit : 1);
  const std::int64_t loaded_bytes = set.tile_units / set.piece_units * set.piece_bytes;
  if (loaded_bytes * 17 / 16 + table_bytes > kMostTile) return p;  // a sixteenth more aligns pieces
  const std::int64_t all_tiles = tiles_of(c, set);
  if (too_many(all_tiles)) return p;
  const auto tiles = static_cast<double>(all_tiles);
  const double used = static_cast<double>(c.units) / (tiles * static_cast<double>(set.tile_units));
  speed.above *= std::min(1.0, 1 - w.unused + (w.unused + costs.staged_full_bonus) * used);
  const auto block_bytes = static_cast<double>(loaded_bytes + table_bytes + kReservedShared);
  const double resident = std::min(small ? costs.staged_resident_small : costs.staged_resident,
                                   static_cast<double>(machine.shared_per_sm_bytes) / block_bytes);
  speed.part(tiles, w.wave * machine.sm_count * resident);

  const Runs runs = runs_of(c, set);
  p.read = sectors_read(c, set);
  p.written = sectors(runs.count, runs.bytes, starts >= kSectorBytes ? kSectorBytes : 1);
  if (gap_behind(c, set) && (starts < kSectorBytes || runs.bytes % kSectorBytes != 0))
    p.read += std::min(p.written, saturated_mul(runs.count, 2));
  const auto words = static_cast<double>(set.run_units * c.dst_unit) / 16;
  const double rows = static_cast<double>(set.tile_units) / static_cast<double>(set.run_units);
  yield_of_ends(w, runs, words, starts, resident * rows, speed);
  const double touched = own + w.shared_sector * (static_cast<double>(p.read) + static_cast<double>(p.written) - own);
  if (too_dear(touched)) return p;  // what follows only costs more
  const bool transposed = is_transposed(c, set);
  speed =
      with_tables_of(std::min(kSizes.staged_most_priced, tiles_of_block(costs, transposed, c.dst_unit, entries, size)));
  if (transposed) {
    speed.above *= w.block;
    speed.part(words, w.block_words);
  } else {
    speed.above *= runs.merged ? w.merged : runs.loose ? w.loose : w.alike;
  }
  if (small && c.cast && c.src_unit <= 2)
    speed.above *= costs.staged_cast_small;  // few bytes for each unit that is looked up
  p.time = touched * speed.below / speed.above;
  p.efficiency = (static_cast<double>(p.read) + static_cast<double>(p.written)) / p.time;
  return p;
}

}  // namespace restride::cuda::packed
