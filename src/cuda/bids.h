// What each CUDA family offers for a canonical copy, and the arguments its kernel then gets. Host arithmetic only.
#pragma once

#include "src/cuda/gather/map.h"
#include "src/cuda/packed/direct_map.h"
#include "src/cuda/packed/records_map.h"
#include "src/cuda/packed/staged_map.h"
#include "src/cuda/planner.h"
#include "src/cuda/rows/pixels_map.h"
#include "src/cuda/rows/short_map.h"
#include "src/cuda/rows/words_map.h"
#include "src/cuda/tile/chains_map.h"
#include "src/cuda/tile/map.h"
#include "src/layout/canonical.h"
#include "src/plan/decision.h"

namespace restride::cuda {

Candidate bid_run(const layout::Canonical& c, const CudaMachine& machine);
Candidate bid_rows(const layout::Canonical& c, const CudaMachine& machine);
Candidate bid_pixels(const layout::Canonical& c, const CudaMachine& machine);  ///< rows, two modes of dst being one row
Candidate bid_short_rows(const layout::Canonical& c, const CudaMachine& machine);  ///< rows of few units, with gaps
Candidate bid_tile(const layout::Canonical& c, const CudaMachine& machine);
Candidate bid_tile_bulk(const layout::Canonical& c, const CudaMachine& machine);    ///< tile, by bulk tensor copies
Candidate bid_tile_chains(const layout::Canonical& c, const CudaMachine& machine);  ///< tile, its rows chains of modes
Candidate bid_tile_pixels(const layout::Canonical& c, const CudaMachine& machine);  ///< tile, its units pixels
Candidate bid_packed(const layout::Canonical& c, const CudaMachine& machine);
Candidate bid_records(const layout::Canonical& c, const CudaMachine& machine);  ///< packed, by its kernels for records
Candidate bid_direct(const layout::Canonical& c, const CudaMachine& machine);   ///< packed, nothing staged
Candidate bid_gather(const layout::Canonical& c, const CudaMachine& machine);

/// The kernels' arguments for a candidate that applies.
RowsArgs rows_args(const layout::Canonical& c, const Candidate& chosen);
PixelsArgs pixels_args(const layout::Canonical& c);
ShortRowsArgs short_rows_args(const layout::Canonical& c);
TileArgs tile_args(const layout::Canonical& c, const Candidate& chosen);
ChainArgs chain_args(const layout::Canonical& c, const Candidate& chosen);
TileArgs tile_pixels_args(const layout::Canonical& c, const Candidate& chosen);
PackedArgs packed_args(const layout::Canonical& c, const Candidate& chosen);
RecordsArgs records_args(const layout::Canonical& c, const Candidate& chosen);
DirectArgs direct_args(const layout::Canonical& c, const Candidate& chosen);
GatherArgs gather_args(const layout::Canonical& c, const Candidate& chosen);

/// How the rows kernel reads with words of so many bytes.
RowsKind rows_kind(const layout::Canonical& c, std::int64_t vector_bytes);
/// How rows' kernel for pixels reads.
RowsKind pixels_kind(const layout::Canonical& c);
/// Which of tile's kernels a copy allows, its tile's mode in src being `col_mode`:
bool tile_on_words(const layout::Canonical& c, std::int64_t col_mode);      ///< all rows of both sides start on words
bool tile_by_bulk(const layout::Canonical& c, std::int64_t col_mode);       ///< and the copy engine can describe src
bool tile_in_registers(const layout::Canonical& c, std::int64_t col_mode);  ///< units of 1 or 2 bytes, rows of src on 4

// ---- Shared by the bids ----

/// Bytes [first, last) relative to the data pointer between the source's first and last element, inclusive.
struct ByteRange {
  std::int64_t first = 0, last = 0;
};
ByteRange source_range(const layout::Canonical& c);

/// Where both sides start, and which bytes of the source a kernel may read whole words of.
template <class Args>
void set_sides(Args& a, const layout::Canonical& c) {
  const ByteRange range = source_range(c);
  a.dst_offset = c.dst_offset;
  a.src_offset = c.src_offset;
  a.src_first = range.first;
  a.src_last = range.last;
}

/// True when both sides' units lie at multiples of their size, which only a cast can break.
bool units_aligned(const layout::Canonical& c);

/// Tile and packed have kernels that convert units of these sizes, or nothing converts.
bool moves_or_converts(const layout::Canonical& c);

/// Largest power of two, up to 128, that divides every dst address of units whose index is 0 in the modes of `inside`
/// (a bit mask by mode number).
std::int64_t row_alignment(const layout::Canonical& c, std::uint64_t inside);

/// The modes that are not in `inside`, as an empty walk, and their index tuples; false when they are too many or number
/// 2^31 or more. Bids pass null for the walk: only a plan's arguments need one, whose divisions take long to prepare.
bool outer_walk(const layout::Canonical& c, std::uint64_t inside, Walk* walk, std::int64_t* count);

/// True when `count` tiles, or blocks, for each of `items` are too many: grids and maps number them by 31 bits.
constexpr bool too_many(std::int64_t count, std::int64_t items = 1) { return count >= (std::int64_t{1} << 31) / items; }

/// Largest power of two, up to 256, that divides the address of every row of src whose contiguous mode is `s`. The
/// canonical form counts to 128; an allocator's pointers have more.
std::int64_t src_row_alignment(const layout::Canonical& c, std::size_t s);

/// Index tuples of the modes that are not in `inside` and whose steps in dst are shorter than `along_s`, a tile's from
/// row to row of dst.
std::int64_t near_tuples(const layout::Canonical& c, std::uint64_t inside, std::int64_t along_s);

/// Of `tiles_d` tiles along rows of dst and `tiles_s` along rows of src: rows of src go first where the next row of
/// tiles would come so late that L2 has lost what both read of src, and DRAM its place.
TileOrder order_of_tiles(std::int64_t tiles_d, std::int64_t tiles_s);

/// What the arguments of every kernel for tiles begin with: the walk over all modes but `inside`, the source's range,
/// and the chosen tiles over rows of `extent` units a side. `overlap`: units along d by which tiles' edges may move.
struct TileExtent {
  std::int64_t d = 0, s = 0;
};
TileArgs tiles_over(const layout::Canonical& c, const Candidate& chosen, std::uint64_t inside, TileExtent extent,
                    std::int64_t overlap = 0);
/// The pitches of such tiles whose sides are one mode each: src is walked forwards, rows of dst then backwards.
void set_pitches(TileArgs& a, const layout::CopyMode& d_mode, const layout::CopyMode& s_mode);

/// 32-byte sectors that `runs` runs of `bytes` each touch, when they start on multiples of `alignment`.
std::int64_t sectors(std::int64_t runs, std::int64_t bytes, std::int64_t alignment);
/// The share that is inside of all tiles `tile` long along a mode of `extent`.
double used_by(std::int64_t extent, std::int64_t tile);

/// Bytes of shared memory of which a multiprocessor that has 228 KiB gives room to four blocks, smaller ones to fewer.
inline constexpr std::int32_t kRoomOfFour = 46 << 10;

/// Fills the prediction: what is touched, and the time of the launch and of these sectors at the machine's copy rate
/// times `efficiency`. The sectors are those that the family moves: where its tiles share some, they count twice, and
/// so do those that it reads because it writes them in part.
void predict(Candidate& bid, const layout::Canonical& c, const CudaMachine& machine, std::int64_t read_sectors,
             std::int64_t written_sectors, double efficiency);

inline Candidate refusal(std::string_view reason) {
  Candidate bid;
  bid.reason = reason;
  return bid;
}

}  // namespace restride::cuda
