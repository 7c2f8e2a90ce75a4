// Moves         the copies of tile_aligned without a cast, if several short modes make up dst's rows, or src's.
// Applies when  modes form a dense chain on each side, no mode is in both, rows of both sides start on words and are
//               whole words.
// Thread map    64 to 256 threads a tile: load, 16 bytes a lane along src's chain; store, 16 bytes a lane along dst's.
//               Before that lanes find the rows of both sides by dividing, each up to three, for the whole block.
// Shared memory lines of 128 bytes, swizzled; see chain_stage_byte in src/cuda/tile/chains_map.h. No bank conflicts,
//               but two cycles a read where a warp stores 256 bytes of a row. Behind them, where each row lies.
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
  static_assert(kBytes % sizeof(std::int64_t) == 0);  // where rows lie comes behind the stage
  static_assert(kLoads * kThreads == kD * kRowWords && kStores * kThreads == kGroups * kRows);
  static_assert(kRowWords % 8 == 0 && (kGroups % 8 == 0 || 8 % kGroups == 0) && kThreads % kRowWords == 0);
};

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, resident_blocks(Tile::kThreads, Tile::kBlocks))
    tile_chains_kernel(const __grid_constant__ ChainArgs c, char* dst, const char* src) {
  constexpr int kUnit = Tile::kUnit, kUnits = Tile::kUnits, kAcross = Tile::kAcross;
  const TileArgs& a = c.tile;
  extern __shared__ __align__(128) char shared[];
  const TilePlace place = tile_place(a, blockIdx.x);
  // Finding a row takes long, so each is found once a block, and the last warp finds where the tile is.
  auto* const src_rows = reinterpret_cast<std::int64_t*>(shared + Tile::kBytes);
  auto* const dst_rows = src_rows + Tile::kD;
  auto* const bases = dst_rows + Tile::kS;
  if (threadIdx.x / 32 == Tile::kThreads / 32 - 1) {
    const Offsets batch = offsets(a.batch, place.batch);
    if (threadIdx.x % 32 == 0) {
      bases[0] = a.src_offset + batch.src + static_cast<std::int64_t>(place.s) * kUnit;
      bases[1] = a.dst_offset + batch.dst + static_cast<std::int64_t>(place.d) * kUnit;
    }
  }
#pragma unroll(kUnit > 2 ? 1 : 2)
  for (int i = static_cast<int>(threadIdx.x); i < Tile::kD + Tile::kS; i += Tile::kThreads) {
    const bool of_src = i < Tile::kD;
    src_rows[i] = chain_offset(of_src ? c.src_rows : c.dst_rows, of_src ? place.d + i : place.s + i - Tile::kD);
  }
  __syncthreads();

  const std::uint32_t stage = shared_address(shared);
  const unsigned column = threadIdx.x % Tile::kRowWords, row = threadIdx.x / Tile::kRowWords, byte = column * 16;
  constexpr unsigned kRowsAStep = Tile::kThreads / Tile::kRowWords;
  const int left = tile_units_left(a, place, column * kUnits), rows = a.d_extent - place.d;
  const char* const from = src + bases[0] + byte;
  uint4 words[Tile::kLoads];
#pragma unroll
  for (int step = 0; step < Tile::kLoads; ++step) {
    const unsigned d = row + step * kRowsAStep;
    if (left > 0 && static_cast<int>(d) < rows) words[step] = load_kept(from + src_rows[d]);
  }
#pragma unroll
  for (int step = 0; step < Tile::kLoads; ++step)
    store_shared(stage + chain_stage_byte(row + step * kRowsAStep, byte, kUnits, Tile::kGroups), words[step]);
  __syncthreads();

  char* const to = dst + bases[1];
  constexpr int kRowsApart = Tile::kGroups * kLineBytes;  // from a row of src to the next of its group
  const int log = tile_store_log(Tile::kGroups, (rows + kUnits - 1) / kUnits);
#pragma unroll
  for (int step = 0; step < Tile::kStores; ++step) {
    const TileStore at = tile_line_store(step, threadIdx.x, Tile::kThreads, log, Tile::kRows);
    const int s = at.s * kAcross, d = at.word * kUnits;
    if (d >= rows || place.s + s >= a.s_extent) continue;
    const std::uint32_t address = stage + chain_stage_byte(d, s * kUnit, kUnits, Tile::kGroups);
    if constexpr (kAcross == 1) {
      Bits<kUnit> units[kUnits];
#pragma unroll
      for (int j = 0; j < kUnits; ++j) units[j] = load_shared<kUnit>(address + j * kRowsApart);
      store<16>(to + dst_rows[s] + d * kUnit, join<kUnit, kUnits>(units));
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
        store<16>(to + dst_rows[s + i] + d * kUnit, make_uint4(out[i][0], out[i][1], out[i][2], out[i][3]));
    }
  }
}

template <class Tile>
int launch_instance(const ChainArgs& c, const Launch& on) noexcept {
  constexpr int kRowTables = (Tile::kD + Tile::kS + 2) * static_cast<int>(sizeof(std::int64_t));
  return enqueue(tile_chains_kernel<Tile>, c, on, c.tile.tiles, Tile::kThreads, Tile::kBytes + kRowTables);
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
