// Moves         two modes, one contiguous in each side, batched over the others; tiles through shared memory; casts.
// Applies when  dst's innermost mode and src's are different modes, both long; any pitch and alignment. Where all rows
//               lie on words, tile_aligned.cu or tile_bulk.cu have the same tiles faster.
// Thread map    256 threads a tile: load, 16 bytes a lane along src's rows; store, 16 bytes a lane, 8 x 4 lanes a warp.
// Shared memory rows as they lie in src, pitch congruent to src's modulo 16; see src/cuda/tile/map.h. No bank
// conflicts. Traffic       every byte once each way, plus a halo of up to 31 bytes a row of dst when dst's rows are
// misaligned. Source        the seeds' operator-transpose ladder; measured rows in bench/results.
#include "src/cuda/cast/pairs.cuh"
#include "src/cuda/device.cuh"
#include "src/cuda/launchers.h"
#include "src/cuda/tile/map.h"

namespace restride::cuda {
namespace {

/// Blocks a multiprocessor is to hold. On H200 more of 128 threads lose a little, fewer of 512 much.
constexpr int kBlocks = 5;

/// Reads the tile's rows of src into shared memory; `from` is where local row 0 would lie, `tile` where it goes to.
template <int kSrc, int kUnits>
__device__ inline void load_tile(const TileArgs& a, std::uint32_t tile, const char* from, const char* src, int d,
                                 int s) {
  const int first_row = a.halo != 0 ? 1 : 0;  // a skew is at most the halo less one unit
  const int rows = a.halo + a.tile_d;
  const int row_bytes = min(a.tile_s, a.s_extent - s) * kSrc;
  const int items = rows * static_cast<int>(a.row_words.divisor);
  const char* const first = src + a.src_first;
  const char* const last = src + a.src_last;
#pragma unroll 2
  for (int item = threadIdx.x; item < items; item += kTileThreads) {
    const TileLoad at = tile_load(a, item);
    const int row_d = d - a.halo + at.row;
    if (at.row < first_row || row_d < 0 || row_d >= a.d_extent) continue;
    const char* const row = from + at.row * a.src_pitch;
    const int off = at.word * 16 - nibble(row);
    if (off >= row_bytes) continue;
    stage_word<(kSrc > 1)>(tile + tile_row_base(a, at.row, kUnits) + off, row + off, first, last);
  }
}

/// Words of dst collected unit by unit.
template <int kSrc, int kDst, bool kCast, int kWords, int kTileS>
__global__ void __launch_bounds__(kTileThreads, resident_blocks(kTileThreads, kBlocks))
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

/// The same for units of 1 and 2 bytes where all rows start on words: a lane reads 4 bytes of each row of src and
/// transposes them in registers, so shared memory moves words and not units.
template <int kUnit, int kWords, int kTileS>
__global__ void __launch_bounds__(kTileThreads, resident_blocks(kTileThreads, kBlocks))
    tile_registers_kernel(const __grid_constant__ TileArgs a, char* dst, const char* src) {
  constexpr int kUnits = 16 / kUnit;  // rows of src a word of dst needs
  constexpr int kAcross = 4 / kUnit;  // rows of dst a word of shared memory serves
  extern __shared__ __align__(128) char shared[];
  const TilePlace place = tile_place(a, blockIdx.x);
  const Offsets batch = offsets(a.batch, place.batch);
  const char* const from =
      src + a.src_offset + batch.src + place.d * a.src_pitch + static_cast<std::int64_t>(place.s) * kUnit;
  const std::uint32_t tile = shared_address(shared) + nibble(from);
  load_tile<kUnit, kUnits>(a, tile, from, src, place.d, place.s);
  wait_copies();
  __syncthreads();

  char* const to = dst + a.dst_offset + batch.dst + place.s * a.dst_pitch;
  constexpr int kItems = kWords * kTileS / kAcross;
#pragma unroll 2
  for (int step = 0; step < kItems / kTileThreads; ++step) {
    const TileStore at = tile_store(step * kTileThreads + threadIdx.x, kWords / 8, kTileS / kAcross);
    const int d = place.d + at.word * kUnits;
    const int s = at.s * kAcross;
    if (place.s + s >= a.s_extent || d >= a.d_extent) continue;
    std::uint32_t address = tile + s * kUnit + tile_row_base(a, at.word * kUnits, kUnits);
    std::uint32_t out[kAcross][4];
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      std::uint32_t in[kAcross];
#pragma unroll
      for (int j = 0; j < kAcross; ++j) in[j] = load_shared<4>(address + (w * kAcross + j) * a.row_pitch);
      std::uint32_t column[kAcross];
      transpose_words<kUnit>(in, column);
#pragma unroll
      for (int i = 0; i < kAcross; ++i) out[i][w] = column[i];
    }
    char* row = to + s * a.dst_pitch + static_cast<std::int64_t>(d) * kUnit;
#pragma unroll
    for (int i = 0; i < kAcross; ++i, row += a.dst_pitch) {
      if (place.s + s + i >= a.s_extent) break;
      if (d + kUnits <= a.d_extent) {
        store<16>(row, make_uint4(out[i][0], out[i][1], out[i][2], out[i][3]));
      } else {
        store_part<kUnit>(row, make_uint4(out[i][0], out[i][1], out[i][2], out[i][3]), 0, (a.d_extent - d) * kUnit);
      }
    }
  }
}

template <int kSrc, int kDst, bool kCast, int kWords, int kTileS>
int launch_plain(const TileArgs& a, void* dst, const void* src, CUstream_st* stream) noexcept {
  return enqueue(tile_unaligned_kernel<kSrc, kDst, kCast, kWords, kTileS>, a, dst, src, a.tiles, kTileThreads,
                 tile_shared_bytes(a, 16 / kDst), stream);
}

template <int kUnit, int kWords, int kTileS>
int launch_block(const TileArgs& a, void* dst, const void* src, CUstream_st* stream) noexcept {
  return enqueue(tile_registers_kernel<kUnit, kWords, kTileS>, a, dst, src, a.tiles, kTileThreads,
                 tile_shared_bytes(a, 16 / kUnit), stream);
}

/// Words of a tile's rows of dst and units of its rows of src are the instance; `block` transposes in registers.
template <int kUnit>
int launch_move(const TileArgs& a, bool block, void* dst, const void* src, CUstream_st* stream) noexcept {
  const int words = a.tile_d * kUnit / 16;
#define RESTRIDE_TILE(kWords, kTileS)                                              \
  if (words == kWords && a.tile_s == kTileS) {                                     \
    if constexpr (kUnit < 4)                                                       \
      if (block) return launch_block<kUnit, kWords, kTileS>(a, dst, src, stream);  \
    return launch_plain<kUnit, kUnit, false, kWords, kTileS>(a, dst, src, stream); \
  }
  if constexpr (kUnit == 1) {
    RESTRIDE_TILE(8, 128) RESTRIDE_TILE(8, 256)
  } else if constexpr (kUnit == 2) {
    RESTRIDE_TILE(8, 64) RESTRIDE_TILE(8, 128)
  } else if constexpr (kUnit == 4) {
    RESTRIDE_TILE(8, 32) RESTRIDE_TILE(16, 64) RESTRIDE_TILE(16, 128)
  } else {
    RESTRIDE_TILE(16, 32) RESTRIDE_TILE(16, 64)
  }
#undef RESTRIDE_TILE
  return static_cast<int>(cudaErrorInvalidValue);
}

template <int kSrc, int kDst>
int launch_cast(const TileArgs& a, void* dst, const void* src, CUstream_st* stream) noexcept {
  constexpr TileShape kShape = tile_cast_shape(kDst, kSrc);
  return launch_plain<kSrc, kDst, true, kShape.d * kDst / 16, kShape.s>(a, dst, src, stream);
}

}  // namespace

int launch_tile(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept {
  const auto& a = std::get<TileArgs>(args.args);
  if (args.key.cast) {
#define RESTRIDE_X(kSrc, kDst) \
  if (args.key.src_unit == kSrc && args.key.dst_unit == kDst) return launch_cast<kSrc, kDst>(a, dst, src, stream);
    RESTRIDE_CAST_SIZES(RESTRIDE_X)
#undef RESTRIDE_X
    return static_cast<int>(cudaErrorInvalidValue);
  }
  const bool block = args.key.variant == kTileBlock;
  switch (args.key.dst_unit) {
    case 1: return launch_move<1>(a, block, dst, src, stream);
    case 2: return launch_move<2>(a, block, dst, src, stream);
    case 4: return launch_move<4>(a, block, dst, src, stream);
    default: return launch_move<8>(a, block, dst, src, stream);  // units of 16 bytes lie on words
  }
}

}  // namespace restride::cuda
