// Moves         two modes, one contiguous in each side, batched over the others; tiles through shared memory; casts.
// Applies when  dst's innermost mode and src's are different modes, both long; any pitch and alignment. Where all rows
//               lie on words, aligned.cu or bulk.cu are faster; if only rows of dst do, registers.cu is.
// Thread map    256 threads a tile: load, 16 bytes a lane along src's rows; store, 16 bytes a lane, 8 x 4 lanes a warp.
// Shared memory rows as they lie in src, pitch congruent to src's modulo 16; see src/cuda/tile/map.h. Without
//               bank conflicts where the rows of dst start alike modulo 32 bytes; elsewhere up to four cycles a read.
// Traffic       every byte once each way, plus a halo of up to 31 bytes a row of dst when dst's rows are misaligned.
// Source        the ladder of transposes in docs/lab.md; measured rows in bench/results.
#include "src/cuda/cast/pairs.cuh"
#include "src/cuda/dispatch.cuh"
#include "src/cuda/tile/load.cuh"
#include "src/cuda/tile/tile.h"

namespace restride::cuda {
namespace {

/// Words of dst collected unit by unit.
template <int kSrc, int kDst, bool kCast, int kWords, int kTileS>
__global__ void __launch_bounds__(kTileThreads, resident_blocks(kTileThreads, kTileResident))
    tile_unaligned_kernel(const __grid_constant__ TileArgs a, char* dst, const char* src) {
  constexpr int kUnits = 16 / kDst;
  extern __shared__ __align__(128) char shared[];
  const TilePlace place = tile_place(a, blockIdx.x);
  const Offsets batch = offsets(a.batch, place.batch);
  const char* const from =
      src + a.src_offset + batch.src + (place.d - a.halo) * a.src_pitch + static_cast<std::int64_t>(place.s) * kSrc;
  const std::uint32_t tile = shared_address(shared) + nibble(from);
  load_tile<kSrc, kUnits>(a, tile, from, src, place.d, place.s);
  // Wait for this thread's copies, then for the block's.
  wait_copies();
  __syncthreads();

  char* const to = dst + a.dst_offset + batch.dst + place.s * a.dst_pitch;
  const int s_count = min(kTileS, a.s_extent - place.s);
  constexpr int kItems = kWords * kTileS;
#pragma unroll(kCast ? 1 : 2)
  for (int step = 0; step < kItems / kTileThreads; ++step) {
    const TileStore at = tile_store(step * kTileThreads + threadIdx.x, kWords / 8, kTileS);
    if (at.s >= s_count) continue;
    char* const row = to + at.s * a.dst_pitch;
    const int skew = static_cast<int>(reinterpret_cast<std::uintptr_t>(row) & a.skew_mask) / kDst;
    const int local = at.word * kUnits - skew + a.halo;  // row of shared memory
    const int d = place.d + local - a.halo;
    const int group = local / kUnits, inner = local % kUnits;
    std::uint32_t address = tile + at.s * kSrc + group * (kUnits * a.row_pitch + a.group_pad) + inner * a.row_pitch;
    Bits<kSrc> units[kUnits];
    const auto collect = [&](auto&& wanted) {
#pragma unroll
      for (int j = 0; j < kUnits; ++j) {
        units[j] = {};
        if (wanted(j)) units[j] = load_shared<kSrc>(address);
        address += a.row_pitch + (j + inner == kUnits - 1 ? a.group_pad : 0);
      }
      return finish_word<kSrc, kDst, kCast>(a, units);
    };
    char* const word = row + static_cast<std::int64_t>(d) * kDst;
    if (d >= 0 && d + kUnits <= a.d_extent)
      store<16>(word, collect([](int) { return true; }));
    else
      store_part<kDst>(word, collect([&](int j) { return d + j >= 0 && d + j < a.d_extent; }), max(-d, 0) * kDst,
                       min(a.d_extent - d, kUnits) * kDst);
  }
}

template <int kSrc, int kDst, bool kCast, int kWords, int kTileS>
int launch_tile_of(const TileArgs& a, const Launch& on) noexcept {
  return enqueue(tile_unaligned_kernel<kSrc, kDst, kCast, kWords, kTileS>, a, on, a.tiles, kTileThreads,
                 tile_shared_bytes(a, 16 / kDst));
}

}  // namespace

int launch_tile_unaligned(const CudaArgs& args, const Launch& on) noexcept {
  const auto& a = std::get<TileArgs>(args.args);
  if (args.units.cast)
    return with_cast_sizes(args.units, [&]<int kSrc, int kDst>() {
      constexpr TileShape kShape = tile_cast_shape(kDst, kSrc);
      return launch_tile_of<kSrc, kDst, true, kShape.d * kDst / 16, kShape.s>(a, on);
    });
    // Words of a tile's rows of dst and units of its rows of src are the instance. Units of 16 bytes lie on words.
#define RESTRIDE_X(unit, words, along_s)                                              \
  if (args.units.dst == unit && a.tile_d * unit / 16 == words && a.tile_s == along_s) \
    return launch_tile_of<unit, unit, false, words, along_s>(a, on);
  RESTRIDE_UNALIGNED_SHAPES(RESTRIDE_X)
#undef RESTRIDE_X
  return static_cast<int>(cudaErrorInvalidValue);
}

}  // namespace restride::cuda
