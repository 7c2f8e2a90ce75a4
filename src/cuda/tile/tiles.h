// What the bids and the arguments of tile's kernels share.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/cuda/bid.h"
#include "src/cuda/tile/map.h"
#include "src/layout/canonical.h"

namespace restride::cuda::tiles {

inline constexpr std::int64_t kSector = kSectorBytes;

/// A copy as tiles see it: the facts that the bids of tile's kernels for two modes need.
struct Tiling {
  std::string_view refusal;  ///< empty: a tile applies
  int s = 0;                 ///< the mode that is contiguous in src; mode 0 is the one that is in dst
  std::int64_t d_extent = 0, s_extent = 0, batch = 1;
  std::int64_t near = 1;  ///< tuples of the outer modes with shorter steps in dst than s has
  std::int64_t dst_alignment = 1, src_alignment = 1;
  int outer = 0;       ///< outer modes
  bool small = false;  ///< too small to fill the GPU with large tiles
  bool words = false;  ///< units of dst are words, so each starts on one

  bool on_words() const { return dst_alignment >= 16 && src_alignment >= 16; }
  /// Tiles keep their edges to sectors of dst, wherever its rows start.
  bool skewed() const { return dst_alignment < 16 || (dst_alignment < kSector && src_alignment < 16 && !words); }
  /// Rows of dst start on words, but not on sectors: neighbouring tiles share some.
  bool splits_sectors() const { return dst_alignment == 16 && !skewed(); }
};

Tiling tiling_of(const layout::Canonical& c, const CudaMachine& machine);

/// Index tuples of the modes that are not in `inside` and whose steps in dst are shorter than `along_s`, a tile's from
/// row to row of dst.
std::int64_t near_tuples(const layout::Canonical& c, std::uint64_t inside, std::int64_t along_s);

/// True where tile/registers can move a copy whose mode `s` is contiguous in src: units of 1 or 2 bytes, rows of dst on
/// words, of src on 4 bytes.
bool in_registers(const layout::Canonical& c, std::size_t s);

/// The parameters and the prediction of tiles of two modes whose edges keep to multiples of `boundary` bytes of dst (0:
/// its rows start on words).
void offer(const layout::Canonical& c, const CudaMachine& machine, const Tiling& t, TileShape shape,
           std::int64_t boundary, double efficiency, Candidate& bid);

/// What the arguments of every kernel for tiles begin with: the walk over all modes but `inside`, the source's range,
/// and the chosen tiles over rows of `extent` units a side. `overlap`: units along d by which tiles' edges may move.
struct TileExtent {
  std::int64_t d = 0, s = 0;
};
TileArgs tiles_over(const layout::Canonical& c, const Candidate& chosen, std::uint64_t inside, TileExtent extent,
                    std::int64_t overlap = 0);
/// The pitches of tiles with one mode a side: src is walked forwards, rows of dst then backwards.
void set_pitches(TileArgs& a, const layout::CopyMode& d_mode, const layout::CopyMode& s_mode);

/// The arguments of tiles of two modes.
TileArgs two_mode_tiles(const layout::Canonical& c, const Candidate& chosen);

// ---- bulk_bid.cc: tiles that bulk tensor copies bring in ----

/// True where the copy engine can describe src, whose mode `s` is contiguous and whose rows start on words.
bool by_bulk(const layout::Canonical& c, std::size_t s);

void offer_bulk(const layout::Canonical& c, const CudaMachine& machine, const Tiling& t, Candidate& bid);

}  // namespace restride::cuda::tiles
