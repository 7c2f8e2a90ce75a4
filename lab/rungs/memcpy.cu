// Moves:         dst = src, contiguous bytes.
// Applies when:  the layouts are the same: what a copy can cost at best.
// Thread map:    the driver's own; cudaMemcpyAsync, device to device.
// Shared memory: unknown.
// Traffic:       each byte read once and written once.
// Source and measured: the seed's cudaMemcpy rung; docs/lab.md. The ceiling of every ratio in the lab.
#include "lab/rungs/rung.cuh"

namespace restride::lab {

void launch_memcpy(const Job& job) {
  const auto bytes = static_cast<std::size_t>(job.shape.elements() * job.element_bytes);
  if (cudaMemcpyAsync(job.dst, job.src, bytes, cudaMemcpyDeviceToDevice, job.stream) != cudaSuccess)
    throw LaunchError(std::string("cudaMemcpyAsync: ") + cudaGetErrorString(cudaGetLastError()));
}

}  // namespace restride::lab
