// The index map of packed's kernel that stages nothing: words of dst, whose units a thread finds one by one in src.
//
// Dst is one dense run. A thread finds the digits of its word's first unit by division and counts on from there.
// What it reads is shared with the threads beside it, and they meet in the first cache; the planner sees to that.
#pragma once

#include <cstdint>

#include "src/base/fast_div.h"
#include "src/base/hd.h"

namespace restride::cuda {

inline constexpr int kMaxDirect = 4;  ///< modes of a copy
inline constexpr int kDirectThreads = 128;

struct DirectArgs {
  std::int64_t dst_offset = 0, src_offset = 0;
  std::int32_t units = 0;  ///< below 2^31, as are the words that cover them
  std::int32_t rank = 0;   ///< modes, innermost in dst first
  base::FastDiv extent[kMaxDirect];
  std::int64_t step[kMaxDirect] = {};   ///< bytes of src that one index more of a mode adds
  std::int64_t carry[kMaxDirect] = {};  ///< bytes that are added besides where the index of mode m wraps
  std::uint32_t blocks = 0;
  bool keep = true;  ///< L2 is asked to give up words of src last
};

/// A unit: its digits but the last, and where it lies in src.
template <int kRank>
struct DirectUnit {
  std::uint32_t digit[kRank - 1];
  std::int64_t src;
};

template <int kRank>
RESTRIDE_HD constexpr DirectUnit<kRank> direct_unit(const DirectArgs& a, std::uint32_t n) {
  DirectUnit<kRank> unit{};
  for (int m = 0; m + 1 < kRank; ++m) {
    const std::uint32_t rest = a.extent[m].quotient(n);
    unit.digit[m] = n - rest * a.extent[m].divisor;
    unit.src += unit.digit[m] * a.step[m];
    n = rest;
  }
  unit.src += n * a.step[kRank - 1];
  return unit;
}

/// The unit behind it. Without branches: loads that branches keep apart bring sectors of one line in one after the
/// other, which memory takes worse than all of them at once.
template <int kRank>
RESTRIDE_HD constexpr void direct_next(const DirectArgs& a, DirectUnit<kRank>& unit) {
  unit.src += a.step[0];
  std::uint32_t on = 1;
  for (int m = 0; m + 1 < kRank; ++m) {
    unit.digit[m] += on;
    on = unit.digit[m] == a.extent[m].divisor ? 1 : 0;
    unit.digit[m] = on != 0 ? 0 : unit.digit[m];
    unit.src += on != 0 ? a.carry[m] : 0;
  }
}

}  // namespace restride::cuda
