// Every kernel in every form, by copies small enough for compute-sanitizer, which multiplies their time by hundreds
// (scripts/gpu_test.sh). The result file says which ran under which tool.
#include <gtest/gtest.h>

#include "src/cuda/runtime/device.h"
#include "tests/gpu/every_kernel.h"
#include "tests/gpu/gpu_case.h"

namespace restride::test {
namespace {

TEST(GpuSanitized, EveryKernel) {
  const int device = cuda::current_device();
  const bool bulk = cuda::has_bulk_copies(device);
  GpuBench bench;
  std::uint64_t seed = 1;
  std::string ran, left_out;
  for (const KernelCase& c : kernel_cases()) {
    if (!bulk && c.kernel.starts_with("tile/bulk")) {
      left_out += (left_out.empty() ? "" : ", ") + c.kernel;
      continue;
    }
    SCOPED_TRACE(c.kernel + ": " + c.src + " -> " + c.dst);
    const Plan plan = plan_of(c, device);
    ASSERT_EQ(kernel_of(plan.impl().cuda), c.kernel);
    bench.check_plan(Case{parse_layout(c.dst), parse_layout(c.src)}, plan, c.dst_skew, c.src_skew, ++seed);
    if (HasFatalFailure()) return;
    ran += (ran.empty() ? "" : ", ") + c.kernel;
  }
  std::printf("%lld copies; not in the code that is loaded here: %s\n", static_cast<long long>(bench.copies()),
              left_out.empty() ? "none" : left_out.c_str());
  RecordProperty("kernels", ran);
  RecordProperty("kernels_left_out", left_out);
}

}  // namespace
}  // namespace restride::test
