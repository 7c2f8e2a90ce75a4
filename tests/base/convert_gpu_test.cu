// The GPU's conversions against the host's, bit for bit: small_float_cuda.h replaces parts of the integer code.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "tests/base/every_cast.h"

namespace restride::base {
namespace {

using namespace base::test;

template <class Dst, class Src>
__global__ void convert_all(Dst* dst, const Src* src, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) dst[i] = convert<Dst>(src[i]);
}

struct Launch {
  using Fn = void (*)(void* dst, const void* src, int n);
  template <class Dst, class Src>
  static void launch(void* dst, const void* src, int n) {
    convert_all<<<(n + 255) / 256, 256>>>(static_cast<Dst*>(dst), static_cast<const Src*>(src), n);
  }
  template <class Dst, class Src>
  static constexpr Fn get() {
    return &launch<Dst, Src>;
  }
};

class ConvertOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) GTEST_SKIP() << "no NVIDIA GPU";
  }
};

TEST_F(ConvertOnGpu, GivesTheHostsBitsForEveryPair) {
  static constexpr auto kLaunch = make_cast_table<Launch::Fn, Launch>();
  int pairs = 0;
  for_each_pair([&pairs](DType dst, DType src) {
    const Bytes in = sources(src);
    const Bytes want = reference(dst, src, in);
    Bytes got(want.size());
    void* from = nullptr;
    void* to = nullptr;
    ASSERT_EQ(cudaMalloc(&from, in.size()), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&to, want.size()), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(from, in.data(), in.size(), cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(cudaMemset(to, 0xa5, want.size()), cudaSuccess);
    kLaunch(dst, src)(to, from, static_cast<int>(in.size() / static_cast<std::size_t>(size_bytes(src))));
    ASSERT_EQ(cudaMemcpy(got.data(), to, got.size(), cudaMemcpyDeviceToHost), cudaSuccess) << pair_name(dst, src);
    cudaFree(from);
    cudaFree(to);
    EXPECT_EQ(difference(got, want, static_cast<std::size_t>(size_bytes(dst))), "") << pair_name(dst, src);
    ++pairs;
  });
  EXPECT_EQ(pairs, 17 * 17 - 2 * 15);
}

}  // namespace
}  // namespace restride::base
