// The GPU tests' entry: says which device they run on, or that there is none and nothing was tested.
#include <gtest/gtest.h>

#include <cstdio>

#include <restride/restride.hpp>

namespace {
constexpr int kSkipped = 77;  // what ctest and automake take for "skipped"
}

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const restride::CudaStatus status = restride::cuda_status();
  if (status.devices.empty() && !GTEST_FLAG_GET(list_tests)) {
    std::printf("GPU tests SKIPPED, nothing was tested: %s\n", status.reason.c_str());
    return kSkipped;
  }
  for (const restride::CudaDevice& d : status.devices)
    std::printf("cuda:%d  %s, sm_%d%d, %lld MiB; driver serves CUDA %d, built with CUDA %d for %s\n", d.index,
                d.name.c_str(), d.cc_major, d.cc_minor, static_cast<long long>(d.memory_bytes >> 20),
                status.driver_version, status.runtime_version, status.architectures.c_str());
  return RUN_ALL_TESTS();
}
