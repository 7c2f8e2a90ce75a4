// What the parts of packed's planning on CUDA share: a tile as a set of modes, and the steps from it to the arguments.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "src/cuda/bid.h"
#include "src/cuda/packed/staged_map.h"

namespace restride::cuda::packed {

inline constexpr int kMaxSet = 63;  // modes a bit mask can name
inline constexpr int kNone = -1;
/// Bytes of a tile with its tables that is priced: what aligns its pieces has the rest of kMostShared.
inline constexpr std::int64_t kMostTile = 44 << 10;

/// A tile as a choice: how many indices of each mode are inside (0: the mode is outside).
struct Set {
  std::array<std::int32_t, kMaxSet> chunk{};
  std::uint64_t dst = 0, src = 0;    ///< modes of the run, modes of the piece
  int d_cut = kNone, s_cut = kNone;  ///< modes with fewer indices inside than they have
  std::int64_t run_units = 1, piece_units = 1, tile_units = 1;
  std::int64_t piece_bytes = 0;  ///< of src that a piece spans, its gaps and the one behind it included
};

using Order = detail::FixedVector<std::uint8_t, kMaxSet>;

/// Calls visit(i) for each mode of a set; there may be many more modes than a set has.
template <class Visit>
void for_each_mode(std::uint64_t set, Visit visit) {
  for (; set != 0; set &= set - 1) visit(static_cast<std::size_t>(std::countr_zero(set)));
}

// ---- set.cc: which modes a tile takes ----

/// Mode numbers by |src_stride|, without modes that repeat (stride 0).
Order by_src_stride(const layout::Canonical& c);

inline constexpr std::int64_t kAnyTarget = std::numeric_limits<std::int64_t>::max();

/// Takes leading modes of dst, numbered by `dst_order`, until a run has about `target` bytes, in place of all that was
/// taken before. Returns the largest target that takes the same.
std::int64_t take_runs(const layout::Canonical& c, const Order& dst_order, std::int64_t target, Set& set);

/// Takes leading modes of src for the pieces, in place of any taken before; they may have short gaps. Counts all that
/// the tile then holds. Returns the largest target that takes the same.
std::int64_t take_pieces(const layout::Canonical& c, const Order& src_order, std::int64_t target, Set& set);

/// The set that a candidate's parameters name.
Set set_of(const layout::Canonical& c, const Candidate& chosen);

/// Mode m as the tile walks it: one that only counts runs goes upwards in src, hence downwards in dst where the copy
/// has it the other way round.
layout::CopyMode forwards(const layout::Canonical& c, const Set& set, std::size_t m);

/// Largest power of two, up to 128, on whose multiples every run starts in dst.
std::int64_t run_alignment(const layout::Canonical& c, const Set& set);

/// True when 4 bytes of a piece are units of rows that lie side by side and start alike: see PackedKind::kTransposed.
bool is_transposed(const layout::Canonical& c, const Set& set);

// ---- price.cc: what a tile costs ----

/// A run as memory sees it: in flat tiles, and where runs fill whole words, it goes on from row to row.
struct Runs {
  std::int64_t bytes = 0, count = 0;
  bool loose = false;   ///< rows start anywhere in a word
  bool merged = false;  ///< rows follow each other
};
Runs runs_of(const layout::Canonical& c, const Set& set);

/// Tiles a block moves one after the other. Measured on H200: one is best for tiles of 12 KiB and more, unless its
/// tables, made while its first tile is under way, take longer than that.
std::int64_t tiles_of_block(const Costs& costs, bool transposed, int dst_unit, double entries, double tile_bytes);

/// Tiles along all cuts and outer modes.
std::int64_t tiles_of(const layout::Canonical& c, const Set& set);

struct Price {
  double time = 1e300;
  std::int64_t read = 0, written = 0;
  double efficiency = 0;
};

/// What a tile costs whose runs start on `starts` bytes, if that may be less than `least`, it fits shared memory, and
/// there are not too many of them.
Price price_of(const layout::Canonical& c, const CudaMachine& machine, const Set& set, std::int64_t starts,
               double least);

/// True when no tile with such runs, which start on `starts` bytes, costs less than `least`.
bool runs_too_dear(const layout::Canonical& c, const CudaMachine& machine, const Set& set, std::int64_t starts,
                   double least);

// ---- staged_args.cc: the kernel's arguments but for the lanes' places ----

/// `src_order` as by_src_stride has it.
PackedArgs geometry(const layout::Canonical& c, const Set& set, const Order& src_order);

/// How words are collected from such a tile, before its lanes are laid out: kFixed may then become kSpread, kLoose
/// kSorted.
PackedKind kind_of(const layout::Canonical& c, const Set& set, const PackedArgs& a);

/// The store's side of the arguments, and the shared memory a tile takes.
void finish(const layout::Canonical& c, PackedKind kind, PackedArgs& a);

// ---- lanes.cc: which thread moves what ----

/// Chooses the lattice over rows of `words` words, the swizzle and the rotation so that a word of dst costs the fewest
/// cycles; loose rows of small units may be sorted then.
void spread(const layout::Canonical& c, PackedArgs& a, std::int64_t words);

// ---- sorted.cc ----

/// One way to collect loose rows that are sorted.
struct SortedWay {
  double cost = 1e9;  ///< of a word, in cycles; that of none
  std::int32_t pad_shift = kNoPad, threads = kPackedThreads, start_step = 0;
  PackedLattice store;
  PackedRotation rotation;
};

class Entries;

/// The cheapest of them; fills the entries it wants.
SortedWay best_sorted(const layout::Canonical& c, const PackedArgs& a, std::int64_t words, Entries& entries);

void set_sorted(PackedArgs& a, const SortedWay& way);

// ---- flat.cc ----

/// Lays a block's threads over the cycles of a tile's flat runs, so that few are idle and places are looked up seldom.
void lay_cycles(const layout::Canonical& c, PackedArgs& a);

/// The rotation and the padding for flat runs: lanes collect words that follow each other, wherever their units lie.
void spread_flat(const layout::Canonical& c, PackedArgs& a);

}  // namespace restride::cuda::packed
