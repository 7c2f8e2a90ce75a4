// What copy and Plan promise about streams, graphs, threads and the caller's errors.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include <restride/error.hpp>

#include "tests/gpu/transposed_matrix.h"

namespace restride::test {
namespace {

TEST(GpuStream, CopyIsOrderedOnTheStreamAndDoesNotSynchronise) {
  const std::vector<std::uint8_t> first = pattern(1), second = pattern(2);
  DeviceBuffer src(kBytes), dst(kBytes), next(kBytes);
  std::vector<std::uint8_t> out(kBytes, 0x5a);
  Stream other;
  upload(src.data(), first, other);
  upload(dst.data(), out, other);
  upload(next.data(), second, other);
  other.synchronize();
  // Planned and loaded before the stream is held up: the promise is about running.
  copy(Tensor{dst.data(), dense()}, ConstTensor{src.data(), transposed()}, on(other));
  upload(dst.data(), out, other);
  other.synchronize();
  HeldStream held;
  RESTRIDE_CHECK_CUDA(cudaMemcpyAsync(src.data(), next.data(), kBytes, cudaMemcpyDeviceToDevice, held.stream()));
  copy(Tensor{dst.data(), dense()}, ConstTensor{src.data(), transposed()},
       on(held.stream()));  // returns although nothing can run
  std::vector<std::uint8_t> meanwhile(kBytes);
  download(meanwhile, dst.data(), other);
  EXPECT_TRUE(meanwhile == out) << "the copy ran before what was enqueued ahead of it";
  held.release();
  download(out, dst.data(), other);
  EXPECT_TRUE(out == expected(second)) << "the copy did not see what was enqueued ahead of it";
}

TEST(GpuStream, APlanRunsOnTheStreamItWasMadeWith) {
  const std::vector<std::uint8_t> in = pattern(9);
  DeviceBuffer src(kBytes), dst(kBytes);
  std::vector<std::uint8_t> out(kBytes, 0x5a);
  Stream other;
  upload(src.data(), in, other);
  upload(dst.data(), out, other);
  other.synchronize();
  HeldStream held;
  Options options = on(held.stream());
  options.device = DeviceKind::kCuda;
  const Plan plan(dense(), transposed(), options);
  EXPECT_EQ(plan.run(dst.data(), src.data()), 0);
  std::vector<std::uint8_t> meanwhile(kBytes);
  download(meanwhile, dst.data(), other);
  EXPECT_TRUE(meanwhile == out) << "it ran on another stream";
  held.release();
  download(out, dst.data(), other);
  EXPECT_TRUE(out == expected(in));
}

TEST(GpuStream, AColdCopyCanBeCapturedAndTheGraphReplayed) {
  for (const std::string_view family : {std::string_view{}, kFamilies[2], kFamilies[3], kFamilies[4]}) {
    SCOPED_TRACE("family " + std::string(family));
    DeviceBuffer src(kBytes), dst(kBytes);
    Stream stream;
    Options options = on(stream);
    options.family = family;
    RESTRIDE_CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    bool claimed = true;
    try {
      copy(Tensor{dst.data(), dense()}, ConstTensor{src.data(), transposed()}, options);
    } catch (const ArgumentError&) {
      claimed = false;
    }
    cudaGraph_t graph = nullptr;
    RESTRIDE_CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    if (!claimed) continue;
    cudaGraphExec_t exec = nullptr;
    RESTRIDE_CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    std::size_t nodes = 0;
    RESTRIDE_CHECK_CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT_EQ(nodes, 1u) << "a copy is one kernel";
    for (std::uint64_t seed : {11, 12}) {
      const std::vector<std::uint8_t> in = pattern(seed);
      std::vector<std::uint8_t> out(kBytes, 0xee);
      upload(src.data(), in, stream);
      upload(dst.data(), out, stream);
      RESTRIDE_CHECK_CUDA(cudaGraphLaunch(exec, stream));
      download(out, dst.data(), stream);
      EXPECT_TRUE(out == expected(in));
    }
    RESTRIDE_CHECK_CUDA(cudaGraphExecDestroy(exec));
    RESTRIDE_CHECK_CUDA(cudaGraphDestroy(graph));
  }
}

TEST(GpuStream, ACopyByBulkTensorCopiesCanBeCapturedAndTheGraphReplayed) {
  const Layout to = contiguous(DType::kF32, {1024, 2048}),
               from = permute(contiguous(DType::kF32, {2048, 1024}), {1, 0});
  const std::size_t bytes = 1024 * 2048 * 4;
  DeviceBuffer src(bytes), dst(bytes);
  Stream stream;
  const Options options = on(stream);
  RESTRIDE_CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  copy(Tensor{dst.data(), to}, ConstTensor{src.data(), from}, options);
  cudaGraph_t graph = nullptr;
  RESTRIDE_CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t exec = nullptr;
  RESTRIDE_CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  std::vector<std::uint8_t> in(bytes), out(bytes), want(bytes);
  for (std::uint64_t seed : {13, 14}) {
    Rng rng(seed);
    for (std::uint8_t& byte : in) byte = static_cast<std::uint8_t>(rng());
    naive_copy(to, want.data(), from, in.data());
    upload(src.data(), in, stream);
    RESTRIDE_CHECK_CUDA(cudaGraphLaunch(exec, stream));
    download(out, dst.data(), stream);
    EXPECT_TRUE(out == want);
  }
  RESTRIDE_CHECK_CUDA(cudaGraphExecDestroy(exec));
  RESTRIDE_CHECK_CUDA(cudaGraphDestroy(graph));
}

TEST(GpuStream, TwoStreamsAtOnce) {
  const std::vector<std::uint8_t> a = pattern(3), b = pattern(4);
  DeviceBuffer src_a(kBytes), src_b(kBytes), dst_a(kBytes), dst_b(kBytes);
  Stream one, two;
  upload(src_a.data(), a, one);
  upload(src_b.data(), b, two);
  for (int i = 0; i < 50; ++i) {
    copy(Tensor{dst_a.data(), dense()}, ConstTensor{src_a.data(), transposed()}, on(one));
    copy(Tensor{dst_b.data(), dense()}, ConstTensor{src_b.data(), transposed()}, on(two));
  }
  std::vector<std::uint8_t> out(kBytes);
  download(out, dst_a.data(), one);
  EXPECT_TRUE(out == expected(a));
  download(out, dst_b.data(), two);
  EXPECT_TRUE(out == expected(b));
}

TEST(GpuStream, OnePlanFromManyThreads) {
  Options cuda;
  cuda.device = DeviceKind::kCuda;
  const Plan plan(dense(), transposed(), cuda);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const std::vector<std::uint8_t> in = pattern(20 + t);
      const std::vector<std::uint8_t> want = expected(in);
      DeviceBuffer src(kBytes), dst(kBytes);
      Stream stream;
      upload(src.data(), in, stream);
      std::vector<std::uint8_t> out(kBytes);
      for (int i = 0; i < 20; ++i) {
        if (i % 2 == 0)
          wrong += plan.run(dst.data(), src.data(), on(stream)) != 0;
        else
          copy(Tensor{dst.data(), dense()}, ConstTensor{src.data(), transposed()}, on(stream));
        download(out, dst.data(), stream);
        wrong += out != want;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(GpuStream, TheCallersLastErrorStays) {
  DeviceBuffer src(kBytes), dst(kBytes);
  (void)cudaGetLastError();
  // An invalid device leaves cudaErrorInvalidDevice behind, as a caller's own mistake would.
  ASSERT_EQ(cudaSetDevice(12345), cudaErrorInvalidDevice);
  copy(Tensor{dst.data(), dense()}, ConstTensor{src.data(), transposed()});
  Options cuda;
  cuda.device = DeviceKind::kCuda;
  EXPECT_EQ(Plan(dense(), transposed(), cuda).run(dst.data(), src.data()), 0);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  (void)cudaGetLastError();
  // And what we refuse leaves nothing.
  std::vector<std::uint8_t> host(kBytes);
  EXPECT_THROW(copy(Tensor{dst.data(), dense()}, ConstTensor{host.data(), transposed()}), DeviceError);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST(GpuStream, RunningAllocatesNothingOnTheDevice) {
  DeviceBuffer src(kBytes), dst(kBytes);
  copy(Tensor{dst.data(), dense()}, ConstTensor{src.data(), transposed()});
  RESTRIDE_CHECK_CUDA(cudaDeviceSynchronize());
  std::size_t before = 0, after = 0, total = 0;
  RESTRIDE_CHECK_CUDA(cudaMemGetInfo(&before, &total));
  for (int i = 0; i < 100; ++i) copy(Tensor{dst.data(), dense()}, ConstTensor{src.data(), transposed()});
  RESTRIDE_CHECK_CUDA(cudaDeviceSynchronize());
  RESTRIDE_CHECK_CUDA(cudaMemGetInfo(&after, &total));
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace restride::test
