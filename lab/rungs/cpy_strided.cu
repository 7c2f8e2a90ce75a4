// Moves:         any four modes of each side into each other, one element a thread; f32 -> f16 on the way.
// Applies when:  always right, whatever the strides; shapes may differ when the element counts agree.
// Thread map:    thread n: n divided by the extents of each side, digits times byte strides, then the access.
// Shared memory: none.
// Traffic:       whatever the strides ask: a transposed source costs 32 sectors a load; six 64-bit divisions.
// Source and measured: the seed's cpy on sizes and byte strides; docs/lab.md.
#include <cuda_fp16.h>

#include "lab/maps/strided.h"
#include "lab/rungs/rung.cuh"

namespace restride::lab {

struct MoveBits {
  template <class T>
  __device__ T operator()(T value) const {
    return value;
  }
};
struct RoundToF16 {
  __device__ __half operator()(float value) const { return __float2half_rn(value); }
};

template <class Map, class From, class To, class Convert>
__global__ void __launch_bounds__(Map::kThreads) cpy_strided_rung(Map map, const void* src, void* dst) {
  const Access from = map.load(blockIdx.x, threadIdx.x, 0);
  const Access to = map.store(blockIdx.x, threadIdx.x, 0);
  if (to.elems) at<To>(dst, to.byte) = Convert{}(at<From>(src, from.byte));
}

void launch_cpy_strided(const Job& job) {
  with_element_bytes(job.element_bytes, [&](auto bytes) {
    using Map = CopyStrided<bytes()>;
    using T = Unit<bytes()>;
    launch_tiles<Map>(job, cpy_strided_rung<Map, T, T, MoveBits>);
  });
}

void launch_cpy_strided_f16(const Job& job) {
  if (job.element_bytes != 4) throw LaunchError("cpy_strided_f16 casts f32; its elements have 4 bytes");
  using Map = CopyStrided<4, 2>;
  launch_tiles<Map>(job, cpy_strided_rung<Map, float, __half, RoundToF16>);
}

}  // namespace restride::lab
