// Moves         one unit a thread, wherever it lies on either side.
// Applies when  always: any rank, any strides, shapes that share no modes, more than 2^31 units.
// Thread map    unit number -> index tuple by division -> byte offsets; consecutive threads, consecutive units of dst.
// Shared memory none.
// Traffic       dst as coalesced as its innermost mode; src up to a sector a unit.
// Source        the seeds' cpy/contiguous kernel on sizes and byte strides.
#include "src/cuda/cast/cast.cuh"
#include "src/cuda/device.cuh"
#include "src/cuda/gather/map.h"
#include "src/cuda/launchers.h"

namespace restride::cuda {
namespace {

constexpr int kThreads = 256;

template <int kUnit, class Index>
__global__ void __launch_bounds__(kThreads)
    gather_units_kernel(const __grid_constant__ GatherArgs a, char* dst, const char* src) {
  const auto units = static_cast<Index>(a.units);
  const Index step = static_cast<Index>(gridDim.x) * kThreads;
  for (Index unit = static_cast<Index>(blockIdx.x) * kThreads + threadIdx.x; unit < units; unit += step) {
    const Offsets at = gather_offsets<Index>(a, unit);
    store<kUnit>(dst + at.dst, load<kUnit>(src + at.src));
  }
}

/// Any pair of dtypes, at any address: bytes in, bytes out.
__global__ void __launch_bounds__(kThreads)
    gather_cast_kernel(const __grid_constant__ GatherArgs a, char* dst, const char* src) {
  const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * kThreads;
  for (std::uint64_t unit = static_cast<std::uint64_t>(blockIdx.x) * kThreads + threadIdx.x;
       unit < static_cast<std::uint64_t>(a.units); unit += step) {
    const Offsets at = gather_offsets<std::uint64_t>(a, unit);
    convert_any(static_cast<DType>(a.dst_dtype), dst + at.dst, static_cast<DType>(a.src_dtype), src + at.src);
  }
}

template <int kUnit>
int launch_move(const GatherArgs& a, bool wide, void* dst, const void* src, CUstream_st* stream) noexcept {
  return enqueue(wide ? gather_units_kernel<kUnit, std::uint64_t> : gather_units_kernel<kUnit, std::uint32_t>, a, dst,
                 src, a.blocks, kThreads, 0, stream);
}

}  // namespace

int launch_gather(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept {
  const auto& a = std::get<GatherArgs>(args.args);
  if (args.key.cast) return enqueue(gather_cast_kernel, a, dst, src, a.blocks, kThreads, 0, stream);
  const bool wide = args.key.variant == 64;
  switch (args.key.dst_unit) {
    case 1: return launch_move<1>(a, wide, dst, src, stream);
    case 2: return launch_move<2>(a, wide, dst, src, stream);
    case 4: return launch_move<4>(a, wide, dst, src, stream);
    case 8: return launch_move<8>(a, wide, dst, src, stream);
    default: return launch_move<16>(a, wide, dst, src, stream);
  }
}

}  // namespace restride::cuda
