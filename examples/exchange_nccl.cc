// NCCL in one process, a thread for each GPU: rows become columns, and their order in memory changes on the way.
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <restride/distributed.hpp>
namespace dist = restride::distributed;
using restride::DType;

namespace {

constexpr std::int64_t kRows = 60, kColumns = 84;

bool rank_is_right(int gpu, int gpus, ncclComm_t world) {
  cudaSetDevice(gpu);
  const auto comm = dist::nccl(world);  // collective; communicators of its own
  const std::string shape = "(60,84) as ", over = " over (" + std::to_string(gpus).append(")");
  const dist::Distribution rows = dist::parse_distribution(shape + "(block[0],*)" + over);
  const dist::Distribution columns = dist::parse_distribution(shape + "(*,block[0])" + over + " order (1,0)");
  const std::vector<std::int64_t> mine = dist::local_shape(rows, gpu), got = dist::local_shape(columns, gpu);
  std::vector<std::int32_t> in(static_cast<std::size_t>(mine[0] * mine[1])),
      out(static_cast<std::size_t>(got[0] * got[1]));
  for (std::int64_t i = 0; i < mine[0]; ++i)
    for (std::int64_t j = 0; j < kColumns; ++j)
      in[static_cast<std::size_t>(i * kColumns + j)] =
          static_cast<std::int32_t>(dist::global_index(rows, gpu, 0, 0, i) * kColumns + j);

  cudaStream_t stream = nullptr;
  void *src = nullptr, *dst = nullptr;
  cudaStreamCreate(&stream);
  cudaMalloc(&src, in.size() * 4 + 4);
  cudaMalloc(&dst, out.size() * 4 + 4);
  bool right = true;
  {
    dist::Plan plan = dist::plan({rows, DType::kI32, {}}, {columns, DType::kI32, {}}, *comm);
    cudaMemcpyAsync(src, in.data(), in.size() * 4, cudaMemcpyHostToDevice, stream);
    plan.run(dst, src, stream);  // enqueued when it returns
    cudaMemcpyAsync(out.data(), dst, out.size() * 4, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    for (std::int64_t j = 0; j < got[1]; ++j)
      for (std::int64_t i = 0; i < kRows; ++i)
        right = right && out[static_cast<std::size_t>(j * kRows + i)] ==
                             i * kColumns + dist::global_index(columns, gpu, 0, 1, j);
    if (gpu == 0) std::printf("%s", plan.explain().c_str());
  }
  cudaFree(src);
  cudaFree(dst);
  cudaStreamDestroy(stream);
  return right;
}

}  // namespace

int main() {
  // Not every host survives multicast between its GPUs: off, before NCCL begins, unless the user has set it otherwise.
  for (const auto& [name, value] : {std::pair("NCCL_NVLS_ENABLE", "0"), std::pair("NVSHMEM_DISABLE_NVLS", "1"),
                                    std::pair("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")})
    setenv(name, value, 0);
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
    std::printf("no GPU: nothing was run\n");
    return 77;
  }
  std::vector<ncclComm_t> worlds(static_cast<std::size_t>(gpus));
  if (ncclCommInitAll(worlds.data(), gpus, nullptr) != ncclSuccess) return 1;
  std::vector<int> right(worlds.size(), 0);
  std::vector<std::thread> ranks;
  for (int gpu = 0; gpu < gpus; ++gpu)
    ranks.emplace_back([&, gpu] {
      const auto at = static_cast<std::size_t>(gpu);
      try {
        right[at] = rank_is_right(gpu, gpus, worlds[at]) ? 1 : 0;
      } catch (const restride::Error& e) {
        std::fprintf(stderr, "rank %d: %s\n", gpu, e.what());
      }
    });
  for (std::thread& rank : ranks) rank.join();
  for (ncclComm_t world : worlds) ncclCommDestroy(world);
  for (const int r : right)
    if (r == 0) return 1;
  return 0;
}
