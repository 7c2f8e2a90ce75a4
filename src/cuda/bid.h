// What the bids of CUDA's kernels share: the request, refusals, predictions, and what is counted of a canonical copy.
// Host arithmetic only.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "src/cuda/machine.h"
#include "src/cuda/walk.h"
#include "src/layout/canonical.h"
#include "src/plan/decision.h"
#include "src/plan/tile_order.h"

namespace restride::cuda {

using plan::Candidate;
using plan::ParamId;
using plan::TileOrder;

/// What the kernels bid for.
struct Request {
  const layout::Canonical& c;
  const CudaMachine& machine;
  std::string_view forced;  ///< empty: the cheapest is wanted

  /// True when the caller names this very kernel. Kernels that can move a copy, but leave it to a faster one of their
  /// family, bid then.
  bool forces(std::string_view kernel) const noexcept { return forced == kernel; }
};

/// Bids come as refusals without a reason: this gives one.
inline void refuse(Candidate& bid, std::string_view reason) { bid.reason = reason; }

/// The same of several kernels.
inline void refuse_all(std::span<Candidate> bids, std::string_view reason) {
  for (Candidate& bid : bids) bid.reason = reason;
}

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

/// The dtypes of a cast.
template <class Args>
void set_dtypes(Args& a, const layout::Canonical& c) {
  a.dst_dtype = static_cast<std::uint8_t>(c.dst_dtype);
  a.src_dtype = static_cast<std::uint8_t>(c.src_dtype);
}

/// True when both sides' units lie at multiples of their size, which only a cast can break.
bool units_aligned(const layout::Canonical& c);

/// Tile and packed have kernels that convert units of these sizes, or nothing converts.
bool moves_or_converts(const layout::Canonical& c);

/// Largest power of two, up to 128, that divides every dst address of units whose index is 0 in the modes of `inside`
/// (a bit mask by mode number).
std::int64_t row_alignment(const layout::Canonical& c, std::uint64_t inside);

/// Largest power of two, up to 256, that divides the address of every row of src whose contiguous mode is `s`. The
/// canonical form counts to 128; an allocator's pointers have more.
std::int64_t src_row_alignment(const layout::Canonical& c, std::size_t s);

/// The modes that are not in `inside`, as an empty walk, and their index tuples; false when they are too many or number
/// 2^31 or more. Bids pass null for the walk: only a plan's arguments need one, whose divisions take long to prepare.
bool outer_walk(const layout::Canonical& c, std::uint64_t inside, Walk* walk, std::int64_t* count);

/// True when `count` tiles, or blocks, for each of `items` are too many: grids and maps number them by 31 bits.
constexpr bool too_many(std::int64_t count, std::int64_t items = 1) { return count >= (std::int64_t{1} << 31) / items; }

/// Of `tiles_d` tiles along rows of dst and `tiles_s` along rows of src: rows of src go first where the next row of
/// tiles would come so late that L2 has lost what both read of src, and DRAM its place: after more than `most_apart`.
TileOrder order_of_tiles(std::int64_t tiles_d, std::int64_t tiles_s, std::int64_t most_apart = kSizes.most_tiles_apart);

/// 32-byte sectors that `runs` runs of `bytes` each touch, when they start on multiples of `alignment`.
std::int64_t sectors(std::int64_t runs, std::int64_t bytes, std::int64_t alignment);
/// The share that is inside of all tiles `tile` long along a mode of `extent`.
double used_by(std::int64_t extent, std::int64_t tile);

/// Bytes of shared memory of which a multiprocessor that has 228 KiB gives room to four blocks, smaller ones to fewer.
inline constexpr std::int32_t kRoomOfFour = 46 << 10;
/// What a block has without asking for more, less what kernels use of their own.
inline constexpr std::int32_t kMostShared = (48 << 10) - 256;
/// What the driver takes of a multiprocessor's for every block.
inline constexpr std::int32_t kReservedShared = 1 << 10;

inline constexpr std::int64_t kSectorBytes = 32;  ///< the smallest transfer of a GPU's memory

/// Makes `bid` apply and predicts its time: the launch, and these sectors at the machine's copy rate times
/// `efficiency`. These sectors are what the kernel moves: sectors that its tiles share count twice, and so do sectors
/// that it reads because it writes them in part. What the copy touches, `plan_cuda` tells in the prediction.
void predict(Candidate& bid, const CudaMachine& machine, std::int64_t read_sectors, std::int64_t written_sectors,
             double efficiency);

}  // namespace restride::cuda
