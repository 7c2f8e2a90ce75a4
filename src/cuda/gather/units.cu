// Moves         one unit a thread, wherever it lies on either side.
// Applies when  always: any rank, any strides, shapes that share no modes, more than 2^31 units.
// Thread map    unit number -> index tuple by division -> byte offsets; consecutive threads, consecutive units of dst.
// Shared memory none.
// Traffic       dst as coalesced as its innermost mode; src up to a sector a unit.
// Source        copy kernels on sizes and byte strides, as ggml's cpy.
#include "src/cuda/cast/cast.cuh"
#include "src/cuda/device.cuh"
#include "src/cuda/dispatch.cuh"
#include "src/cuda/gather/gather.h"
#include "src/cuda/gather/map.h"

namespace restride::cuda {
namespace {

constexpr int kThreads = kGatherThreads;

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

}  // namespace

int launch_gather_units(const CudaArgs& args, const Launch& on) noexcept {
  const auto& a = std::get<GatherArgs>(args.args);
  return with_size<1, 2, 4, 8, 16>(args.units.dst, [&]<int kUnit>() {
    return enqueue(
        a.index_bits == 64 ? gather_units_kernel<kUnit, std::uint64_t> : gather_units_kernel<kUnit, std::uint32_t>, a,
        on, a.blocks, kThreads);
  });
}

int launch_gather_cast(const CudaArgs& args, const Launch& on) noexcept {
  const auto& a = std::get<GatherArgs>(args.args);
  return enqueue(gather_cast_kernel, a, on, a.blocks, kThreads);
}

}  // namespace restride::cuda
