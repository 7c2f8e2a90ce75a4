// The bid of packed/staged on CUDA: the cheapest of its tiles.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/base/checked.h"
#include "src/cuda/packed/bids.h"
#include "src/cuda/packed/staged.h"

namespace restride::cuda::packed {

using layout::Canonical;

namespace {

/// Blocks beyond which starting one costs more than their even spread brings; where tiles are whole on both sides,
/// neighbours share nothing and need not stay close.
std::int64_t most_blocks(const CudaMachine& machine, bool whole) {
  return machine.sm_count * (whole ? kSizes.staged_whole_blocks : kSizes.staged_blocks);
}

/// True when a tile fits shared memory; where pieces are short, what aligns them counts.
bool fits(const Canonical& c, const Set& set, const Order& src_order) {
  const std::int64_t pieces = set.tile_units / set.piece_units, rows = set.tile_units / set.run_units;
  const std::int64_t copies = c.dst_unit < 4 ? 4 / c.dst_unit : 1;
  const std::int64_t most = pieces * (set.piece_bytes + 60) + (pieces + rows) * 16 +
                            packed_run_table(static_cast<std::int32_t>(set.run_units), c.dst_unit, 0) * 2 * copies;
  if (most < kMostShared * 3 / 4) return true;
  PackedArgs a = geometry(c, set, src_order);
  finish(c, kind_of(c, set, a), a);
  return a.shared_bytes <= kMostShared;
}

/// The tiles to choose from: those that aim at some length of runs and of pieces.
class Choice {
 public:
  Choice(const Canonical& c, const CudaMachine& machine, const Order& src_order)
      : c_(c), machine_(machine), src_order_(src_order) {
    for (std::size_t i = 0; i < c.modes.size() && i < kMaxSet; ++i) dst_order_.push_back(static_cast<std::uint8_t>(i));
  }

  /// The cheapest, into *set; a middling one where there is none. That is priced first: most of the others then turn
  /// out dearer early on.
  Price cheapest(Set* set) const {
    const Price middling = price(kMiddling, set);
    Target at;
    Price best;
    if (middling.time < 1e300) best = search(std::nextafter(middling.time, 1e300), &at);  // it may be the best itself
    if (at.run == 0) best = search(1e300, &at);
    if (at.run != 0) *set = tile(at);
    return best;
  }

 private:
  /// Bytes that runs and pieces aim at; 0: none chosen.
  struct Target {
    std::int64_t run = 0, piece = 0;
  };
  static constexpr Target kMiddling{kSizes.staged_middling_bytes, kSizes.staged_middling_bytes};
  static constexpr int kLargest = 32 << 10;

  /// True where the runs of flat tiles repeat themselves, as words, so late that only a large tile has several cycles.
  bool long_cycles(const Set& set) const {
    const std::int64_t run_bytes = set.run_units * c_.dst_unit;
    return c_.dst_unit == 1 && runs_of(c_, set).merged &&
           run_bytes * 16 / std::gcd(run_bytes, std::int64_t{16}) >= kSizes.staged_long_cycle_bytes;
  }

  Set tile(const Target& at) const {
    Set set;
    take_runs(c_, dst_order_, at.run, set);
    take_pieces(c_, src_order_, at.piece, set);
    return set;
  }

  Price price(const Target& at, Set* set) const {
    *set = tile(at);
    if (set->tile_units * c_.src_unit > kMostTile) return {};
    const Price p = price_of(c_, machine_, *set, run_alignment(c_, *set), 1e300);
    return p.time < 1e300 && fits(c_, *set, src_order_) ? p : Price{};
  }

  /// The first of the cheapest below `least`.
  Price search(double least, Target* at) const {
    Price best;
    best.time = least;
    Set set;
    std::int64_t last_run = 0, same_run = 0;
    for (const std::int64_t dst_target : {4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 1024, 2048, 4096}) {
      if (dst_target < 16 && c_.dst_unit > 2) continue;  // runs of less than a word are for pixels of small units
      // A lane that writes half a sector leaves the other half to a later store: 0.43 of a copy where others reach 0.9.
      if (dst_target < 32 && c_.dst_unit == 16) continue;
      if (dst_target <= same_run) continue;
      same_run = take_runs(c_, dst_order_, dst_target, set);
      if (set.run_units == last_run) continue;
      last_run = set.run_units;
      const std::int64_t starts = run_alignment(c_, set);
      if (runs_too_dear(c_, machine_, set, starts, best.time)) continue;
      std::int64_t last_tile = 0, same_pieces = 0;
      for (const std::int64_t src_target : {64, 128, 192, 256, 384, 512, 768, 1024, 4096, 16384, kLargest}) {
        if (src_target <= same_pieces || (src_target == kLargest && !long_cycles(set))) continue;
        same_pieces = take_pieces(c_, src_order_, src_target, set);
        if (set.tile_units == last_tile) continue;
        last_tile = set.tile_units;
        if (set.tile_units * c_.src_unit > kMostTile) break;
        const Price p = price_of(c_, machine_, set, starts, best.time);
        if (p.time >= best.time || !fits(c_, set, src_order_)) continue;
        best = p;
        *at = {dst_target, src_target};
      }
    }
    return best;
  }

  const Canonical& c_;
  const CudaMachine& machine_;
  const Order& src_order_;
  Order dst_order_;
};

}  // namespace

void bid_staged(const Request& request, Candidate& bid) {
  const Canonical& c = request.c;
  const CudaMachine& machine = request.machine;
  if (c.two_sided) return refuse(bid, "the sides share no modes");
  if (c.modes.empty()) return refuse(bid, "one run has nothing to pack");
  if (!units_aligned(c)) return refuse(bid, "elements lie off their own alignment");
  if (!moves_or_converts(c)) return refuse(bid, "no kernel that converts such units");

  Set set;
  const Order src_order = by_src_stride(c);
  const Price best = Choice(c, machine, src_order).cheapest(&set);
  if (best.time >= 1e300)
    return refuse(bid, too_many(tiles_of(c, set)) ? "too many tiles" : "no tile fits shared memory");
  std::int64_t batch = 0;
  if (!outer_walk(c, set.dst | set.src, nullptr, &batch)) return refuse(bid, "too many outer modes");
  PackedArgs a = geometry(c, set, src_order);
  if (std::max({a.run_modes.rank, a.row_modes.rank, a.piece_modes.rank}) > kMaxPackedModes)
    return refuse(bid, "too many modes in a tile");
  finish(c, kind_of(c, set, a), a);
  if (a.shared_bytes > kMostShared) return refuse(bid, "no tile fits shared memory");

  const double entries = a.run_units + a.rows + a.pieces;
  const auto tile_bytes = static_cast<double>(set.tile_units * c.dst_unit);
  // Several a block only where every multiprocessor has blocks enough without: a small copy is over sooner in one wave.
  const std::int64_t affordable = std::max<std::int64_t>(a.tiles / (kSizes.staged_enough_blocks * machine.sm_count), 1);
  const std::int64_t tiles = std::min(
      tiles_of_block(*machine.costs, a.kind == PackedKind::kTransposed, c.dst_unit, entries, tile_bytes), affordable);
  const std::int64_t blocks =
      std::min(ceil_div(a.tiles, tiles), most_blocks(machine, !c.cast && runs_of(c, set).merged));
  bid.params = {{ParamId::kDstSet, static_cast<std::int64_t>(set.dst)},
                {ParamId::kSrcSet, static_cast<std::int64_t>(set.src)},
                {ParamId::kKind, static_cast<std::int64_t>(a.kind)},
                {ParamId::kVectorBytes, 16},
                {ParamId::kThreads, kPackedThreads},
                {ParamId::kBlocks, blocks},
                {ParamId::kRowMode, set.d_cut},
                {ParamId::kTileRows, set.d_cut == kNone ? 0 : set.chunk[static_cast<std::size_t>(set.d_cut)]},
                {ParamId::kColMode, set.s_cut},
                {ParamId::kTileCols, set.s_cut == kNone ? 0 : set.chunk[static_cast<std::size_t>(set.s_cut)]}};
  predict(bid, machine, best.read, best.written, best.efficiency);
}

}  // namespace restride::cuda::packed
