#include "lab/maps/lanes.h"

#include <gtest/gtest.h>

#include <cstring>

namespace restride::lab {
namespace {

// Row r's word holds the elements 16 r + 0 .. 16 r + kK - 1; vector k must hold 16 r + k for every row.
template <int kBytes>
void expect_transposed() {
  constexpr int kV = 16 / kBytes, kK = 4 / kBytes;
  std::uint32_t words[kV] = {};
  for (int row = 0; row < kV; ++row)
    for (int k = 0; k < kK; ++k) {
      const std::uint32_t value = 16 * row + k;
      std::memcpy(reinterpret_cast<char*>(&words[row]) + k * kBytes, &value, kBytes);
    }
  std::uint32_t out[kK][4] = {};
  transpose_cell<kBytes>(words, out);
  for (int k = 0; k < kK; ++k)
    for (int row = 0; row < kV; ++row) {
      std::uint32_t value = 0;
      std::memcpy(&value, reinterpret_cast<const char*>(out[k]) + row * kBytes, kBytes);
      EXPECT_EQ(value, static_cast<std::uint32_t>(16 * row + k)) << "element bytes " << kBytes;
    }
}

TEST(TransposeCell, TurnsRowsOfAWordIntoVectors) {
  expect_transposed<4>();
  expect_transposed<2>();
  expect_transposed<1>();
}

TEST(PickBytes, TakesNibblesAsByteNumbersLowWordFirst) {
  EXPECT_EQ(pick_bytes(0x33221100u, 0x77665544u, 0x7531), 0x77553311u);
  EXPECT_EQ(pick_bytes(0x33221100u, 0x77665544u, 0x5140), 0x55114400u);
}

}  // namespace
}  // namespace restride::lab
