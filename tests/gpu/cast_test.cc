// Every conversion on the GPU gives the CPU's bits, over runs, rows and transposes.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "tests/gpu/gpu_case.h"

namespace restride::test {
namespace {

TEST(GpuCast, EveryPairOfDtypesGivesTheCpusBits) {
  GpuBench bench;
  std::uint64_t seed = 7;
  int pairs = 0;
  for (int d = 0; d < kDTypeCount; ++d)
    for (int s = 0; s < kDTypeCount; ++s) {
      const Element to = static_cast<DType>(d);
      const Element from = static_cast<DType>(s);
      if (d == s || !castable(to, from)) continue;
      ++pairs;
      const std::vector<Case> cases = {
          {contiguous(to, {70001}), contiguous(from, {70001})},  // all 16-bit patterns are likely, and a ragged end
          {contiguous(to, {130, 97}), permute(contiguous(from, {97, 130}), {1, 0})},
          {contiguous(to, {3, 500}), permute(contiguous(from, {500, 3}), {1, 0})},
          {contiguous(to, {2, 3, 1600}), permute(contiguous(from, {2, 1600, 3}), {0, 2, 1})},  // pixels of whole words
          {contiguous(to, {2, 1600, 4}), permute(contiguous(from, {2, 4, 1600}), {0, 2, 1})},
          {contiguous(to, {96, 160}), permute(contiguous(from, {160, 96}), {1, 0})},
          {slice(contiguous(to, {40, 80}), 1, 3, 70), slice(contiguous(from, {40, 90}), 1, 1, 68)}};
      for (const Case& c : cases) {
        SCOPED_TRACE(to_string(c.src) + " -> " + to_string(c.dst));
        bench.check(c, 0, 0, ++seed);
        if (HasFatalFailure()) return;
      }
    }
  std::printf("%d pairs of dtypes, %lld copies: %s\n", pairs, static_cast<long long>(bench.copies()),
              bench.claims().c_str());
}

/// Random bits are seldom infinities, ties or the edges of integer ranges; these values are chosen.
TEST(GpuCast, EdgesOfFloatsGiveTheCpusBits) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> edges = {
      0.0,          -0.0,         0.5,           1.5,    2.5,          -0.5,        -1.0,    127.0,    128.0,
      -128.5,       255.5,        256.0,         448.0,  464.0,        465.0,       480.0,   57344.0,  61440.0,
      65504.0,      65519.9,      65520.0,       1e-8,   6e-8,         3e-8,        2.98e-8, 0.001953, 0.00097,
      2147483647.0, 2147483648.0, -2147483649.0, 9.3e18, 1.9e19,       3.4e38,      3.5e38,  1e-45,    7e-46,
      1e308,        kInfinity,    -kInfinity,    kNan,   4294967295.0, 4294967296.0};
  Stream stream;
  const auto n = static_cast<std::int64_t>(edges.size());
  for (const DType middle : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2})
    for (int d = 0; d < kDTypeCount; ++d) {
      const DType to = static_cast<DType>(d);
      std::vector<std::uint8_t> from(static_cast<std::size_t>(n * size_bytes(middle)));
      std::vector<std::uint8_t> on_cpu(static_cast<std::size_t>(n * size_bytes(to))), on_gpu(on_cpu.size(), 0xa5);
      copy(Tensor{from.data(), contiguous(middle, {n})}, ConstTensor{edges.data(), contiguous(DType::kF64, {n})});
      copy(Tensor{on_cpu.data(), contiguous(to, {n})}, ConstTensor{from.data(), contiguous(middle, {n})});
      DeviceBuffer src(from.size()), dst(on_gpu.size());
      upload(src.data(), from, stream);
      upload(dst.data(), on_gpu, stream);
      Options options;
      options.stream = static_cast<cudaStream_t>(stream);
      copy(Tensor{dst.data(), contiguous(to, {n})}, ConstTensor{src.data(), contiguous(middle, {n})}, options);
      download(on_gpu, dst.data(), stream);
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t b = 0; b < size_bytes(to); ++b) {
          const auto at = static_cast<std::size_t>(i * size_bytes(to) + b);
          ASSERT_EQ(on_gpu[at], on_cpu[at])
              << edges[static_cast<std::size_t>(i)] << " as " << name(middle) << " to " << name(to);
        }
    }
}

TEST(GpuCast, SignallingNansGiveTheCpusBits) {
  Stream stream;
  const std::vector<std::uint32_t> singles = {0x7f80'0001u, 0xff80'0001u, 0x7fa0'0000u, 0xffbf'ffffu, 0x7fc0'0001u};
  const std::vector<std::uint64_t> doubles = {0x7ff0'0000'0000'0001u, 0xfff0'0000'2000'0000u, 0x7ff4'0000'0000'0000u,
                                              0xfff7'ffff'ffff'ffffu, 0x7ff8'0000'0000'0001u};
  const auto n = static_cast<std::int64_t>(singles.size());
  const auto check = [&](DType from, const void* bits, DType to, const char* family) {
    std::vector<std::uint8_t> in(static_cast<std::size_t>(n * size_bytes(from)));
    std::memcpy(in.data(), bits, in.size());
    std::vector<std::uint8_t> on_cpu(static_cast<std::size_t>(n * size_bytes(to))), on_gpu(on_cpu.size(), 0xa5);
    copy(Tensor{on_cpu.data(), contiguous(to, {n})}, ConstTensor{in.data(), contiguous(from, {n})});
    DeviceBuffer src(in.size()), dst(on_gpu.size());
    upload(src.data(), in, stream);
    Options options;
    options.stream = static_cast<cudaStream_t>(stream);
    options.family = family;
    copy(Tensor{dst.data(), contiguous(to, {n})}, ConstTensor{src.data(), contiguous(from, {n})}, options);
    download(on_gpu, dst.data(), stream);
    EXPECT_EQ(on_gpu, on_cpu) << name(from) << " to " << name(to) << " by " << family;
  };
  for (const char* family : {"run", "gather"})
    for (const DType to : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64, DType::kC64, DType::kC128}) {
      if (to != DType::kF32) check(DType::kF32, singles.data(), to, family);
      if (to != DType::kF64) check(DType::kF64, doubles.data(), to, family);
    }
}

}  // namespace
}  // namespace restride::test
