// The bid of tile's kernel for chains whose rows start anywhere on CUDA.
#include <algorithm>
#include <cmath>
#include <span>

#include "src/base/checked.h"
#include "src/cuda/tile/tile.h"
#include "src/cuda/tile/tiles.h"
#include "src/cuda/tile/unaligned_chains_shape.h"

namespace restride::cuda {

using layout::Canonical;
using layout::CopyMode;
using namespace chains;
using namespace unaligned;
using tiles::kSector;

namespace {

/// Rows of a side as tiles cut them, and the share of these parts that is inside.
struct Part {
  std::int64_t units = 0;
  double used = 0;
};
using Parts = detail::FixedVector<Part, 11>;

/// The parts of `extent` units that have about so many bytes and are multiples of `step`; neighbours differ.
Parts parts_of(std::int64_t extent, int unit, std::int64_t step, std::span<const std::int64_t> bytes) {
  Parts parts;
  for (const std::int64_t most : bytes) {
    const std::int64_t units = ceil_div(ceil_div(extent, ceil_div(extent * unit, most)), step) * step;
    if (parts.empty() || parts.back().units != units) parts.push_back({units, used_by(extent, units)});
  }
  return parts;
}

/// Of src's chain, multiples of `step`. The longest only where all of it is in the tile then.
Parts src_parts(std::int64_t extent, int unit, std::int64_t step) {
  static constexpr std::int64_t kBytes[] = {48, 72, 96, 120, 144, 192, 240, 320};
  return parts_of(extent, unit, step, std::span(kBytes).first(extent * unit > 320 ? 7 : 8));
}
Parts dst_parts(std::int64_t along, int unit, bool patches) {
  static constexpr std::int64_t kBytes[] = {96, 128, 160, 192, 224, 256, 320, 384, 512, 768, 1024};
  const std::int64_t step = !patches && along * unit > kSizes.anywhere_long_bytes ? kLineBytes : kSector;
  // 96 bytes are 6 words, and lanes side by side would read them and 2 of the next row out of the same banks.
  return parts_of(along, unit, step / unit, std::span(kBytes).subspan(patches ? 1 : 0));
}

/// True for batches of matrices of units of more than a byte, whose rows follow each other in dst.
bool of_batch(const Canonical& c) {
  return c.modes.size() == 3 && c.src_unit > 1 && !c.cast && c.modes[1].src_stride == c.src_unit &&
         c.modes[1].dst_stride == c.modes[0].extent * c.dst_unit;
}

/// A side's chain, or its first modes.
struct SideChain {
  Link link;
  bool words = false;  ///< they are whole words and start on words
  Parts parts = {};
  std::int64_t skew = 0;  ///< of dst's
  std::int64_t step = 1;  ///< of src's: units of a sector where rows start on sectors and may be cut at such
};

/// The best tile of all chains, its time as a part of a copy's.
struct Best {
  Choice choice;
  double time = 1e300;
};

/// The tiles of two chains.
class Tiles {
 public:
  Tiles(const Canonical& c, const CudaMachine& machine, const SideChain& d, const SideChain& s,
        UnalignedChainArgs& room)
      : c_(c),
        machine_(machine),
        costs_(*machine.costs),
        d_(d.parts),
        s_(s.parts),
        k_{d.link, s.link},
        sectors_(s.step),
        room_(room),
        unit_(c.dst_unit),
        src_unit_(c.src_unit),
        moved_(static_cast<double>(c.src_unit + c.dst_unit) / 2),
        in_patches_(in_patches(c)),
        step_(run_step(c, k_)) {
    k_.skew = d.skew;
    if (of_batch(c) && d.link.modes.size() == 1 && s.link.modes.size() == 1)
      batch_ = unit_ == 8 || d.words ? &Costs::anywhere_batch_words : &Costs::anywhere_batch;
    const Costs& k = costs_;
    if (in_patches_) {
      of_runs_ = {k.anywhere_1, kByteRunCosts.unused, kByteRunCosts.piece, kByteRunCosts.tile, kByteRunCosts.resident};
      of_windows_ = {k.anywhere_1, k.anywhere_bytes, k.anywhere_piece, k.anywhere_tile, k.anywhere_resident};
      return;
    }
    const std::size_t i = unit_ <= 2 ? 0 : unit_ == 4 ? 1 : 2;
    of_runs_ = {unit_ <= 2   ? k.anywhere_2
                : unit_ == 4 ? k.anywhere_4
                             : k.anywhere_8,
                k.anywhere_unused,
                batch_ ? k.anywhere_batch_piece : k.anywhere_piece,
                k.anywhere_tile,
                k.anywhere_resident,
                k.anywhere_few};
    of_windows_ = {kWindowCosts.least[i], kWindowCosts.unused,    kWindowCosts.src_piece, kWindowCosts.tile, 0,
                   kWindowCosts.few,      kWindowCosts.dst_piece, kWindowCosts.crowded[i]};
  }

  /// Tiles of whole runs, where short rows of dst follow each other.
  void try_runs(Best& best) {
    if (step_ == 0 || k_.d.extent * unit_ > kSizes.anywhere_most_row_bytes) return;
    const std::int64_t first = c_.modes[k_.s.modes[0]].extent, rows = k_.s.extent / step_;
    const std::int64_t row_bytes = k_.d.extent * step_ * src_unit_;
    constexpr std::int64_t kGroup = kPatchRows * kPatchLanes;
    const std::int64_t tile_d = ceil_div(k_.d.extent + 16 / unit_ - 1, kGroup) * kGroup;
    const Part d{tile_d, used_by(k_.d.extent, tile_d)};
    const auto attempt_runs = [&](std::int64_t tile_s) {
      set_rows({tile_s, used_by(k_.s.extent, tile_s)});
      attempt(d, best);
    };
    // A single mode of bytes is cut where runs begin on sectors of dst.
    const std::int64_t most_cut = std::min(kSizes.anywhere_most_piece_bytes, k_.s.extent);
    for (std::int64_t cut = 2 * kSector; in_patches_ && step_ == 1 && k_.s.modes.size() == 1 && cut <= most_cut;
         cut += kSector) {
      k_.run_rows = cut;
      attempt_runs(cut);
    }
    for (std::int64_t n = 1; step_ == 1 && n <= kSizes.anywhere_most_runs; ++n) {
      k_.tile_s = k_.s.modes.size() == 1
                      ? std::min(ceil_div(ceil_div(k_.s.extent, n), sectors_) * sectors_, k_.s.extent)
                      : std::min(first * n, k_.s.extent);
      k_.run_rows = rows_of_run(c_, k_);
      attempt_runs(k_.tile_s);
    }
    for (std::int64_t most = std::min(rows, kMostShared / row_bytes);
         step_ > 1 && most * row_bytes >= kSizes.anywhere_least_runs_bytes;) {
      k_.run_rows = ceil_div(rows, ceil_div(rows, most));
      attempt_runs(k_.run_rows * step_);
      most = k_.run_rows - 1;
    }
    k_.run_rows = 0;
  }

  /// Tiles of windows of dst's rows.
  void try_windows(Best& best) {
    double most_used = 0;
    for (const Part& window : d_) most_used = std::max(most_used, window.used);
    for (const Part& rows : s_) {
      set_rows(rows);
      if (behind(lost_with(used_with(most_used)), best)) continue;
      for (const Part& window : d_) attempt(window, best);
    }
  }

  /// One of them that is seldom far from the best.
  void try_middling(Best& best) {
    const auto rows = [&](const Part& p) { return p.units * src_unit_ >= kSizes.anywhere_middling_bytes; };
    const auto window = [](const Part& p) { return p.units >= kSizes.anywhere_middling_units; };
    set_rows(*std::find_if(s_.begin(), s_.end() - 1, rows));
    attempt(*std::find_if(d_.begin(), d_.end() - 1, window), best);
  }

 private:
  /// What tiles lose: factors, bytes and shares of costs.h.
  struct Losses {
    double least = 0, unused = 0, piece = 0, tile = 0, resident = 0, few = 0, dst_piece = 0, crowded = 0;
  };

  /// Fixes what all tiles with such rows of src share.
  void set_rows(const Part& s) {
    by_ = k_.run_rows != 0 ? &of_runs_ : &of_windows_;
    k_.tile_s = s.units;
    used_s_ = s.used;
    const bool runs = k_.run_rows != 0;
    const std::int64_t along = k_.d.extent + most_skew(k_) / unit_;  // of whole units
    along_ = static_cast<double>(along);
    ends_ = costs_.anywhere_ends / static_cast<double>(k_.d.extent * std::max<std::int64_t>(k_.run_rows, 1) * unit_);
    // Of windows what a row of src has in the tile, which may be all of it.
    const std::int64_t row = runs ? k_.tile_s : std::min(k_.tile_s, k_.s.extent);
    const bool whole = batch_ && sectors_ > 1 && k_.tile_s % sectors_ == 0;
    piece_ = by_->piece * (whole ? kWindowCosts.whole_piece : 1) /
             static_cast<double>(joined_rows(c_, k_) * row * src_unit_);
    // Where short rows of dst join, packed has whole tiles of them, but not fast ones of bytes or of what is converted;
    // matrices have kernels that find rows sooner.
    const bool join = !in_patches_ && !c_.cast && step_ == 1 && k_.d.extent * unit_ < kSizes.anywhere_joined_bytes;
    const bool matrix = k_.d.modes.size() == 1 && k_.s.modes.size() == 1;
    factor_ = runs ? 1 : batch_ ? costs_.*batch_ : join || matrix ? costs_.anywhere_others : 1;
  }

  /// Tiles that a multiprocessor holds at once, each of so many bytes of shared memory.
  double resident(std::int64_t shared_bytes) const {
    // By the registers that each takes: of bytes as many as the kernel is limited to, of wider units 40.
    const std::int64_t threads = in_patches_ ? kMostUnalignedThreads * unaligned_blocks(1, patches_)
                                 : c_.cast   ? kMostUnalignedThreads * unaligned_cast_blocks(unit_, src_unit_)
                                             : 65536 / 40;
    return static_cast<double>(std::min({machine_.shared_per_sm_bytes / (shared_bytes + kReservedShared),
                                         machine_.threads_per_sm / k_.threads, threads / k_.threads}));
  }

  /// The share of a tile that is inside.
  double used_with(double used_d) const { return used_d * used_s_ * static_cast<double>(k_.d.extent) / along_; }

  /// What it loses by its ends.
  double lost_with(double used) const { return by_->unused * (1 / used - 1) + ends_ + piece_; }

  /// The time that a tile's losses make of a full one's.
  double time_with(double lost) const { return (by_->least + lost) * factor_; }

  /// The same with what it loses where a multiprocessor holds so many tiles; a tile has `bytes` inside.
  double time_with(double lost, double resident, double bytes) const {
    lost += by_->resident / (resident * bytes) +
            by_->few * (kSizes.anywhere_few_blocks / std::min(resident, kSizes.anywhere_few_blocks) - 1);
    if (batch_) lost += costs_.anywhere_wave / std::max(1.0, waves(resident));
    return time_with(lost);
  }

  /// How often all multiprocessors together take as many tiles as they hold.
  double waves(double resident) const {
    const double rows = std::ceil(along_ / static_cast<double>(k_.tile_d));
    const double columns = static_cast<double>(ceil_div(k_.s.extent, k_.tile_s) * c_.modes[2].extent);
    return rows * columns / (resident * static_cast<double>(machine_.sm_count));
  }

  /// True if a tile with these losses cannot beat `best`, even with the least of all others. Allows for rounding.
  bool behind(double lost, const Best& best) const {
    constexpr double kRounded = 1 - 1e-12;
    // The bytes of src inside a tile fit a block's shared memory, and all tiles on a multiprocessor fit its shared
    // memory together; of the mean of both sides there may be more.
    const double fitting = std::max(1.0, moved_ / src_unit_);
    const double least = (by_->tile / static_cast<double>(kMostShared) +
                          by_->resident / static_cast<double>(machine_.shared_per_sm_bytes)) /
                         fitting;
    return time_with(lost + least) * kRounded >= best.time;
  }

  /// Takes the tile if it is better. Most are behind before everything about them is known, because losses only grow.
  void attempt(const Part& d, Best& best) {
    const double used = used_with(d.used);
    double lost = lost_with(used);
    if (behind(lost, best)) return;
    k_.tile_d = d.units;
    // Shared memory has room for all that a tile reads at least, and lanes hold all patches of bytes, the halo's too.
    const std::int64_t least_shared = std::min(k_.tile_d, k_.d.extent) * k_.tile_s * src_unit_;
    if (least_shared > kMostShared) return;
    const std::int64_t stored = std::min(k_.tile_d, k_.d.extent) * k_.tile_s * unit_;
    k_.threads = stored < (c_.cast ? kSizes.anywhere_small_cast_bytes : kSizes.anywhere_small_tile_bytes) ? 128 : 256;
    if (in_patches_) {
      const std::int64_t rows = k_.tile_d + (most_skew(k_) != 0 ? kSector : 0);
      const std::int64_t patches = rows / kPatchRows * patches_along(k_.tile_s);
      k_.threads = patches <= kFewPatches * 128 ? 128 : 256;
      if (patches > (k_.run_rows != 0 ? kMostPatches : kFewPatches) * k_.threads) return;
      patches_ = patches <= kFewPatches * k_.threads ? kFewPatches : kMostPatches;
    }
    const double bytes = used * static_cast<double>(k_.tile_d * k_.tile_s) * moved_;
    lost += by_->tile / bytes + by_->dst_piece / static_cast<double>(k_.tile_d * unit_) +
            by_->crowded * std::max(0.0, bytes - kWindowCosts.crowded_from_bytes);
    lost += std::max(0.0, banks_cycles(c_, k_) / costs_.anywhere_cycles - 1);
    if (time_with(lost, resident(least_shared), bytes) >= best.time) return;
    set_rooms(c_, k_, room_);
    const std::int64_t shared = unaligned_tables(room_, unit_, c_.cast).end;
    if (shared > kMostShared) return;
    const double time = time_with(lost, resident(shared), bytes);
    if (time >= best.time) return;
    best = {k_, time};
  }

  const Canonical& c_;
  const CudaMachine& machine_;
  const Costs& costs_;
  const Parts &d_, &s_;
  Choice k_;
  std::int64_t sectors_;  ///< SideChain::step
  UnalignedChainArgs& room_;
  int unit_, src_unit_;
  double Costs::*batch_ = nullptr;  ///< the factor of a batch's windows; null: no batch
  double moved_;                    ///< bytes of a unit, the mean of both sides
  bool in_patches_;                 ///< bytes that change sides in registers
  std::int64_t step_;
  Losses of_runs_, of_windows_;
  const Losses* by_ = &of_windows_;  ///< the tile's
  int patches_ = kFewPatches;        ///< that a lane of bytes holds
  double used_s_ = 0, along_ = 0, ends_ = 0, piece_ = 0, factor_ = 0;
};

/// True where a side's rows start on 16-byte words and are whole words; `stride` is that side's, of a mode.
bool on_words(const Canonical& c, const Link& link, int unit, std::int64_t align, std::int64_t CopyMode::*stride) {
  std::int64_t bits = align | link.extent * unit;
  for (std::size_t m = 0; m < c.modes.size(); ++m)
    if (m >= 64 || (link.mask >> m & 1) == 0) bits |= c.modes[m].*stride;
  return bits % 16 == 0;
}

}  // namespace

void bid_unaligned_chains(const Request& request, std::span<Candidate> bids) {
  const Canonical& c = request.c;
  Candidate& bid = bids[0];
  const auto refuse = [&](std::string_view why) { bid.reason = why; };
  if (c.two_sided) return refuse("the sides share no modes");
  if (std::max(c.dst_unit, c.src_unit) > 8) return refuse("units of 16 bytes start on words");
  if (!units_aligned(c)) return refuse("elements lie off their own alignment");
  if (c.modes.size() < 2) return refuse("a chain a side needs two modes");
  const Link longest_d = dst_chain(c), longest_s = src_chain(c);
  if (longest_d.modes.empty() || longest_s.modes.empty()) return refuse("a side has no dense mode");
  const bool named = request.forces("tile/unaligned_chains");
  if (!named && c.dst_bytes() < request.machine.sm_count * kSizes.tile_small_share)
    return refuse("too small for such tiles to pay");
  detail::FixedVector<SideChain, kMaxChain> to, from;
  for (std::size_t i = 1; i <= longest_d.modes.size(); ++i) {
    const Link d = first_of(c, longest_d, i);
    if (d.extent * c.dst_unit >= kSector)
      to.push_back({d, on_words(c, d, c.dst_unit, c.dst_align, &CopyMode::dst_stride)});
  }
  // Shorter rows of src make up long lines where they follow each other.
  const std::int64_t least = c.src_unit == 1 ? kSizes.anywhere_least_piece_bytes : kSector;
  for (std::size_t j = 1; j <= longest_s.modes.size(); ++j) {
    const Link s = first_of(c, longest_s, j);
    if (s.extent * c.src_unit >= least)
      from.push_back({s, on_words(c, s, c.src_unit, c.src_align, &CopyMode::src_stride)});
  }
  const auto for_each_pair = [&](auto visit) {
    for (SideChain& d : to)
      for (SideChain& s : from) {
        if ((d.link.mask & s.link.mask) != 0) break;
        const std::int64_t piece = s.link.extent * c.src_unit;
        if (piece < kSector && c.modes[d.link.modes[0]].src_stride != piece) continue;  // no long lines
        visit(d, s);
      }
  };
  bool words = false;
  for_each_pair([&](const SideChain& d, const SideChain& s) { words |= d.words && s.words; });
  // tile/chains moves these, but converts nothing.
  if (words && !named && !c.cast) return refuse("rows of both sides lie on words");

  for_each_pair([&](SideChain& d, SideChain& s) {
    if (s.parts.empty()) {
      const bool on_sectors =
          of_batch(c) && s.link.modes.size() == 1 && src_row_alignment(c, s.link.modes[0]) >= kSector;
      s.step = on_sectors ? kSector / c.src_unit : 1;
      s.parts = src_parts(s.link.extent, c.src_unit, s.step);
    }
    if (!d.parts.empty()) return;
    d.skew = most_skew(choice_of(c, d.link, {}));
    d.parts = dst_parts(d.link.extent + d.skew / c.dst_unit, c.dst_unit, in_patches(c));
  });
  Best found;
  UnalignedChainArgs room;
  for (const bool middling : {true, false}) {
    for_each_pair([&](const SideChain& d, const SideChain& s) {
      if (d.link.extent >= (std::int64_t{1} << 28) / c.dst_unit) return;
      Tiles tiles(c, request.machine, d, s, room);
      if (middling) return tiles.try_middling(found);
      tiles.try_runs(found);
      tiles.try_windows(found);
    });
    if (middling) found.time = std::nextafter(found.time, 2e300);  // it may be the best itself, or one before it
  }
  if (found.time >= 1e300) return refuse("no chains of modes, one a side, that are long enough");
  const Choice& best = found.choice;
  std::int64_t batch = 0;
  if (!outer_walk(c, best.d.mask | best.s.mask, nullptr, &batch)) return refuse("too many outer modes");
  const std::int64_t along = best.d.extent + most_skew(best) / c.dst_unit;
  const std::int64_t tiles_d = ceil_div(along, best.tile_d);
  const std::int64_t tiles_s = ceil_div(best.s.extent, best.tile_s);
  if (too_many(tiles_d * tiles_s, batch)) return refuse("too many tiles");
  const std::int64_t tile_bytes = best.tile_d * std::min(best.tile_s, best.s.extent) * (c.src_unit + c.dst_unit) / 2;
  const std::int64_t most_apart = kSizes.anywhere_bytes_apart / tile_bytes;
  bid.params = {
      {ParamId::kDstSet, static_cast<std::int64_t>(best.d.mask)},
      {ParamId::kSrcSet, static_cast<std::int64_t>(best.s.mask)},
      {ParamId::kTileRows, best.tile_d},
      {ParamId::kTileCols, best.tile_s},
      {ParamId::kVectorBytes, 16},
      {ParamId::kThreads, best.threads},
      {ParamId::kBoundaryBytes, best.run_rows != 0 ? 0 : kSector},
      {ParamId::kKind, static_cast<std::int64_t>(best.run_rows != 0 ? UnalignedKind::kRuns : UnalignedKind::kWindows)},
      {ParamId::kOrder, static_cast<std::int64_t>(order_of_tiles(tiles_d, tiles_s, most_apart))}};
  predict(bid, request.machine, c.src_bytes() / 32 + 1, c.dst_bytes() / 32 + 1, 1 / found.time);
}

}  // namespace restride::cuda
