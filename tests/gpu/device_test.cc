// What copy and Plan promise about devices: where memory lies, which one a copy runs on, the contexts of the caller.
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include <restride/error.hpp>

#include "src/cuda/runtime/device.h"
#include "src/cuda/runtime/driver.h"
#include "tests/gpu/transposed_matrix.h"

namespace restride::test {
namespace {

TEST(GpuDevice, KnowsWhereMemoryLies) {
  using cuda::MemoryKind;
  using cuda::place_of;
  DeviceBuffer device(256);
  void* pinned = nullptr;
  void* managed = nullptr;
  RESTRIDE_CHECK_CUDA(cudaMallocHost(&pinned, 256));
  RESTRIDE_CHECK_CUDA(cudaMallocManaged(&managed, 256));
  std::vector<int> host(64);
  // A new thread has no current context; the answer must not depend on one.
  std::thread([&] {
    EXPECT_EQ(place_of(device.data() + 17), (cuda::Place{MemoryKind::kDevice, 0}));
    EXPECT_EQ(place_of(pinned).kind, MemoryKind::kPinned);
    EXPECT_EQ(place_of(managed).kind, MemoryKind::kManaged);
    EXPECT_EQ(place_of(host.data()).kind, MemoryKind::kHost);
  }).join();
  RESTRIDE_CHECK_CUDA(cudaFreeHost(pinned));
  RESTRIDE_CHECK_CUDA(cudaFree(managed));
}

TEST(GpuDevice, IsFoundByTheElementsWhereTheDataPointerLiesOutside) {
  const std::vector<std::uint8_t> in = pattern(8);
  DeviceBuffer src(kBytes), dst(kBytes);
  Stream stream;
  upload(src.data(), in, stream);
  Layout far_src = transposed(), far_dst = dense();
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  far_src.offset_bytes = kFar;
  far_dst.offset_bytes = kFar;
  copy(Tensor{dst.data() - kFar, far_dst}, ConstTensor{src.data() - kFar, far_src}, on(stream));
  std::vector<std::uint8_t> out(kBytes);
  download(out, dst.data(), stream);
  EXPECT_TRUE(out == expected(in));
}

TEST(GpuDevice, RefusesHostAndDeviceMixedInWords) {
  DeviceBuffer device(kBytes);
  std::vector<std::uint8_t> host(kBytes);
  try {
    copy(Tensor{device.data(), dense()}, ConstTensor{host.data(), transposed()});
    FAIL();
  } catch (const DeviceError& e) {
    EXPECT_NE(std::string(e.what()).find("dst is on cuda:0, src in host memory"), std::string::npos) << e.what();
  }
}

/// A tensor's empty slices begin where its allocation ends, or where another one begins.
TEST(GpuDevice, CopiesOfNothingTakeAnyPointers) {
  DeviceBuffer device(kBytes);
  std::vector<float> host(4);
  const Layout rows = contiguous(DType::kF32, {0, kCols}), more = contiguous(DType::kF16, {0, kCols});
  Stream stream;
  for (const DeviceKind kind : {DeviceKind::kAuto, DeviceKind::kCpu, DeviceKind::kCuda}) {
    Options options = on(stream);
    options.device = kind;
    void* const places[] = {device.data(), device.data() + kBytes, host.data(), nullptr};
    for (void* to : places)
      for (const void* from : places) {
        EXPECT_NO_THROW(copy(Tensor{to, rows}, ConstTensor{from, rows}, options));
        EXPECT_NO_THROW(copy(Tensor{to, rows}, ConstTensor{from, more}, options));
      }
  }
  Options cuda;
  cuda.device = DeviceKind::kCuda;
  EXPECT_EQ(Plan(rows, rows, cuda).run(device.data() + kBytes, host.data()), 0);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST(GpuDevice, ReachesPinnedAndManagedMemoryWhenAsked) {
  const std::vector<std::uint8_t> in = pattern(5);
  void* pinned = nullptr;
  RESTRIDE_CHECK_CUDA(cudaMallocHost(&pinned, kBytes));
  std::memcpy(pinned, in.data(), kBytes);
  DeviceBuffer dst(kBytes);
  Stream stream;
  Options options = on(stream);
  options.device = DeviceKind::kCuda;
  copy(Tensor{dst.data(), dense()}, ConstTensor{pinned, transposed()}, options);
  std::vector<std::uint8_t> out(kBytes);
  download(out, dst.data(), stream);
  EXPECT_TRUE(out == expected(in));
  RESTRIDE_CHECK_CUDA(cudaFreeHost(pinned));
}

bool two_gpus() {
  int count = 0;
  RESTRIDE_CHECK_CUDA(cudaGetDeviceCount(&count));
  return count >= 2;
}

int current() {
  int device = -1;
  RESTRIDE_CHECK_CUDA(cudaGetDevice(&device));
  return device;
}

bool has_context(int device) {
  unsigned flags = 0;
  int active = -1;
  if (cuda::driver().primary_state(device, &flags, &active) != CUDA_SUCCESS) std::abort();
  return active != 0;
}

/// The whole of a process: memory of cuda:1, copied and planned for by a thread that never chose a device.
[[noreturn]] void copy_beside_an_unused_device() {
  RESTRIDE_CHECK_CUDA(cudaSetDevice(1));
  const std::vector<std::uint8_t> in = pattern(31);
  std::vector<std::uint8_t> out(kBytes);
  int wrong = has_context(0);
  {
    DeviceBuffer src(kBytes), dst(kBytes);
    Stream of_one;
    upload(src.data(), in, of_one);
    std::thread([&] {
      wrong += 2 * (current() != 0);
      copy(Tensor{dst.data(), dense()}, ConstTensor{src.data(), transposed()}, on(of_one));
      wrong += 4 * (current() != 0);
    }).join();
    download(out, dst.data(), of_one);
  }
  wrong += 8 * has_context(0) + 16 * !has_context(1) + 32 * (out != expected(in));
  std::fprintf(stderr, "wrong: %d\n", wrong);
  std::_Exit(wrong);
}

TEST(GpuDeviceDeathTest, ACopyMakesNoContextOnADeviceThatIsNotUsed) {
  if (!two_gpus()) GTEST_SKIP() << "needs two GPUs";
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process of its own, in which no device was used yet
  EXPECT_EXIT(copy_beside_an_unused_device(), ::testing::ExitedWithCode(0), "wrong: 0");
}

/// Memory of cuda:1 and what is in it, while cuda:0 is current.
struct OfCudaOne {
  explicit OfCudaOne(std::uint64_t seed) : in(pattern(seed)) {
    RESTRIDE_CHECK_CUDA(cudaSetDevice(1));
    src = std::make_unique<DeviceBuffer>(kBytes);
    dst = std::make_unique<DeviceBuffer>(kBytes);
    stream = std::make_unique<Stream>();
    upload(src->data(), in, *stream);
    stream->synchronize();
    RESTRIDE_CHECK_CUDA(cudaSetDevice(0));
  }
  void run() const { copy(Tensor{dst->data(), dense()}, ConstTensor{src->data(), transposed()}, on(*stream)); }
  bool right() const {
    std::vector<std::uint8_t> out(kBytes);
    download(out, dst->data(), *stream);
    return out == expected(in);
  }
  std::vector<std::uint8_t> in;
  std::unique_ptr<DeviceBuffer> src, dst;
  std::unique_ptr<Stream> stream;
};

TEST(GpuDevice, AContextOfTheCallersOwnStaysCurrent) {
  if (!two_gpus()) GTEST_SKIP() << "needs two GPUs";
  const OfCudaOne one(32);
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  const auto create = reinterpret_cast<CUresult (*)(CUcontext*, unsigned, CUdevice)>(dlsym(library, "cuCtxCreate_v2"));
  const auto get = reinterpret_cast<CUresult (*)(CUcontext*)>(dlsym(library, "cuCtxGetCurrent"));
  const auto destroy = reinterpret_cast<CUresult (*)(CUcontext)>(dlsym(library, "cuCtxDestroy_v2"));
  ASSERT_TRUE(create != nullptr && get != nullptr && destroy != nullptr);
  CUcontext own = nullptr, after = nullptr;
  ASSERT_EQ(create(&own, 0, 0), CUDA_SUCCESS);  // not cuda:0's primary one
  one.run();
  EXPECT_EQ(get(&after), CUDA_SUCCESS);
  EXPECT_EQ(after, own);
  EXPECT_EQ(current(), 0);
  EXPECT_EQ(destroy(own), CUDA_SUCCESS);
  RESTRIDE_CHECK_CUDA(cudaSetDevice(0));
  EXPECT_TRUE(one.right());
}

TEST(GpuDevice, ACopyOfAnotherDevicesMemoryCanBeCaptured) {
  if (!two_gpus()) GTEST_SKIP() << "needs two GPUs";
  const OfCudaOne one(33);
  RESTRIDE_CHECK_CUDA(cudaStreamBeginCapture(*one.stream, cudaStreamCaptureModeGlobal));
  one.run();
  cudaGraph_t graph = nullptr;
  RESTRIDE_CHECK_CUDA(cudaStreamEndCapture(*one.stream, &graph));
  EXPECT_EQ(current(), 0);
  cudaGraphExec_t exec = nullptr;
  RESTRIDE_CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  RESTRIDE_CHECK_CUDA(cudaGraphLaunch(exec, *one.stream));
  EXPECT_TRUE(one.right());
  RESTRIDE_CHECK_CUDA(cudaGraphExecDestroy(exec));
  RESTRIDE_CHECK_CUDA(cudaGraphDestroy(graph));
}

TEST(GpuDevice, RunsOnTheMemorysDeviceAndPutsTheCurrentOneBack) {
  if (!two_gpus()) GTEST_SKIP() << "needs two GPUs";
  RESTRIDE_CHECK_CUDA(cudaSetDevice(1));
  DeviceBuffer src(kBytes), dst(kBytes);
  Stream of_one;
  const std::vector<std::uint8_t> in = pattern(6);
  upload(src.data(), in, of_one);
  RESTRIDE_CHECK_CUDA(cudaSetDevice(0));
  DeviceBuffer elsewhere(kBytes);
  Stream of_zero;
  copy(Tensor{dst.data(), dense()}, ConstTensor{src.data(), transposed()}, on(of_one));
  EXPECT_EQ(current(), 0);
  std::vector<std::uint8_t> out(kBytes);
  download(out, dst.data(), of_one);
  EXPECT_TRUE(out == expected(in));
  EXPECT_THROW(copy(Tensor{dst.data(), dense()}, ConstTensor{elsewhere.data(), transposed()}), DeviceError);
  EXPECT_THROW(copy(Tensor{dst.data(), dense()}, ConstTensor{src.data(), transposed()}, on(of_zero)), DeviceError);
}

}  // namespace
}  // namespace restride::test
