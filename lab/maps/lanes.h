// Transposes of small elements inside 32-bit registers: the step between gathered words and whole vectors.
#pragma once

#include <cstdint>

#include "src/base/hd.h"

namespace restride::lab {

/// Four bytes picked out of the eight of (low, high): nibble i of `pick` names the source of byte i. One
/// PRMT instruction on the device.
RESTRIDE_HD constexpr std::uint32_t pick_bytes(std::uint32_t low, std::uint32_t high, std::uint32_t pick) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(low, high, pick);
#else
  const std::uint64_t both = std::uint64_t{high} << 32 | low;
  std::uint32_t out = 0;
  for (int i = 0; i < 4; ++i) out |= static_cast<std::uint32_t>(both >> (pick >> 4 * i & 7) * 8 & 0xff) << 8 * i;
  return out;
#endif
}

/// words[r] holds row r's kK = 4 / kBytes neighbours; out[k][j] gets the elements k of rows j kK .. j kK + kK - 1.
/// `kV` = 16 / kBytes rows in, kK vectors of four words out.
template <int kBytes>
RESTRIDE_HD constexpr void transpose_cell(const std::uint32_t (&words)[16 / kBytes],
                                          std::uint32_t (&out)[4 / kBytes][4]) {
  for (int j = 0; j < 4; ++j) {
    if constexpr (kBytes == 4) {
      out[0][j] = words[j];
    } else if constexpr (kBytes == 2) {
      out[0][j] = pick_bytes(words[2 * j], words[2 * j + 1], 0x5410);
      out[1][j] = pick_bytes(words[2 * j], words[2 * j + 1], 0x7632);
    } else {
      const std::uint32_t* w = words + 4 * j;
      const std::uint32_t low01 = pick_bytes(w[0], w[1], 0x5140), high01 = pick_bytes(w[0], w[1], 0x7362);
      const std::uint32_t low23 = pick_bytes(w[2], w[3], 0x5140), high23 = pick_bytes(w[2], w[3], 0x7362);
      out[0][j] = pick_bytes(low01, low23, 0x5410);
      out[1][j] = pick_bytes(low01, low23, 0x7632);
      out[2][j] = pick_bytes(high01, high23, 0x5410);
      out[3][j] = pick_bytes(high01, high23, 0x7632);
    }
  }
}

}  // namespace restride::lab
