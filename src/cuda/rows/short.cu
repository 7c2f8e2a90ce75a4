// Moves         short rows with gaps between them in dst: columns of a matrix, fields of wider records.
// Applies when  rows are up to 128 units, at constant steps on both sides; units of any size.
// Thread map    a lane a unit, or a row of 2 to 4 bytes; a block has whole rows, a thread its part of up to 8 rows.
// Shared memory none.
// Traffic       src's sectors once; dst's twice where they are written in part, because memory takes whole sectors and
//               L2 must read what the others hold. Asked for beforehand, they come in order and in time.
// Source        measured rows in bench/results.
#include "src/cuda/device.cuh"
#include "src/cuda/dispatch.cuh"
#include "src/cuda/rows/rows.h"
#include "src/cuda/rows/short_map.h"

namespace restride::cuda {
namespace {

/// What a lane has of a row: a unit, or some of one byte.
template <int kUnit, int kUnits>
struct Part {
  Bits<kUnit> unit;
  __device__ void fetch(const char* from, std::int64_t) { unit = load<kUnit>(from); }
  __device__ void write(char* to) const { store<kUnit>(to, unit); }
};
template <int kUnits>
requires(kUnits > 1) struct Part<1, kUnits> {
  std::uint8_t unit[kUnits];
  __device__ void fetch(const char* from, std::int64_t step) {
#pragma unroll
    for (int j = 0; j < kUnits; ++j) unit[j] = load<1>(from + j * step);
  }
  /// The fewest stores, each of them aligned.
  __device__ void write(char* to) const {
    const int odd = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) & 1);
    if (odd != 0) store<1>(to, unit[0]);
#pragma unroll
    for (int j = 0; j + 1 < kUnits; ++j)
      if (j % 2 == odd) store<2>(to + j, join<1, 2>({unit[j], unit[j + 1]}));
    if (kUnits % 2 != odd) store<1>(to + kUnits - 1, unit[kUnits - 1]);
  }
};

template <int kUnit, int kUnits, int kSteps>
__global__ void __launch_bounds__(kMostShortThreads)
    rows_short_kernel(const __grid_constant__ ShortRowsArgs a, char* dst, const char* src) {
  const ShortRowsPlace place = short_rows_place(a, blockIdx.x, threadIdx.x);
  const Offsets at = row_offsets(a.outer, place.item);
  char* const to = dst + (a.dst_offset + at.dst + place.row * a.dst_step + place.unit * kUnit);
  const char* const from = src + (a.src_offset + at.src + place.row * a.src_step + place.unit * a.src_inside);
  const std::int64_t dst_hop = a.step_rows * a.dst_step, src_hop = a.step_rows * a.src_step;
  const std::int64_t rest = a.rows - place.row;
  const int left = static_cast<int>(rest < (1 << 30) ? rest : 1 << 30);
  if (a.fetch_sectors) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
      if (step * a.step_rows < left) fetch_sector(to + step * dst_hop);
  }
  Part<kUnit, kUnits> parts[kSteps];
#pragma unroll
  for (int step = 0; step < kSteps; ++step)
    if (step * a.step_rows < left) parts[step].fetch(from + step * src_hop, a.src_inside);
#pragma unroll
  for (int step = 0; step < kSteps; ++step)
    if (step * a.step_rows < left) parts[step].write(to + step * dst_hop);
}

template <int kUnit, int kUnits = 1>
int launch_unit(const ShortRowsArgs& a, const Launch& on) noexcept {
  return with_size<1, 4, 8>(a.steps, [&]<int kSteps>() {
    return enqueue(rows_short_kernel<kUnit, kUnits, kSteps>, a, on, a.blocks, static_cast<unsigned>(a.threads));
  });
}

}  // namespace

int launch_rows_short(const CudaArgs& args, const Launch& on) noexcept {
  const auto& a = std::get<ShortRowsArgs>(args.args);
  if (a.lane_units > 1)
    return with_size<2, 3, 4>(a.lane_units, [&]<int kUnits>() { return launch_unit<1, kUnits>(a, on); });
  return with_size<1, 2, 4, 8, 16>(args.units.dst, [&]<int kUnit>() { return launch_unit<kUnit>(a, on); });
}

}  // namespace restride::cuda
