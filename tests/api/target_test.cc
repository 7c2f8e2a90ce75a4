// The rules of where a copy runs.
#include "src/api/target.h"

#include <gtest/gtest.h>

#include <restride/error.hpp>

namespace restride::api {
namespace {

constexpr Place kNull{MemoryKind::kNone, -1};
constexpr Place kHost{MemoryKind::kHost, -1};
constexpr Place kPinned{MemoryKind::kPinned, -1};
constexpr Place kManaged{MemoryKind::kManaged, -1};
constexpr Place kGpu0{MemoryKind::kDevice, 0};
constexpr Place kGpu1{MemoryKind::kDevice, 1};
constexpr Target kCpuTarget{DeviceKind::kCpu, -1};

Target choose(const Place& dst, const Place& src, DeviceKind asked = DeviceKind::kAuto, int device = -1) {
  Options options;
  options.device = asked;
  options.cuda_device = device;
  return choose_target(dst, src, options);
}

std::string refusal(const Place& dst, const Place& src, DeviceKind asked = DeviceKind::kAuto, int device = -1) {
  try {
    choose(dst, src, asked, device);
  } catch (const DeviceError& e) {
    return e.what();
  }
  return "";
}

TEST(ChooseTarget, HostMemoryIsTheCpus) {
  EXPECT_EQ(choose(kHost, kHost), kCpuTarget);
  EXPECT_EQ(choose(kPinned, kHost), kCpuTarget);
  EXPECT_EQ(choose(kPinned, kPinned), kCpuTarget);
  EXPECT_EQ(choose(kNull, kNull), kCpuTarget);
}

TEST(ChooseTarget, DeviceMemoryNamesItsDevice) {
  EXPECT_EQ(choose(kGpu1, kGpu1), (Target{DeviceKind::kCuda, 1}));
  EXPECT_EQ(choose(kGpu1, kGpu1, DeviceKind::kCuda), (Target{DeviceKind::kCuda, 1}));
  EXPECT_EQ(choose(kNull, kGpu1), (Target{DeviceKind::kCuda, 1}));
}

TEST(ChooseTarget, ManagedMemoryGoesWithTheOtherSide) {
  EXPECT_EQ(choose(kManaged, kGpu0), (Target{DeviceKind::kCuda, 0}));
  EXPECT_EQ(choose(kHost, kManaged), kCpuTarget);
  EXPECT_EQ(choose(kManaged, kManaged), (Target{DeviceKind::kCuda, -1}));
  EXPECT_EQ(choose(kManaged, kManaged, DeviceKind::kCpu), kCpuTarget);
}

TEST(ChooseTarget, PinnedMemoryIsTheGpusOnlyWhenAsked) {
  EXPECT_EQ(choose(kPinned, kGpu0, DeviceKind::kCuda), (Target{DeviceKind::kCuda, 0}));
  EXPECT_EQ(choose(kPinned, kPinned, DeviceKind::kCuda, 1), (Target{DeviceKind::kCuda, 1}));
  EXPECT_NE(refusal(kPinned, kGpu0).find("Options::device = kCuda"), std::string::npos);
}

TEST(ChooseTarget, RefusesHostAndDeviceMixed) {
  EXPECT_EQ(refusal(kHost, kGpu0),
            "dst is in host memory, src on cuda:0; copies between host and device are not supported: bring one side "
            "over with "
            "cudaMemcpyAsync first");
  EXPECT_NE(refusal(kGpu0, kHost), "");
  EXPECT_NE(refusal(kGpu0, kHost, DeviceKind::kCuda), "");
}

TEST(ChooseTarget, RefusesTwoDevices) {
  EXPECT_EQ(refusal(kGpu0, kGpu1),
            "dst is on cuda:0, src on cuda:1; bring both to one device first, with cudaMemcpyPeerAsync for instance");
}

TEST(ChooseTarget, RefusesTheWrongDevice) {
  EXPECT_NE(refusal(kGpu0, kGpu0, DeviceKind::kCpu).find("the CPU was asked for"), std::string::npos);
  EXPECT_NE(refusal(kHost, kHost, DeviceKind::kCuda).find("a GPU was asked for"), std::string::npos);
  EXPECT_EQ(refusal(kGpu0, kGpu0, DeviceKind::kAuto, 1),
            "the memory is on cuda:0, but Options::cuda_device is 1; leave it at -1, or give memory of that device");
}

TEST(Refusal, IsByTheSameRulesForOnePointer) {
  const Target gpu{DeviceKind::kCuda, 0};
  for (const Place& p : {kNull, kHost, kPinned, kManaged}) EXPECT_EQ(refusal(kCpuTarget, p), "");
  for (const Place& p : {kNull, kPinned, kManaged, kGpu0}) EXPECT_EQ(refusal(gpu, p), "");
  EXPECT_EQ(refusal(kCpuTarget, kGpu1),
            "is on cuda:1, but the plan is for memory of the host; plan with device = kCuda, on all ranks");
  EXPECT_EQ(refusal(gpu, kHost),
            "is in host memory, but the plan is for cuda:0; give it memory of that GPU, or plan for the host");
  EXPECT_EQ(refusal(gpu, kGpu1),
            "is on cuda:1, but the plan is for cuda:0; give it memory of that GPU, or plan for another cuda_device");
}

}  // namespace
}  // namespace restride::api
