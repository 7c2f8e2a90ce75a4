// A library with or without GPU code, on a machine with or without a driver: it loads, says what it found, and the
// CPU's copies go on. What needs a GPU is in tests/gpu.
#include "src/cuda/runtime/device.h"

#include <gtest/gtest.h>

#include <restride/device.hpp>
#include <restride/error.hpp>

namespace restride::cuda {
namespace {

TEST(CudaStatus, SaysWhyThereIsNoDeviceOrNamesOne) {
  const CudaStatus status = cuda_status();
  EXPECT_EQ(status.devices.empty(), !status.reason.empty()) << status.reason;
  EXPECT_EQ(status.built, !status.architectures.empty());
  if (status.devices.empty()) {
    EXPECT_NE(status.reason.find(status.built ? "driver" : "RESTRIDE_CUDA=ON"), std::string::npos) << status.reason;
  }
}

TEST(PlaceOf, HostMemoryIsTheHostsWithAndWithoutADriver) {
  int on_stack = 0;
  EXPECT_EQ(place_of(&on_stack), (Place{MemoryKind::kHost, -1}));
  EXPECT_EQ(place_of(nullptr), (Place{MemoryKind::kNone, -1}));
}

TEST(DeviceOfStream, IsUnknownForTheDefaultStream) { EXPECT_EQ(device_of_stream(nullptr), -1); }

TEST(RequireDevice, NamesTheReasonAndTheRemedy) {
  try {
    require_device(63);
    FAIL() << "no machine has 64 GPUs";
  } catch (const DeviceError& e) {
    const std::string said = e.what();
    EXPECT_TRUE(said.find("no GPU: ") == 0 || said.find("there is no cuda:63") == 0) << said;
  }
}

}  // namespace
}  // namespace restride::cuda
