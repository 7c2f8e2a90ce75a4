// What is told of each kernel of the GPU, in each of its forms, is the copy.
#include "src/cuda/trace.h"

#include "tests/gpu/every_kernel.h"
#include "tests/support/trace_replay.h"

namespace restride {
namespace {

TEST(CudaTrace, OfEveryKernelMovesEveryUnitOnce) {
  for (const test::KernelCase& c : test::kernel_cases()) {
    SCOPED_TRACE(c.kernel + ": " + c.dst + " from " + c.src);
    const Plan plan = test::plan_of(c, kModelDevice);
    test::expect_whole_copy(plan.dst(), plan.src(),
                            [&](std::int64_t piece) { return cuda::trace(plan.impl().cuda, piece); });
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(CudaTrace, OfNothingHasNoPieces) {
  Options options;
  options.device = DeviceKind::kCuda;
  options.cuda_device = kModelDevice;
  const Plan plan(parse_layout("f32 (0,3)"), parse_layout("f32 (0,3)"), options);
  EXPECT_EQ(cuda::trace(plan.impl().cuda, 0).pieces, 0);
}

}  // namespace
}  // namespace restride
