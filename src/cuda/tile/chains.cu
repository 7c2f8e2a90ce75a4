// Moves         the copies of tile_aligned without a cast, if several short modes make up dst's rows, or src's.
// Applies when  modes form a chain on each side, no mode is in both, rows of both sides start on words and are whole
//               words. Chains are dense; or every mode is in one of them, and they may have gaps between words.
// Thread map    64 to 256 threads a tile: load, 16 bytes a lane along src's chain; store, 16 bytes a lane along dst's.
//               Before that lanes find the rows of both sides and the words in a row by dividing, for the whole block.
// Shared memory lines of 128 bytes, swizzled; see chain_stage_byte in src/cuda/tile/chains_map.h. No bank conflicts,
//               but two cycles a read where a warp stores 256 bytes of a row. Behind them, where each row and word
//               lies.
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
  static constexpr int kLog = tile_store_log(kGroups, kGroups);
  static constexpr int kBytes = kD * kS * kUnit, kEntries = chain_entries(kD, kS, kUnits, true);
  static constexpr int kShared = kBytes + kEntries * 4 + 2 * 8;  ///< the stage, the table, where both sides start
  static_assert(kBytes % 4 == 0 && kEntries % 2 == 0);
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
  auto* const src_rows = reinterpret_cast<std::uint32_t*>(shared + Tile::kBytes);
  const std::uint32_t* const dst_rows = src_rows + Tile::kD;
  const std::uint32_t* const dst_words = dst_rows + Tile::kS;
  const std::uint32_t* const src_words = dst_words + Tile::kGroups;
  auto* const bases = reinterpret_cast<std::int64_t*>(src_rows + Tile::kEntries);
  if (threadIdx.x / 32 == Tile::kThreads / 32 - 1) {
    const Offsets batch = offsets(a.batch, place.batch);
    if (threadIdx.x % 32 == 0) {
      bases[0] = a.src_offset + batch.src;
      bases[1] = a.dst_offset + batch.dst;
    }
  }
  const auto fill = [&](int first, int last) {
#pragma unroll 1
    for (int i = first + static_cast<int>(threadIdx.x); i < last; i += Tile::kThreads)
      src_rows[i] = chain_entry(c, place, Tile::kD, Tile::kS, kUnits, i);
  };
  fill(0, Tile::kD);
  if (c.breaks) fill(Tile::kD + Tile::kS + Tile::kGroups, Tile::kEntries);
  __syncthreads();

  const std::uint32_t stage = shared_address(shared);
  const unsigned column = threadIdx.x % Tile::kRowWords, row = threadIdx.x / Tile::kRowWords, byte = column * 16;
  constexpr unsigned kRowsAStep = Tile::kThreads / Tile::kRowWords;
  const bool inside = tile_units_left(a, place, column * kUnits) > 0;
  const int rows = a.d_extent - place.d;
  const char* const from = src + bases[0] + bytes_of(c.breaks ? src_words[column] : place.s / kUnits + column);
  const std::uint64_t policy = source_policy(c.keep);
  uint4 words[Tile::kLoads];
#pragma unroll
  for (int step = 0; step < Tile::kLoads; ++step) {
    const unsigned d = row + step * kRowsAStep;
    if (inside && static_cast<int>(d) < rows) words[step] = load_under(policy, from + bytes_of(src_rows[d]));
  }
  fill(Tile::kD, Tile::kD + Tile::kS + (c.breaks ? Tile::kGroups : 0));  // while these words are on their way
#pragma unroll
  for (int step = 0; step < Tile::kLoads; ++step)
    store_shared(stage + chain_stage_byte(row + step * kRowsAStep, byte, kUnits, Tile::kGroups), words[step]);
  __syncthreads();

  char* const to = dst + bases[1];
  constexpr int kRowsApart = Tile::kGroups * kLineBytes;  // from a row of src to the next of its group
#pragma unroll
  for (int step = 0; step < Tile::kStores; ++step) {
    const TileStore at = tile_line_store(step, threadIdx.x, Tile::kThreads, Tile::kLog, Tile::kRows);
    const int s = at.s * kAcross, d = at.word * kUnits;
    if (d >= rows || place.s + s >= a.s_extent) continue;
    char* const word = to + bytes_of(c.breaks ? dst_words[at.word] : place.d / kUnits + at.word);
    const std::uint32_t address = stage + chain_stage_byte(d, s * kUnit, kUnits, Tile::kGroups);
    if constexpr (kAcross == 1) {
      Bits<kUnit> units[kUnits];
#pragma unroll
      for (int j = 0; j < kUnits; ++j) units[j] = load_shared<kUnit>(address + j * kRowsApart);
      store<16>(word + bytes_of(dst_rows[s]), join<kUnit, kUnits>(units));
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
        store<16>(word + bytes_of(dst_rows[s + i]), make_uint4(out[i][0], out[i][1], out[i][2], out[i][3]));
    }
  }
}

template <class Tile>
int launch_instance(const ChainArgs& c, const Launch& on) noexcept {
  return enqueue(tile_chains_kernel<Tile>, c, on, c.tile.tiles, Tile::kThreads, Tile::kShared);
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
