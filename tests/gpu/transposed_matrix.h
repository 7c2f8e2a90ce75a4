// The copy that tests of streams and devices make: a matrix of floats, transposed.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/gpu/device_memory.h"
#include "tests/gpu/gpu_case.h"

namespace restride::test {

inline constexpr std::int64_t kRows = 1000;
inline constexpr std::int64_t kCols = 517;
inline constexpr std::size_t kBytes = kRows * kCols * 4;

inline Layout transposed() { return permute(contiguous(DType::kF32, {kRows, kCols}), {1, 0}); }
inline Layout dense() { return contiguous(DType::kF32, {kCols, kRows}); }

inline std::vector<std::uint8_t> pattern(std::uint64_t seed) {
  std::vector<std::uint8_t> bytes(kBytes);
  Rng rng(seed);
  for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    const std::uint64_t word = rng();
    std::memcpy(&bytes[i], &word, 8);
  }
  return bytes;
}

inline std::vector<std::uint8_t> expected(const std::vector<std::uint8_t>& src) {
  std::vector<std::uint8_t> out(kBytes);
  naive_copy(dense(), out.data(), transposed(), src.data());
  return out;
}

inline Options on(cudaStream_t stream) {
  Options options;
  options.stream = stream;
  return options;
}

}  // namespace restride::test
