// What is loaded on a GPU decides what may run there: bulk tensor copies need code of sm_90, which a build for older
// chips has not, whatever the GPU is. CUDA_FORCE_PTX_JIT=1 and a build with 80-virtual show it on one of sm_90.
#include <gtest/gtest.h>

#include "src/api/plan_impl.h"
#include "src/cuda/runtime/device.h"
#include "src/cuda/runtime/loaded_code.h"
#include "tests/gpu/device_check.h"
#include "tests/gpu/device_memory.h"

namespace restride::test {
namespace {

/// A transpose that bulk tensor copies bid for.
const Layout kTo = contiguous(DType::kF32, {2048, 1024});
const Layout kFrom = permute(contiguous(DType::kF32, {1024, 2048}), {1, 0});
constexpr std::int64_t kSideBytes = 2048 * 1024 * 4;

bool by_bulk(const plan::Candidate& k) { return k.kernel.text == "tile/bulk"; }

TEST(GpuCode, BulkCopiesAreOfferedWhereTheLoadedCodeHasThem) {
  const int device = cuda::current_device();
  const cuda::CudaMachine machine = cuda::machine_of(device);
  const int code = cuda::loaded_code();
  std::printf("sm_%d%d runs code compiled for %d\n", machine.cc_major, machine.cc_minor, code);
  RecordProperty("compiled_for", std::to_string(code));
  ASSERT_GE(code, 75) << "no kernel of this build runs here";
  EXPECT_LE(code, machine.cc_major * 10 + machine.cc_minor);
  const bool has = code >= cuda::kBulkCode;
  EXPECT_EQ(machine.bulk_copies, has);
  EXPECT_EQ(cuda::has_bulk_copies(device), has);

  Options options;
  options.device = DeviceKind::kCuda;
  const Plan plan(kTo, kFrom, options, 128, 128);
  bool offered = by_bulk(plan.impl().decision.chosen);
  for (const plan::Candidate& k : plan.impl().decision.others) offered = offered || (k.applies && by_bulk(k));
  EXPECT_EQ(offered, has) << plan.explain();
  EXPECT_EQ(plan.explain().find("compiled for sm_90") == std::string::npos, has || machine.cc_major < 9)
      << plan.explain();
}

/// A plan made for a machine that has them: it is launched by what the device has.
TEST(GpuCode, APlanByBulkCopiesIsRightOnWhateverIsLoaded) {
  Options options;
  options.device = DeviceKind::kCuda;
  const Plan here(kTo, kFrom, options, 128, 128);
  plan::Decision decision = cuda::plan_cuda(here.impl().canonical, cuda::CudaMachine{});
  const plan::Candidate* bulk = by_bulk(decision.chosen) ? &decision.chosen : nullptr;
  for (const plan::Candidate& k : decision.others)
    if (k.applies && by_bulk(k)) bulk = &k;
  ASSERT_NE(bulk, nullptr);
  const plan::Candidate chosen = *bulk;
  decision.chosen = chosen;
  const Plan plan(api::with_decision(here.impl(), decision));

  DeviceBuffer src(kSideBytes + 8), dst(kSideBytes);
  Stream stream;
  fill_hashed(src.data(), kSideBytes + 8, 5, stream);
  RESTRIDE_CHECK_CUDA(cudaMemsetAsync(dst.data(), 0xc3, kSideBytes, stream));
  Options on_stream;
  on_stream.stream = static_cast<cudaStream_t>(stream);
  ASSERT_EQ(plan.run(dst.data(), src.data(), on_stream), 0) << plan.explain();
  EXPECT_EQ(count_differences(dst.data(), kTo, src.data(), kFrom, stream), 0) << plan.explain();
}

}  // namespace
}  // namespace restride::test
