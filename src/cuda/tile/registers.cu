// Moves         the copies of tile_unaligned with units of 1 and 2 bytes, without a cast: shared memory moves words.
// Applies when  rows of dst start on 16 bytes, rows of src on 4.
// Thread map    256 threads a tile: load as in unaligned.cu; a lane reads 4 bytes of each row of src that a word of dst
//               needs, transposes them in registers, and stores 16 bytes of 4 or 2 rows of dst.
// Shared memory as in unaligned.cu.
// Traffic       every byte once each way.
// Source        tile_unaligned, whose lanes look every unit up; measured rows in bench/results.
#include "src/cuda/dispatch.cuh"
#include "src/cuda/tile/load.cuh"
#include "src/cuda/tile/tile.h"

namespace restride::cuda {
namespace {

template <int kUnit, int kWords, int kTileS>
__global__ void __launch_bounds__(kTileThreads, resident_blocks(kTileThreads, kTileResident))
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

}  // namespace

int launch_tile_registers(const CudaArgs& args, const Launch& on) noexcept {
  const auto& a = std::get<TileArgs>(args.args);
  return with_size<1, 2>(args.units.dst, [&]<int kUnit>() {
#define RESTRIDE_X(unit, words, along_s)                                                         \
  if constexpr (unit == kUnit)                                                                   \
    if (a.tile_d * kUnit / 16 == words && a.tile_s == along_s)                                   \
      return enqueue(tile_registers_kernel<kUnit, words, along_s>, a, on, a.tiles, kTileThreads, \
                     tile_shared_bytes(a, 16 / kUnit));
    RESTRIDE_UNALIGNED_SHAPES(RESTRIDE_X)
#undef RESTRIDE_X
    return static_cast<int>(cudaErrorInvalidValue);
  });
}

}  // namespace restride::cuda
