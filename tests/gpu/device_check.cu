#include "tests/gpu/device_check.h"

#include "tests/gpu/device_memory.h"

namespace restride::test {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 132 * 16;
constexpr int kRank = 8;

/// A layout as the kernel walks it, innermost mode first; plain divisions, for a reviewer's eye.
struct Walk {
  int rank = 0;
  std::int64_t extent[kRank] = {};
  std::int64_t stride[kRank] = {};
  std::int64_t offset = 0;

  explicit Walk(const Layout& l) : rank(l.rank()), offset(l.offset_bytes) {
    for (int i = 0; i < rank; ++i) {
      const Mode& m = l.modes[static_cast<std::size_t>(rank - 1 - i)];
      extent[i] = m.extent;
      stride[i] = m.stride_bytes;
    }
  }
  __device__ std::int64_t at(std::int64_t n) const {
    std::int64_t byte = offset;
    for (int i = 0; i < rank; ++i) {
      byte += n % extent[i] * stride[i];
      n /= extent[i];
    }
    return byte;
  }
};

__global__ void fill_kernel(std::uint64_t* data, std::int64_t words, std::uint64_t seed) {
  for (std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x; i < words;
       i += std::int64_t{gridDim.x} * kThreads) {
    std::uint64_t h = (static_cast<std::uint64_t>(i) + seed) * 0x9e3779b97f4a7c15ULL;
    h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9ULL;
    data[i] = h ^ (h >> 32);
  }
}

__global__ void compare_kernel(const std::uint8_t* dst, Walk to, const std::uint8_t* src, Walk from,
                               std::int64_t elements, int element_bytes, unsigned long long* differences) {
  unsigned long long found = 0;
  for (std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x; i < elements;
       i += std::int64_t{gridDim.x} * kThreads) {
    const std::uint8_t* a = dst + to.at(i);
    const std::uint8_t* b = src + from.at(i);
    bool same = true;
    for (int k = 0; k < element_bytes; ++k) same = same && a[k] == b[k];
    found += !same;
  }
  if (found != 0) atomicAdd(differences, found);
}

__global__ void count_kernel(const std::uint8_t* data, std::int64_t bytes, std::uint8_t value,
                             unsigned long long* others) {
  unsigned long long found = 0;
  for (std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x; i < bytes;
       i += std::int64_t{gridDim.x} * kThreads)
    found += data[i] != value;
  if (found != 0) atomicAdd(others, found);
}

__global__ void empty_kernel() {}

__global__ void delay_kernel(std::int64_t ns) {
  std::int64_t now = 0, begin = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < ns);
}

/// Runs `launch(counter)` and returns the count.
template <class Launch>
std::int64_t counted(cudaStream_t stream, Launch launch) {
  DeviceBuffer counter(sizeof(unsigned long long));
  auto* count = reinterpret_cast<unsigned long long*>(counter.data());
  RESTRIDE_CHECK_CUDA(cudaMemsetAsync(count, 0, sizeof *count, stream));
  launch(count);
  RESTRIDE_CHECK_CUDA(cudaGetLastError());
  unsigned long long found = 0;
  RESTRIDE_CHECK_CUDA(cudaMemcpyAsync(&found, count, sizeof found, cudaMemcpyDeviceToHost, stream));
  RESTRIDE_CHECK_CUDA(cudaStreamSynchronize(stream));
  return static_cast<std::int64_t>(found);
}

}  // namespace

void fill_hashed(void* data, std::int64_t bytes, std::uint64_t seed, cudaStream_t stream) {
  fill_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<std::uint64_t*>(data), bytes / 8, seed);
  RESTRIDE_CHECK_CUDA(cudaGetLastError());
}

std::int64_t count_differences(const void* dst, const Layout& dst_layout, const void* src, const Layout& src_layout,
                               cudaStream_t stream) {
  if (dst_layout.rank() > kRank || src_layout.rank() > kRank)
    throw std::runtime_error("count_differences: rank above 8");
  return counted(stream, [&](unsigned long long* count) {
    compare_kernel<<<kBlocks, kThreads, 0, stream>>>(
        static_cast<const std::uint8_t*>(dst), Walk(dst_layout), static_cast<const std::uint8_t*>(src),
        Walk(src_layout), dst_layout.elements(), static_cast<int>(dst_layout.element.size_bytes), count);
  });
}

std::int64_t count_bytes_other_than(const void* data, std::int64_t bytes, std::uint8_t value, cudaStream_t stream) {
  return counted(stream, [&](unsigned long long* count) {
    count_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<const std::uint8_t*>(data), bytes, value, count);
  });
}

void launch_delay(std::int64_t microseconds, cudaStream_t stream) {
  delay_kernel<<<1, 1, 0, stream>>>(microseconds * 1000);
}

void launch_empty(cudaStream_t stream) { empty_kernel<<<1, 32, 0, stream>>>(); }

}  // namespace restride::test
