// A profiler shows the kernel that a plan names: what is launched for each kernel of the registry, in each of its
// forms.
#include "src/cuda/kernels.h"

#include <gtest/gtest.h>

#include <string>

#include "src/cuda/runtime/device.h"
#include "tests/gpu/device_memory.h"
#include "tests/gpu/every_kernel.h"

namespace restride::test {
namespace {

/// The mangled name of the one kernel that `plan` launches. It is captured into a graph, so nothing runs.
std::string launched_by(const Plan& plan, void* dst, const void* src) {
  Stream stream;
  Options on_stream;
  on_stream.stream = static_cast<cudaStream_t>(stream);
  RESTRIDE_CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  const int rc = plan.run(dst, src, on_stream);
  cudaGraph_t graph = nullptr;
  RESTRIDE_CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
  EXPECT_EQ(rc, 0);
  std::size_t count = 1;
  cudaGraphNode_t node = nullptr;
  RESTRIDE_CHECK_CUDA(cudaGraphGetNodes(graph, &node, &count));
  EXPECT_EQ(count, 1u);
  cudaKernelNodeParams params{};
  RESTRIDE_CHECK_CUDA(cudaGraphKernelNodeGetParams(node, &params));
  const char* name = nullptr;
  RESTRIDE_CHECK_CUDA(cudaFuncGetName(&name, params.func));
  std::string out = name;
  RESTRIDE_CHECK_CUDA(cudaGraphDestroy(graph));
  return out;
}

TEST(GpuKernels, WhatIsLaunchedIsCalledAsThePlanSays) {
  const int device = cuda::current_device();
  const bool bulk = cuda::has_bulk_copies(device);
  DeviceBuffer dst(4096), src(4096);  // only their addresses count
  for (const KernelCase& c : kernel_cases()) {
    if (!bulk && c.kernel.starts_with("tile/bulk")) continue;
    SCOPED_TRACE(c.kernel);
    const Plan plan = plan_of(c, device);
    const cuda::Kernel* const row = cuda::find_kernel(plan.kernel());
    ASSERT_NE(row, nullptr);
    // Mangled, a name stands behind its length: packed_records_kernel is not packed_records_cast_kernel.
    const std::string mangled = std::to_string(row->symbol.size()) + std::string(row->symbol);
    const std::string launched = launched_by(plan, dst.data() + c.dst_skew, src.data() + c.src_skew);
    EXPECT_NE(launched.find(mangled), std::string::npos) << launched;
  }
}

}  // namespace
}  // namespace restride::test
