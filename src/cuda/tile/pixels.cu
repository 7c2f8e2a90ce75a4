// Moves         a matrix of pixels, batched over other modes: images transposed or turned by a quarter; and of bytes.
// Applies when  dst's innermost mode is 3 units of 1 or 2 bytes that src holds side by side as well, in either order,
//               or a unit is a byte; the next mode of dst and another one of src have no gaps; any pitch and alignment.
// Thread map    256 threads a tile: load, 16 bytes a lane along src's rows; a patch of pixels a lane, from rows of src
//               to rows of dst; store, 16 bytes a lane, 16 lanes a row.
// Shared memory see src/cuda/tile/pixels_map.h. No bank conflicts where src's rows start on 16 bytes.
// Traffic       every byte once each way, plus 48 bytes a tile's row of dst (32 where a unit is a byte) that L2 has
//               from the tile beside it.
// Source        pixels as records of the CPU's tile family; measured rows in bench/results.
#include "src/cuda/device.cuh"
#include "src/cuda/dispatch.cuh"
#include "src/cuda/shift.cuh"
#include "src/cuda/tile/pixels_map.h"
#include "src/cuda/tile/tile.h"

namespace restride::cuda {
namespace {

/// Reads the tile's rows of src into shared memory; `from` is where the halo's first row lies, `tile` where it goes to.
template <int pixel, bool inside>
__device__ inline void load_rows(const TileArgs& a, std::uint32_t tile, const char* from, const char* src, int d,
                                 int s) {
  constexpr int kRowsAStep = kTileThreads / 8, kPatchRows = pixel_patch(pixel).d;
  const int rows = min(a.halo + a.tile_d, a.d_extent - d + a.halo), first_row = max(0, a.halo - d);
  const int row_bytes = min(pixel_tile_s(pixel), a.s_extent - s) * pixel;
  const TileLoad at = pixel_load(0, threadIdx.x);
  const char* row = from + at.row * a.src_pitch;
  std::uint32_t to = tile + tile_row_base(a, at.row, kPatchRows);
  const std::int64_t step_bytes = kRowsAStep * a.src_pitch;
  const std::uint32_t step_shared = tile_row_base(a, kRowsAStep, kPatchRows);
#pragma unroll 4
  for (int r = at.row; r < rows; r += kRowsAStep, row += step_bytes, to += step_shared) {
    const int off = at.word * 16 - nibble(row);
    if (r < first_row || off >= row_bytes) continue;
    if constexpr (inside)
      copy_word<true, true>(to + off, row + off);
    else
      stage_word<true>(to + off, row + off, src + a.src_first, src + a.src_last);
  }
}

/// A lane's patch: 12 bytes of each of its rows of src, as they stand in rows of dst in the end.
template <int pixel>
struct Patch {
  static constexpr TileShape kShape = pixel_patch(pixel);
  static constexpr int kOut = kShape.d * pixel / 4;  // words of a row
  std::uint32_t words[kShape.s][kOut];
};

/// 3 words from byte `at` of shared memory on.
template <bool on_words>
__device__ inline void load_three(std::uint32_t at, std::uint32_t (&out)[3]) {
  if constexpr (on_words) {
#pragma unroll
    for (int w = 0; w < 3; ++w) out[w] = load_shared<4>(at + 4 * w);
  } else {
    const std::uint32_t from = at & ~3u, bits = at << 3;  // a funnel shift counts modulo 32
    std::uint32_t low = load_shared<4>(from);
#pragma unroll
    for (int w = 0; w < 3; ++w) {
      const std::uint32_t high = load_shared<4>(from + 4 * w + 4);
      out[w] = __funnelshift_r(low, high, bits);
      low = high;
    }
  }
}

template <bool>
__device__ inline void transpose(const std::uint32_t (&in)[4][3], Patch<1>& patch) {
#pragma unroll
  for (int w = 0; w < 3; ++w) {
    const std::uint32_t rows[4] = {in[0][w], in[1][w], in[2][w], in[3][w]};
    std::uint32_t columns[4];
    transpose_words<1>(rows, columns);
#pragma unroll
    for (int i = 0; i < 4; ++i) patch.words[4 * w + i][0] = columns[i];
  }
}

template <bool backwards>
__device__ inline void transpose(const std::uint32_t (&in)[4][3], Patch<3>& patch) {
  std::uint32_t of[4][4];  // [row of dst][row of src], a pixel each
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    of[0][j] = __byte_perm(in[j][0], 0, backwards ? 0x4012 : 0x4210);
    of[1][j] = __byte_perm(in[j][0], in[j][1], backwards ? 0x6345 : 0x6543);
    of[2][j] = __byte_perm(in[j][1], in[j][2], backwards ? 0x7234 : 0x7432);
    of[3][j] = __byte_perm(in[j][2], 0, backwards ? 0x4123 : 0x4321);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    patch.words[i][0] = __byte_perm(of[i][0], of[i][1], 0x4210);
    patch.words[i][1] = __byte_perm(of[i][1], of[i][2], 0x5421);
    patch.words[i][2] = __byte_perm(of[i][2], of[i][3], 0x6542);
  }
}

template <bool backwards>
__device__ inline void transpose(const std::uint32_t (&in)[2][3], Patch<6>& patch) {
  std::uint32_t of[2][3];
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    of[j][0] = backwards ? __byte_perm(in[j][0], in[j][1], 0x3254) : in[j][0];
    of[j][1] = backwards ? __byte_perm(in[j][0], in[j][2], 0x7610) : in[j][1];
    of[j][2] = backwards ? __byte_perm(in[j][1], in[j][2], 0x3254) : in[j][2];
  }
  patch.words[0][0] = of[0][0];
  patch.words[0][1] = __byte_perm(of[0][1], of[1][0], 0x5410);
  patch.words[0][2] = __byte_perm(of[1][0], of[1][1], 0x5432);
  patch.words[1][0] = __byte_perm(of[0][1], of[0][2], 0x5432);
  patch.words[1][1] = __byte_perm(of[0][2], of[1][1], 0x7632);
  patch.words[1][2] = of[1][2];
}

/// The 16 bytes from byte `at` of shared memory on.
__device__ inline uint4 load_shifted(std::uint32_t at) {
  const std::uint32_t from = at & ~15u;
  const int shift = static_cast<int>(at & 15);
  const uint4 low = load_shared<16>(from);
  return shift == 0 ? low : shifted(low, load_shared<16>(from + 16), shift);
}

/// Words of dst from the rows at `stage`; `to` is the first row, whose pixel 0 is the image's.
template <int pixel>
__device__ inline void store_rows(const TileArgs& a, std::uint32_t stage, char* to, int d, int s_count) {
  const int row_bytes = a.d_extent * pixel, words = a.tile_d * pixel / 16;
#pragma unroll
  for (int row_step = 0; row_step * (kTileThreads / 16) < pixel_tile_s(pixel); ++row_step) {
    const int s = pixel_store(0, row_step, threadIdx.x).s;
    if (s >= s_count) break;
    char* const row = to + s * a.dst_pitch;
    const int skew = static_cast<int>(reinterpret_cast<std::uintptr_t>(row) & a.skew_mask);
    const std::uint32_t line = stage + pixel_line(s, pixel) + a.halo * pixel - skew;
    const int first = d * pixel - skew;
#pragma unroll
    for (int word_step = 0; word_step < kPixelGroups * pixel_group_bytes(pixel) / 256; ++word_step) {
      const int word = pixel_store(word_step, row_step, threadIdx.x).word;
      const int byte = first + word * 16;
      if (word < words && byte >= 0 && byte + 16 <= row_bytes) store<16>(row + byte, load_shifted(line + word * 16));
    }
  }
}

/// The ends of rows of dst that lie in this tile and are less than words, `kBytes` a lane.
template <int pixel, int kBytes>
__device__ inline void store_ends(const TileArgs& a, std::uint32_t stage, char* to, int d, int s_count, bool at_tail) {
  constexpr int kLanes = 16 / kBytes;  // of an end
  const int row_bytes = a.d_extent * pixel, lane = threadIdx.x % kLanes * kBytes;
#pragma unroll 1
  for (int s = threadIdx.x / kLanes; s < s_count; s += kTileThreads / kLanes) {
    char* const row = to + s * a.dst_pitch;
    const int first = d * pixel - static_cast<int>(reinterpret_cast<std::uintptr_t>(row) & a.skew_mask);
    const PixelEnds ends = pixel_ends(reinterpret_cast<std::intptr_t>(row), row_bytes);
    const int tail = static_cast<int>(ends.tail), byte = at_tail ? tail + lane : lane;
    const bool mine = at_tail ? tail >= first && tail < first + a.tile_d * pixel : true;
    if (mine && byte < (at_tail ? row_bytes : static_cast<int>(ends.head)))
      store<kBytes>(row + byte, load_shared<kBytes>(stage + pixel_line(s, pixel) + (a.halo - d) * pixel + byte));
  }
}

/// The same for both ends, if rows have any, by stores as wide as the ends allow.
template <int pixel>
__device__ inline void store_ends(const TileArgs& a, std::uint32_t stage, char* to, int d, int s_count) {
  const auto bits = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(to) | a.dst_pitch | a.d_extent * pixel);
  if (bits % 16 == 0) return;
  for (const bool at_tail : {false, true}) {
    if (at_tail ? d + a.tile_d + pixel_group(pixel) < a.d_extent : d != 0) continue;
    if (bits % 4 == 0)
      store_ends<pixel, 4>(a, stage, to, d, s_count, at_tail);
    else
      store_ends<pixel, pixel == 6 ? 2 : 1>(a, stage, to, d, s_count, at_tail);
  }
}

/// Blocks a multiprocessor is to hold. On H200 more, with fewer registers, lose.
constexpr int kResident = 5;

template <int pixel, bool backwards, bool on_words>
__global__ void __launch_bounds__(kTileThreads, resident_blocks(kTileThreads, kResident))
    tile_pixels_kernel(const __grid_constant__ TileArgs a, char* dst, const char* src) {
  using B = Patch<pixel>;
  constexpr int kWarps = kTileThreads / 32, kPatches = kPixelGroups / kWarps;
  extern __shared__ __align__(128) char shared[];
  const TilePlace place = tile_place(a, blockIdx.x);
  const Offsets batch = offsets(a.batch, place.batch);
  const char* const from =
      src + a.src_offset + batch.src + (place.d - a.halo) * a.src_pitch + static_cast<std::int64_t>(place.s) * pixel;
  const std::uint32_t stage = shared_address(shared), tile = stage + nibble(from);
  const std::int64_t reach = (a.halo + a.tile_d) * a.src_pitch;
  const char* const low = from + min(reach, std::int64_t{0});
  const char* const high = from + max(reach, std::int64_t{0}) + kPixelRowBytes;
  if (low - 16 >= src + a.src_first && high + 16 <= src + a.src_last)
    load_rows<pixel, true>(a, tile, from, src, place.d, place.s);
  else
    load_rows<pixel, false>(a, tile, from, src, place.d, place.s);
  wait_copies();
  __syncthreads();

  const int rows = min(a.halo + a.tile_d, a.d_extent - place.d + a.halo), warp = threadIdx.x / 32;
  const int groups = (rows + pixel_group(pixel) - 1) / pixel_group(pixel);
  B patches[kPatches];
#pragma unroll
  for (int i = 0; i < kPatches; ++i) {
    if (warp + i * kWarps >= groups) break;
    const PixelPatch at = pixel_place(warp + i * kWarps, threadIdx.x % 32, pixel);
    const std::uint32_t first = tile + tile_row_base(a, at.d, B::kShape.d) + at.s * pixel;
    std::uint32_t in[B::kShape.d][3];
#pragma unroll
    for (int j = 0; j < B::kShape.d; ++j) load_three<on_words>(first + j * a.row_pitch, in[j]);
    transpose<backwards>(in, patches[i]);
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kPatches; ++i) {
    if (warp + i * kWarps >= groups) break;
    const PixelPatch at = pixel_place(warp + i * kWarps, threadIdx.x % 32, pixel);
#pragma unroll
    for (int row = 0; row < B::kShape.s; ++row) {
      const std::uint32_t to = stage + pixel_line(at.s + row, pixel) + at.d * pixel;
#pragma unroll
      for (int w = 0; w < B::kOut; ++w)
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(to + 4 * w), "r"(patches[i].words[row][w]) : "memory");
    }
  }
  __syncthreads();

  char* const to = dst + a.dst_offset + batch.dst + place.s * a.dst_pitch;
  const int s_count = min(pixel_tile_s(pixel), a.s_extent - place.s);
  store_rows<pixel>(a, stage, to, place.d, s_count);
  store_ends<pixel>(a, stage, to, place.d, s_count);
}

template <int pixel, bool backwards>
int launch_order(const TileArgs& a, const Launch& on) noexcept {
  std::int64_t bits = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(on.src)) + a.src_offset;
  bits |= a.src_pitch;
  for (int i = 0; i < a.batch.rank; ++i) bits |= a.batch.src_stride[i];
  const auto kernel =
      bits % 4 == 0 ? tile_pixels_kernel<pixel, backwards, true> : tile_pixels_kernel<pixel, backwards, false>;
  return enqueue(kernel, a, on, a.tiles, kTileThreads, pixel_shared_bytes(a, pixel));
}

}  // namespace

int launch_tile_pixels(const CudaArgs& args, const Launch& on) noexcept {
  const auto& p = std::get<PixelTileArgs>(args.args);
  if (p.pixel_bytes == 1) return launch_order<1, false>(p.tile, on);
  return with_size<3, 6>(p.pixel_bytes, [&]<int kPixel>() {
    return p.backwards ? launch_order<kPixel, true>(p.tile, on) : launch_order<kPixel, false>(p.tile, on);
  });
}

}  // namespace restride::cuda
