// Moves         the copies of tile_chains, with rows that start anywhere: permutations of odd extents, single modes.
// Applies when  modes form a dense chain on each side, no mode is in both, units have 1 to 8 bytes; those
//               that are converted have a kernel in unaligned_chains_cast.cu.
// Thread map    load, 16 bytes a lane along lines of src; bytes: a patch of 4 rows by 12 bytes a lane, from rows of src
//               to rows of dst; store, 16 bytes a lane along dst's chain.
// Shared memory rows of src as they lie there, and of bytes then rows of dst in their place; tables of where rows lie;
//               see src/cuda/tile/unaligned_chains_map.h.
// Traffic       every byte once each way; windows also read the halo, 32 bytes a tile's row of dst, that L2 has from
//               the tile beside it, runs do not. Sectors of dst are written whole but at the ends of its chain.
// Source        tile/pixels and tile/chains in one; measured rows in bench/results.
#include "src/cuda/dispatch.cuh"
#include "src/cuda/shift.cuh"
#include "src/cuda/tile/pixels_map.h"
#include "src/cuda/tile/tile.h"
#include "src/cuda/tile/unaligned_chains.cuh"

namespace restride::cuda {
namespace {

using namespace unaligned;

/// Rows of runs of bytes: where their first whole word lies.
__device__ inline void fill_run_rows(const UnalignedChainArgs& c, const Here& h) {
#pragma unroll 1
  for (int s = threadIdx.x; s < h.s_count; s += blockDim.x) {
    char* const row = h.dst + chain_offset(c.dst_rows, static_cast<std::uint32_t>(h.place.s + s));
    const int ahead = -nibble(row) & 15;
    h.rows[s] = {row + ahead, h.rooms + transposed_line(c, s) + ahead, run_row_bytes(c, h.s_count, s, ahead)};
  }
}

/// 3 words from byte `at` of shared memory on.
__device__ inline void load_three(std::uint32_t at, std::uint32_t (&out)[3]) {
  const std::uint32_t from = at & ~3u,
                      bits = at << 3;  // a funnel shift counts modulo 32
  std::uint32_t low = load_shared<4>(from);
#pragma unroll
  for (int w = 0; w < 3; ++w) {
    const std::uint32_t high = load_shared<4>(from + 4 * w + 4);
    out[w] = __funnelshift_r(low, high, bits);
    low = high;
  }
}

/// Patches of bytes from rows of src to rows of dst in their place.
template <bool joined, int kPatches>
__device__ inline void transpose_patches(const UnalignedChainArgs& c, const Here& h) {
  const int items = unaligned_patches(c);
  const auto beyond = [&](const PatchPlace& at) { return !joined && h.place.d - c.tile.halo + at.d >= h.window.last; };
  std::uint32_t patches[kPatches][3][kPatchRows];
#pragma unroll
  for (int i = 0; i < kPatches; ++i) {
    const int item = static_cast<int>(threadIdx.x + i * blockDim.x);
    const PatchPlace at = patch_place(c, item);
    if (item >= items || beyond(at)) break;
    const uint2 starts = load_shared<8>(h.starts + at.d * 2);
    std::uint32_t in[kPatchRows][3];
#pragma unroll
    for (int j = 0; j < kPatchRows; ++j)
      load_three(add_half(h.rooms + at.s, j < 2 ? starts.x : starts.y, j % 2 != 0), in[j]);
#pragma unroll
    for (int w = 0; w < 3; ++w) {
      const std::uint32_t column[4] = {in[0][w], in[1][w], in[2][w], in[3][w]};
      transpose_words<1>(column, patches[i][w]);
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kPatches; ++i) {
    const int item = static_cast<int>(threadIdx.x + i * blockDim.x);
    const PatchPlace at = patch_place(c, item);
    if (item >= items || beyond(at)) break;
    std::uint32_t row = h.rooms + transposed_line(c, at.s) + at.d;
#pragma unroll
    for (int w = 0; w < 3; ++w)
#pragma unroll
      for (int j = 0; j < 4; ++j, row += c.dst_pitch)
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(row), "r"(patches[i][w][j]) : "memory");
  }
}

/// The 16 bytes from byte `at` of shared memory on.
__device__ inline uint4 load_shifted(std::uint32_t at) {
  const std::uint32_t from = at & ~15u;
  return shifted(load_shared<16>(from), load_shared<16>(from + 16), static_cast<int>(at & 15));
}

/// Word number `word` of row `s` of dst, of units wider than bytes.
template <int kUnit>
__device__ inline uint4 word_of(const Here& h, std::uint32_t at, int s, int word) {
  Bits<kUnit> units[16 / kUnit];
  collect_units<Move<kUnit>>(h, at, s, word, units);
  return join<kUnit, 16 / kUnit>(units);
}

/// Whole words of bytes, the same word of several rows a thread. `edge`: some of the tile's lie beyond dst's chain.
template <bool joined, bool edge>
__device__ inline void store_bytes(const UnalignedChainArgs& c, const Here& h) {
  const UnalignedStore first = unaligned_store(c, static_cast<int>(threadIdx.x));
  const int byte = first.word * 16;
  std::uint32_t entry = shared_address(h.rows) + first.row * 16;
  if (first.row >= c.store_rows) return;
#pragma unroll 2
  for (int s = first.row; s < h.s_count; s += c.store_rows, entry += c.store_rows * 16) {
    const uint4 row = load_shared<16>(entry);
    if (joined && byte >= static_cast<int>(row.w)) continue;
    const int at = byte + static_cast<int>(row.w);
    if (edge && (at < 0 || at + 16 > c.tile.d_extent)) continue;
    char* const to = reinterpret_cast<char*>(static_cast<std::uint64_t>(row.y) << 32 | row.x);
    store<16>(to + byte, load_shifted(row.z + byte));
  }
}

/// The ends of rows of bytes that lie in this tile and are less than words, a byte a lane.
__device__ inline void store_byte_ends(const UnalignedChainArgs& c, const Here& h, bool at_head, bool at_tail) {
  const int bytes = c.tile.d_extent, lane = static_cast<int>(threadIdx.x) % 16;
#pragma unroll 1
  for (int s = threadIdx.x / 16; s < h.s_count; s += blockDim.x / 16) {
    const RowEntry row = h.rows[s];
    const int low = nibble(row.to) - row.first, head = -low & 15, tail = bytes - (low + bytes & 15);
    const auto put = [&](int byte, int end) {
      const int behind = byte - row.first;
      if (byte < end && behind >= 0 && behind < c.tile.tile_d)
        store<1>(row.to + behind, load_shared<1>(row.at + behind));
    };
    if (at_head) put(lane, min(head, bytes));
    if (at_tail && tail >= head) put(tail + lane, bytes);
  }
}

/// The ends of runs of bytes that are less than words, a byte a lane.
__device__ inline void store_run_ends(const UnalignedChainArgs& c, const Here& h) {
#pragma unroll 1
  for (int item = threadIdx.x; item < unaligned_runs(c, h.s_count) * 32; item += blockDim.x) {
    const int run = item / 32, s = run_row(c, run, 0);
    const int ahead = static_cast<int>(h.rows[s].at - (h.rooms + transposed_line(c, s)));
    char* const begin = h.rows[s].to - ahead;
    const int bytes = unaligned_run_rows(c, h.s_count, run) * c.tile.d_extent;
    const PixelEnds ends = pixel_ends(reinterpret_cast<std::intptr_t>(begin), bytes);
    const bool at_tail = item % 32 >= 16;
    const int byte = item % 16 + (at_tail ? static_cast<int>(ends.tail) : 0);
    if (byte >= (at_tail ? bytes : static_cast<int>(ends.head))) continue;
    const RunPlace at = run_place(c, byte);
    store<1>(begin + byte, load_shared<1>(h.rooms + transposed_line(c, run_row(c, run, at.s)) + at.d));
  }
}

/// Whole words of wider units. `edge`: some of the tile's lie beyond dst's chain.
template <int kUnit, bool edge>
__device__ inline void store_rows(const UnalignedChainArgs& c, const Here& h) {
  const int row_bytes = c.tile.d_extent * kUnit, words = static_cast<int>(c.store_words.divisor);
  const int items = h.s_count * words;
#pragma unroll 2
  for (int item = threadIdx.x; item < items; item += blockDim.x) {
    const auto s = static_cast<int>(c.store_words.quotient(item));
    const int word = item - s * words;
    const RowEntry row = h.rows[s];
    const int byte = row.first + word * 16;
    if (edge && (byte < 0 || byte + 16 > row_bytes)) continue;
    store<16>(row.to + word * 16, word_of<kUnit>(h, row.at, s, word));
  }
}

/// The ends of rows of dst that lie in this tile and are less than words, a unit a lane.
template <int kUnit>
__device__ inline void store_ends(const UnalignedChainArgs& c, const Here& h, bool at_tail) {
  constexpr int kLanes = 16 / kUnit;  // of an end
  const TileArgs& a = c.tile;
  const int row_bytes = a.d_extent * kUnit, lane = static_cast<int>(threadIdx.x) % kLanes * kUnit;
#pragma unroll 1
  for (int s = threadIdx.x / kLanes; s < h.s_count; s += blockDim.x / kLanes) {
    const RowEntry row = h.rows[s];
    char* const begin = row.to - row.first;
    const PixelEnds ends = pixel_ends(reinterpret_cast<std::intptr_t>(begin), row_bytes);
    const int tail = static_cast<int>(ends.tail), byte = at_tail ? tail + lane : lane;
    const bool mine = at_tail ? tail >= row.first && tail < row.first + a.tile_d * kUnit : true;
    if (!mine || byte >= (at_tail ? row_bytes : static_cast<int>(ends.head))) continue;
    const int ahead = byte + (a.halo - h.place.d) * kUnit;
    const std::uint32_t at = h.rooms + load_shared<2>(h.starts + ahead / kUnit * 2) + s * kUnit;
    store<kUnit>(begin + byte, load_shared<kUnit>(at));
  }
}

/// Rows of wider units that follow each other in dst, as runs: words go on from one row to the next.
template <int kUnit>
__device__ inline void store_runs(const UnalignedChainArgs& c, const Here& h) {
  const int words = static_cast<int>(c.store_words.divisor), runs = unaligned_runs(c, h.s_count);
  const int row_bytes = c.tile.d_extent * kUnit, items = runs * words;
#pragma unroll 2
  for (int item = threadIdx.x; item < items; item += blockDim.x) {
    const auto run = static_cast<int>(c.store_words.quotient(item));
    char* const to = h.rows[run].to;
    const int byte = (item - run * words) * 16 + (-nibble(to) & 15);
    if (byte + 16 > unaligned_run_rows(c, h.s_count, run) * row_bytes) continue;
    const RunPlace at = run_place(c, byte / kUnit);
    const int s = run_row(c, run, at.s);
    store<16>(to + byte, word_of<kUnit>(h, found_at<Move<kUnit>>(c, h, at.d), s, 0));
  }
  // The ends of runs that are less than words, a unit a lane.
  constexpr int kLanes = 16 / kUnit;  // of an end
#pragma unroll 1
  for (int item = threadIdx.x; item < runs * 2 * kLanes; item += blockDim.x) {
    const int run = item / (2 * kLanes);
    char* const to = h.rows[run].to;
    const int bytes = unaligned_run_rows(c, h.s_count, run) * row_bytes;
    const PixelEnds ends = pixel_ends(reinterpret_cast<std::intptr_t>(to), bytes);
    const bool at_tail = item % (2 * kLanes) >= kLanes;
    const int byte = (at_tail ? static_cast<int>(ends.tail) : 0) + item % kLanes * kUnit;
    if (byte >= (at_tail ? bytes : static_cast<int>(ends.head))) continue;
    const RunPlace at = run_place(c, byte / kUnit);
    const int s = run_row(c, run, at.s);
    const std::uint32_t from = h.rooms + load_shared<2>(h.starts + at.d * 2) + s * kUnit;
    store<kUnit>(to + byte, load_shared<kUnit>(from));
  }
}

template <int kUnit, bool joined, int kPatches>
__global__ void __launch_bounds__(kMostUnalignedThreads,
                                  resident_blocks(kMostUnalignedThreads, unaligned_blocks(kUnit, kPatches)))
    tile_unaligned_chains_kernel(const __grid_constant__ UnalignedChainArgs c, char* dst, const char* src) {
  extern __shared__ __align__(128) char shared[];
  const TileArgs& a = c.tile;
  const Here h = load_tile<Move<kUnit>>(c, shared, dst, src);
  if constexpr (!joined)
    fill_rows<Move<kUnit>>(c, h);
  else if constexpr (kUnit == 1)
    fill_run_rows(c, h);
  else
    fill_runs(c, h);
  wait_copies();
  __syncthreads();
  const bool head = h.place.d == 0, tail = h.place.d + a.tile_d + a.halo >= a.d_extent;
  if constexpr (kUnit == 1) {
    transpose_patches<joined, kPatches>(c, h);
    __syncthreads();
    if constexpr (joined) {
      store_bytes<true, false>(c, h);
      return store_run_ends(c, h);
    }
    if (!head && !tail) return store_bytes<false, false>(c, h);
    store_bytes<false, true>(c, h);
    store_byte_ends(c, h, head, tail);
  } else {
    if constexpr (joined) return store_runs<kUnit>(c, h);
    if (!head && !tail) return store_rows<kUnit, false>(c, h);
    store_rows<kUnit, true>(c, h);
    if (head) store_ends<kUnit>(c, h, false);
    if (tail) store_ends<kUnit>(c, h, true);
  }
}

}  // namespace

int launch_tile_unaligned_chains(const CudaArgs& args, const Launch& on) noexcept {
  const auto& c = std::get<UnalignedChainArgs>(args.args);
  if (args.units.cast) return launch_unaligned_chains_cast(c, args.units, on);
  return with_size<1, 2, 4, 8>(args.units.dst, [&]<int kUnit>() {
    auto kernel = c.run_rows != 0 ? tile_unaligned_chains_kernel<kUnit, true, kFewPatches>
                                  : tile_unaligned_chains_kernel<kUnit, false, kFewPatches>;
    if constexpr (kUnit == 1)
      if (unaligned_patches(c) > kFewPatches * c.threads) kernel = tile_unaligned_chains_kernel<1, true, kMostPatches>;
    return enqueue(kernel, c, on, c.tile.tiles, static_cast<unsigned>(c.threads),
                   static_cast<unsigned>(unaligned_tables(c, kUnit, false).end));
  });
}

}  // namespace restride::cuda
