// Choosing by time on the GPU: every candidate is run on scratch memory, and what they write is compared.
#include <gtest/gtest.h>

#include <restride/restride.hpp>

#include "tests/gpu/device_memory.h"
#include "tests/property/random_layout.h"

namespace restride::test {
namespace {

TEST(GpuMeasure, TimesTheCandidatesOnceAndRecordsThem) {
  Measurements kept;
  Options options;
  options.device = DeviceKind::kCuda;
  options.measure = true;
  options.measurements = &kept;
  // An offset and odd strides: scratch memory must lie as the tensors will.
  const Layout src = slice(permute(contiguous(DType::kF32, {700, 33, 130}), {1, 2, 0}), 2, -1, std::nullopt, -3);
  std::vector<std::int64_t> extents;
  for (const Mode& m : src.modes) extents.push_back(m.extent);
  const Layout dst = contiguous(DType::kF32, extents);
  const Plan plan(dst, src, options);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_NE(plan.explain().find("measured"), std::string::npos) << plan.explain();
  Measurements again = Measurements::from_json(kept.to_json());
  options.measure = false;
  options.measurements = &again;
  EXPECT_EQ(Plan(dst, src, options).serialize(), plan.serialize());
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

}  // namespace
}  // namespace restride::test
