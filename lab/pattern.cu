#include "lab/pattern.cuh"

#include <cuda_fp16.h>

#include "lab/rungs/rung.cuh"

namespace restride::lab {
namespace {

constexpr int kThreads = 256, kBlocks = 2048;

// A 32-bit mix of a 64-bit position (the finaliser of MurmurHash3): neighbours share no bits.
__device__ std::uint32_t mix(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  return static_cast<std::uint32_t>(x >> 33);
}

template <class T>
__device__ T source_value(std::int64_t i) {
  if constexpr (sizeof(T) == 4) {
    return __float_as_uint(static_cast<float>(mix(i) >> 8) * 0x1p-13f - 512.0f);
  } else {
    return static_cast<T>(mix(i));
  }
}

template <class T>
__global__ void fill_kernel(T* src, std::int64_t elements) {
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < elements; i += kThreads * kBlocks)
    src[i] = source_value<T>(i);
}

template <class T>
__global__ void count_kernel(Matrix m, Moves moves, const void* dst, unsigned long long* wrong) {
  const std::int64_t elements = m.elements(), area = std::int64_t{m.rows} * m.cols;
  unsigned long long mine = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < elements; i += kThreads * kBlocks) {
    const std::int64_t matrix = i / area, within = i % area;
    const std::int64_t col = within / m.rows, row = within % m.rows;
    const T expected = source_value<T>(moves == Moves::kCopy ? i : matrix * area + row * m.cols + col);
    if (sizeof(T) == 4 && moves == Moves::kTransposeToF16) {
      const __half rounded = __float2half_rn(__uint_as_float(expected));
      mine += at<std::uint16_t>(dst, i * 2) != __half_as_ushort(rounded);
    } else {
      mine += at<T>(dst, i * sizeof(T)) != expected;
    }
  }
  if (mine) atomicAdd(wrong, mine);
}

}  // namespace

void fill_source(void* src, std::int64_t elements, int element_bytes, cudaStream_t stream) {
  with_element_bytes(element_bytes, [&](auto bytes) {
    fill_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<Unit<bytes()>*>(src), elements);
  });
}

void count_wrong(const Task& task, int element_bytes, const void* dst, unsigned long long* wrong, cudaStream_t stream) {
  with_element_bytes(element_bytes, [&](auto bytes) {
    count_kernel<Unit<bytes()>><<<kBlocks, kThreads, 0, stream>>>(task.shape, task.rung->moves, dst, wrong);
  });
}

}  // namespace restride::lab
