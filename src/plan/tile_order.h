// In which order tiles, or rows, are walked: the values of the parameter `order`, on any engine.
#pragma once

#include <cstdint>

namespace restride::plan {

/// Which tiles follow each other. Outer modes whose steps in dst are shorter than those along s are near.
enum class TileOrder : std::uint8_t {
  kDst,   ///< those along dst's rows, then the near outer modes, s, the other outer modes
  kNear,  ///< the near outer modes first
  kSrc,   ///< those along src's rows, then as kDst
};

}  // namespace restride::plan
