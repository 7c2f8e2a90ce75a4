// One deliberate fault for each tool of compute-sanitizer. A tool that stays silent here would prove nothing about the
// kernels of the library: scripts/gpu_test.sh runs this program first and wants every fault found.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

namespace {

constexpr int kThreads = 64;

/// memcheck: the last thread writes one element past the allocation.
__global__ void out_of_bounds(int* data) { data[threadIdx.x + 1] = static_cast<int>(threadIdx.x); }

/// racecheck: neighbours exchange through shared memory without a barrier between write and read.
__global__ void missing_barrier(int* data) {
  __shared__ int staged[kThreads];
  staged[threadIdx.x] = static_cast<int>(threadIdx.x);
  data[threadIdx.x] = staged[kThreads - 1 - threadIdx.x];
}

/// initcheck: reads memory that nobody wrote.
__global__ void uninitialised(const int* unwritten, int* data) { data[threadIdx.x] = unwritten[threadIdx.x] + 1; }

/// synccheck: a barrier that only one half of the first warp reaches.
__global__ void divergent_barrier(int* data) {
  if (threadIdx.x % 32 < 16) __syncthreads();
  data[threadIdx.x] = 1;
}

int run(const char* tool) {
  int* data = nullptr;
  int* unwritten = nullptr;
  if (cudaMalloc(&data, kThreads * sizeof(int)) != cudaSuccess ||
      cudaMalloc(&unwritten, kThreads * sizeof(int)) != cudaSuccess) {
    std::printf("no GPU: nothing planted\n");
    return 77;
  }
  if (std::strcmp(tool, "memcheck") == 0)
    out_of_bounds<<<1, kThreads>>>(data);
  else if (std::strcmp(tool, "racecheck") == 0)
    missing_barrier<<<1, kThreads>>>(data);
  else if (std::strcmp(tool, "initcheck") == 0)
    uninitialised<<<1, kThreads>>>(unwritten, data);
  else if (std::strcmp(tool, "synccheck") == 0)
    divergent_barrier<<<1, kThreads>>>(data);
  else
    return 2;
  const cudaError_t rc = cudaDeviceSynchronize();
  std::printf("planted a fault for %s: %s\n", tool, cudaGetErrorName(rc));
  (void)cudaFree(data);
  (void)cudaFree(unwritten);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) {
    const int rc = run(argv[1]);
    if (rc != 2) return rc;
  }
  std::fprintf(stderr, "usage: gpu_planted_faults memcheck|racecheck|initcheck|synccheck\n");
  return 2;
}
