// Moves         rows of pixels: short groups of units that lie at a constant step in src, in any order inside.
// Applies when  dst's innermost mode, or its two innermost, are dense; units of any size.
// Thread map    consecutive threads, consecutive words of 4 bytes (or of one unit) of a row; four words a thread.
// Shared memory none; neighbours find each other's bytes in L1.
// Traffic       every byte once each way, and what lies between pixels where that is less than a sector.
// Source        colour swaps, mirrored images, slices of channels; measured rows in bench/results.
#include "src/cuda/device.cuh"
#include "src/cuda/dispatch.cuh"
#include "src/cuda/rows/pixels_map.h"
#include "src/cuda/rows/rows.h"

namespace restride::cuda {
namespace {

/// How the words of a thread are made: from 8 bytes of src each, or unit by unit.
template <int kUnit, bool window>
struct PixelWord {
  static constexpr int kBytes = kUnit < 4 ? 4 : kUnit, kUnits = kBytes / kUnit;
  static constexpr bool kWindow = window;
  std::uint32_t words[kWindow ? 3 : 1];
  Bits<kUnit> units[kWindow ? 1 : kUnits];

  /// `from`: an aligned word at or before the first of the 8 bytes, or the first unit of the pixel.
  __device__ void fetch(const char* from, const std::int32_t (&offset)[kUnits]) {
    if constexpr (kWindow) {
#pragma unroll
      for (int i = 0; i < 3; ++i) words[i] = load<4>(from + 4 * i);
    } else {
#pragma unroll
      for (int j = 0; j < kUnits; ++j) units[j] = load<kUnit>(from + offset[j]);
    }
  }

  __device__ Bits<kBytes> made(std::uint32_t shift, std::uint32_t select) const {
    if constexpr (kWindow)
      return __byte_perm(__funnelshift_r(words[0], words[1], shift), __funnelshift_r(words[1], words[2], shift),
                         select);
    else
      return join<kUnit, kUnits>(units);
  }
};

template <int kUnit, bool window, int kSteps>
__global__ void __launch_bounds__(kMostPixelsThreads)
    rows_pixels_kernel(const __grid_constant__ PixelsArgs a, char* dst, const char* src) {
  using Word = PixelWord<kUnit, window>;
  constexpr int kBytes = Word::kBytes, kUnits = Word::kUnits;
  const PixelChunk chunk = pixel_chunk(a, blockIdx.x);
  const Offsets at = row_offsets(a.rows, chunk.row);
  char* const row = dst + a.dst_offset + at.dst;
  const char* const block = src + a.src_offset + at.src + chunk.pixel * a.pixel_step;
  const int skew = static_cast<int>(reinterpret_cast<std::uintptr_t>(row) & (kBytes - 1)) / kUnit;
  const PixelPlace place = pixel_place(a, threadIdx.x, kUnits, skew);
  const char* const pixel = block + place.pixel * a.pixel_step;
  std::int32_t offset[kUnits];
#pragma unroll
  for (int j = 0; j < kUnits; ++j) offset[j] = a.offset[place.phase][j];

  const std::int64_t first = chunk.pixel * a.pixel.divisor - skew;  // the block's first unit
  char* const to = row + (first + static_cast<int>(threadIdx.x) * kUnits) * kUnit;
  // Units of the row from this thread's first word on; a block's words reach less than 2^30 units.
  const std::int64_t rest = a.row_units - first - static_cast<int>(threadIdx.x) * kUnits;
  const int left = static_cast<int>(rest < (1 << 30) ? rest : 1 << 30);
  const int lacking = first < 0 && threadIdx.x == 0 ? skew : 0;  // units of the first word before the row
  const std::int64_t step_bytes = a.step_pixels * a.pixel_step;
  const int step_units = a.threads * kUnits;
  // Blocks whose words reach beyond the source make them unit by unit.
  const bool inside =
      !window || (block + a.reach_first >= src + a.src_first && block + a.reach_last <= src + a.src_last);
  const char* from = pixel;
  std::uint32_t shift = 0;
  if constexpr (window) {
    from += a.low[place.phase];
    shift = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(from) & 3) * 8;
    from -= shift / 8;
  }
  // All steps shift alike: a step is whole words of src, though a pixel need not be.
  Word words[kSteps];
#pragma unroll
  for (int step = 0; step < kSteps; ++step)
    if (inside && (step > 0 || lacking == 0) && left >= (step * step_units + kUnits))
      words[step].fetch(from + step * step_bytes, offset);
  const std::uint32_t select = a.select[place.phase];
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    char* const word = to + step * a.threads * kBytes;
    const int here = left - step * step_units, before = step == 0 ? lacking : 0;
    if (inside && before == 0 && here >= kUnits) {
      store<kBytes>(word, words[step].made(shift, select));
    } else {
#pragma unroll
      for (int j = 0; j < kUnits; ++j)
        if (j >= before && j < here) store<kUnit>(word + j * kUnit, load<kUnit>(pixel + step * step_bytes + offset[j]));
    }
  }
}

}  // namespace

int launch_rows_pixels(const CudaArgs& args, const Launch& on) noexcept {
  const auto& a = std::get<PixelsArgs>(args.args);
  const auto threads = static_cast<unsigned>(a.threads);
  return with_size<1, 2, 4, 8, 16>(args.units.dst, [&]<int kUnit>() {
    return with_size<1, 2, 4>(a.steps, [&]<int kSteps>() {
      if constexpr (kUnit < 4)
        if (a.window) return enqueue(rows_pixels_kernel<kUnit, true, kSteps>, a, on, a.blocks, threads);
      return enqueue(rows_pixels_kernel<kUnit, false, kSteps>, a, on, a.blocks, threads);
    });
  });
}

}  // namespace restride::cuda
