// The index map of rows of pixels: in dst a row is pixels of a few units each, one after the other; in src the pixels
// lie at one step and the units inside a pixel at another, both of any sign and size. Colours in another order, images
// mirrored or thinned out, planes woven into pixels are such rows; with pixels of one unit so are strided rows.
//
// A thread makes words of 4 bytes (or of one unit, where that is more), so that a warp's loads stay within a few
// lines. A block's threads make up whole pixels, so all words of a thread start at the same place of a pixel, its
// phase. Which source bytes a word needs depends on the phase alone and is a table of the plan.
#pragma once

#include <cstdint>

#include "src/cuda/walk.h"

namespace restride::cuda {

inline constexpr int kMostPhases = 16;          ///< units of a pixel at most
inline constexpr int kMostPixelsThreads = 256;  ///< of a block

struct PixelsArgs {
  Walk rows;  ///< over the modes outside the row
  std::int64_t dst_offset = 0, src_offset = 0;
  std::int64_t src_first = 0, src_last = 0;  ///< bytes relative to src that belong to the source
  std::int64_t pixel_step = 0;               ///< bytes of src from pixel to pixel
  std::int64_t row_units = 0;
  base::FastDiv pixel;           ///< units of a pixel
  base::FastDiv chunks;          ///< blocks a row takes
  std::int32_t threads = 0;      ///< of a block; they make up whole pixels
  std::int32_t step_pixels = 0;  ///< pixels that they make at a step
  std::int32_t steps = 1;        ///< words a thread makes
  std::uint32_t blocks = 0;
  /// Bytes that a block reads before and behind its first pixel, words that are read for a part of them included.
  std::int64_t reach_first = 0, reach_last = 0;
  /// By phase: where a word's units lie, from the first unit of the pixel in which it starts, in bytes.
  std::int32_t offset[kMostPhases][4] = {};
  /// The same where they lie within 8 bytes of src: the first of the 8, and which of them go where (a PRMT selector).
  std::int32_t low[kMostPhases] = {};
  std::uint16_t select[kMostPhases] = {};
  bool window = false;  ///< every word's bytes lie within 8 of src: a word is a permutation of these
};

/// Where a block works: the row, the pixel with which it starts, and what that is in units.
struct PixelChunk {
  std::uint32_t row = 0;
  std::int64_t pixel = 0;
};
RESTRIDE_HD constexpr PixelChunk pixel_chunk(const PixelsArgs& a, std::uint32_t block) {
  const std::uint32_t row = a.chunks.quotient(block), chunk = block - row * a.chunks.divisor;
  return {row, static_cast<std::int64_t>(chunk) * a.steps * a.step_pixels};
}

/// The pixel, from the block's first, and the phase at which the thread's first word starts. `skew` = units by which
/// the row starts behind a word's boundary; words start that much earlier.
struct PixelPlace {
  std::int32_t pixel = 0, phase = 0;
};
RESTRIDE_HD constexpr PixelPlace pixel_place(const PixelsArgs& a, std::int32_t thread, int units, int skew) {
  constexpr std::int32_t kAhead = 4;  // pixels, more than a skew
  const auto unit = static_cast<std::uint32_t>(thread * units - skew) + kAhead * a.pixel.divisor;
  const std::uint32_t pixel = a.pixel.quotient(unit);
  return {static_cast<std::int32_t>(pixel) - kAhead, static_cast<std::int32_t>(unit - pixel * a.pixel.divisor)};
}

}  // namespace restride::cuda
