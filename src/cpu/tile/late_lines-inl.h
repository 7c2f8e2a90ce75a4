// Lines that leave in an order that memory takes at its full rate. Included once per instruction set.
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_TILE_LATE_LINES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_TILE_LATE_LINES_INL_H_
#undef RESTRIDE_CPU_TILE_LATE_LINES_INL_H_
#else
#define RESTRIDE_CPU_TILE_LATE_LINES_INL_H_
#endif

#include "src/cpu/simd/stream-inl.h"
#include "src/cpu/simd/transpose-inl.h"
#include "src/cpu/tile/args.h"
#include "src/cpu/tile/kernel.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {

/// If columns lie an even number of lines apart, the lines that one row of columns writes are all even or all odd.
/// Memory serves the two lines of 128 bytes separately, so it takes lines of one kind at half its rate. Therefore each
/// odd column is one line late, and even and odd lines leave in turn. Narrower blocks do not need it: they write a few
/// lines of a column before the next column's.
template <std::size_t kUnit>
inline constexpr bool kLateLines = (Block<kUnit>::kVectorBytes == kLine) && (Block<kUnit>::kCols >= 8);

/// True when column j of a block is late; `odd_late` is TileArgs::late.
template <std::size_t kUnit>
HWY_INLINE bool is_late(std::size_t j, bool odd_late) {
  return kLateLines<kUnit> && j % 2 != 0 && odd_late;
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
