// Moves         the copies of tile_aligned without a cast, if several short modes make up dst's rows, or src's.
// Applies when  modes form a dense chain on each side, no mode is in both, rows of both sides start on words and are
//               whole words.
// Thread map    128 or 256 threads a tile: load, 16 bytes a lane along src's chain; store, 16 bytes a lane along dst's.
// Shared memory lines of 128 bytes, swizzled; see chain_stage_byte in src/cuda/tile/chains_map.h. No bank conflicts,
//               but two cycles a read where a warp stores 256 bytes of a row.
// Traffic       every byte once each way, 128 bytes of a row at least, however short the modes are.
// Source        the CPU's tile family, whose rows and columns are chains as well; small blocks and hints to L2 as in
//               torch.compile's kernels for these copies; measured rows in bench/results.
#include "src/cuda/device.cuh"
#include "src/cuda/dispatch.cuh"
#include "src/cuda/tile/chains_map.h"
#include "src/cuda/tile/tile.h"

namespace restride::cuda {
namespace {

template <int unit, int tile_d, int tile_s, int threads, int blocks>
struct ChainTile {
  static constexpr int kUnit = unit, kD = tile_d, kS = tile_s, kThreads = threads, kBlocks = blocks;
  static constexpr int kUnits = kWordBytes / kUnit;          ///< rows of src a word of dst needs
  static constexpr int kAcross = kUnit < 4 ? 4 / kUnit : 1;  ///< rows of dst a lane makes at once
  static constexpr int kGroups = kD / kUnits, kRows = kS / kAcross;
  static constexpr int kRowWords = kS * kUnit / kWordBytes;
  static constexpr int kLoads = kD * kRowWords / kThreads, kStores = kGroups * kRows / kThreads;
  static constexpr int kBytes = kD * kS * kUnit;
  static_assert(kLoads * kThreads == kD * kRowWords && kStores * kThreads == kGroups * kRows);
  static constexpr int kLanesRows = 32 / kRowWords;  ///< rows of src that a warp reads in a step
  static_assert(kRowWords % 8 == 0 && (kGroups % 8 == 0 || 8 % kGroups == 0) && kThreads % kRowWords == 0);
  static_assert(32 % kRowWords == 0 && kLoads * kLanesRows <= 32 && (kGroups < 4 ? 16 : 8) * kAcross <= 32);
};

/// What lane `lane` of the warp has.
__device__ inline std::int64_t from_lane(std::int64_t value, int lane) {
  return __shfl_sync(~0u, static_cast<long long>(value), lane);
}

/// `together`: the rows of dst that a lane makes at once follow each other in one mode.
template <class Tile, bool together>
__global__ void __launch_bounds__(Tile::kThreads, resident_blocks(Tile::kThreads, Tile::kBlocks))
    tile_chains_kernel(const __grid_constant__ ChainArgs c, char* dst, const char* src) {
  constexpr int kUnit = Tile::kUnit, kUnits = Tile::kUnits, kAcross = Tile::kAcross;
  const TileArgs& a = c.tile;
  extern __shared__ __align__(128) char shared[];
  const TilePlace place = tile_place(a, blockIdx.x);
  const Offsets batch = offsets(a.batch, place.batch);
  const std::uint32_t stage = shared_address(shared);
  const int column = threadIdx.x % Tile::kRowWords, row = threadIdx.x / Tile::kRowWords, byte = column * 16;
  const int left = tile_units_left(a, place, column * kUnits);
  constexpr int kRowsAStep = Tile::kThreads / Tile::kRowWords;
  const char* const from = src + a.src_offset + batch.src + static_cast<std::int64_t>(place.s) * kUnit + byte;
  // Finding a row takes long, so each lane finds one of the rows that its warp reads in all steps. Bytes do without:
  // their many loads of short pieces are slower when they come at once.
  const int lane = threadIdx.x % 32;
  std::int64_t found = 0;
  if constexpr (kUnit > 1) {
    const int mine = chain_found_row(threadIdx.x, Tile::kThreads, Tile::kRowWords);
    found = chain_offset(c.src_rows, place.d + mine);
  }
  uint4 words[Tile::kLoads];
#pragma unroll
  for (int step = 0; step < Tile::kLoads; ++step) {
    const int d = place.d + row + step * kRowsAStep;
    const std::int64_t offset =
        kUnit > 1 ? from_lane(found, step * Tile::kLanesRows + lane / Tile::kRowWords) : chain_offset(c.src_rows, d);
    if (left <= 0 || d >= a.d_extent) continue;
    words[step] = load_kept(from + offset);
  }
#pragma unroll
  for (int step = 0; step < Tile::kLoads; ++step)
    store_shared(stage + chain_stage_byte(row + step * kRowsAStep, byte, kUnits, Tile::kGroups), words[step]);
  __syncthreads();

  char* const to = dst + a.dst_offset + batch.dst;
  constexpr int kRowsApart = Tile::kGroups * kLineBytes;  // from a row of src to the next of its group
  const int log = tile_store_log(Tile::kGroups, (a.d_extent - place.d + kUnits - 1) / kUnits);
#pragma unroll
  for (int step = 0; step < Tile::kStores; ++step) {
    const TileStore at = tile_line_store(step, threadIdx.x, Tile::kThreads, log, Tile::kRows);
    const int s = place.s + at.s * kAcross, d = place.d + at.word * kUnits;
    std::int64_t offset = 0;
    if constexpr (together) {
      offset = chain_offset(c.dst_rows, s);
    } else {  // a lane finds one of the rows that its warp writes in this step
      const int mine = chain_found_store(step, threadIdx.x, Tile::kThreads, log, Tile::kRows, kAcross);
      offset = chain_offset(c.dst_rows, place.s + mine);
    }
    std::int64_t rows[kAcross];
#pragma unroll
    for (int i = 0; i < kAcross; ++i)
      rows[i] = together ? offset + i * c.dst_rows.stride[0] : from_lane(offset, (lane >> log) * kAcross + i);
    if (d >= a.d_extent || s >= a.s_extent) continue;
    const std::uint32_t address =
        stage + chain_stage_byte(at.word * kUnits, at.s * kAcross * kUnit, kUnits, Tile::kGroups);
    char* const word = to + static_cast<std::int64_t>(d) * kUnit;
    if constexpr (kAcross == 1) {
      Bits<kUnit> units[kUnits];
#pragma unroll
      for (int j = 0; j < kUnits; ++j) units[j] = load_shared<kUnit>(address + j * kRowsApart);
      store<16>(word + rows[0], join<kUnit, kUnits>(units));
    } else {
      std::uint32_t out[kAcross][4];
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        std::uint32_t in[kAcross], column[kAcross];
#pragma unroll
        for (int j = 0; j < kAcross; ++j) in[j] = load_shared<4>(address + (w * kAcross + j) * kRowsApart);
        transpose_words<kUnit>(in, column);
#pragma unroll
        for (int i = 0; i < kAcross; ++i) out[i][w] = column[i];
      }
#pragma unroll
      for (int i = 0; i < kAcross; ++i)
        store<16>(word + rows[i], make_uint4(out[i][0], out[i][1], out[i][2], out[i][3]));
    }
  }
}

template <class Tile>
int launch_instance(const ChainArgs& c, const Launch& on) noexcept {
  constexpr int kAcross = Tile::kAcross;
  const auto kernel = c.dst_rows.rank == 1 || c.dst_rows.extent[0].divisor % kAcross == 0
                          ? tile_chains_kernel<Tile, true>
                          : tile_chains_kernel<Tile, kAcross == 1>;
  return enqueue(kernel, c, on, c.tile.tiles, Tile::kThreads, Tile::kBytes);
}

}  // namespace

int launch_tile_chains(const CudaArgs& args, const Launch& on) noexcept {
  const auto& c = std::get<ChainArgs>(args.args);
#define RESTRIDE_X(unit, d, s, threads, blocks)                           \
  if (args.units.dst == unit && c.tile.tile_d == d && c.tile.tile_s == s) \
    return launch_instance<ChainTile<unit, d, s, threads, blocks>>(c, on);
  RESTRIDE_CHAIN_SHAPES(RESTRIDE_X)
#undef RESTRIDE_X
  return static_cast<int>(cudaErrorInvalidValue);
}

}  // namespace restride::cuda
