// Picking units of a staged tile by a table of their places. Included once per instruction set.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_PACKED_TABLE_PICK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_PACKED_TABLE_PICK_INL_H_
#undef RESTRIDE_CPU_PACKED_TABLE_PICK_INL_H_
#else
#define RESTRIDE_CPU_PACKED_TABLE_PICK_INL_H_
#endif

#include "src/cpu/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// n units of the stage, picked by the table, densely into `to` (which has room for a whole vector more).
template <std::size_t kUnit>
HWY_INLINE void pick_by_table(std::uint8_t* HWY_RESTRICT to, const std::uint8_t* HWY_RESTRICT stage,
                              const std::int32_t* HWY_RESTRICT table, std::int64_t n) {
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kUnit <= 2 && HWY_TARGET <= HWY_AVX2) {
    // Words gathered from each unit on, cut to it. The stage ends with more room than a word.
    using Lane = typename LaneOf<kUnit>::type;
    const hn::CappedTag<std::int32_t, 16> d32;
    const hn::Rebind<Lane, decltype(d32)> d;
    const auto low = hn::Set(d32, (1 << (8 * kUnit)) - 1);  // TruncateTo is wrong in Highway 1.0.3 on AVX3_DL
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d32));
    for (; i + lanes <= n; i += lanes) {
      const auto words = hn::GatherOffset(d32, reinterpret_cast<const std::int32_t*>(stage), hn::LoadU(d32, table + i));
      hn::StoreU(hn::DemoteTo(d, hn::And(words, low)), d, reinterpret_cast<Lane*>(to) + i);
    }
  } else if constexpr (kUnit == 4) {
    const hn::CappedTag<std::uint32_t, 16> d;
    const hn::RebindToSigned<decltype(d)> di;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (; i + lanes <= n; i += lanes)
      hn::StoreU(hn::GatherOffset(d, reinterpret_cast<const std::uint32_t*>(stage), hn::LoadU(di, table + i)), d,
                 reinterpret_cast<std::uint32_t*>(to) + i);
  } else if constexpr (kUnit == 8) {
    const hn::CappedTag<std::uint64_t, 8> d;
    const hn::RebindToSigned<decltype(d)> di;
    const hn::Rebind<std::int32_t, decltype(d)> d32;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (; i + lanes <= n; i += lanes)
      hn::StoreU(hn::GatherOffset(d, reinterpret_cast<const std::uint64_t*>(stage),
                                  hn::PromoteTo(di, hn::LoadU(d32, table + i))),
                 d, reinterpret_cast<std::uint64_t*>(to) + i);
  }
#endif
  for (; i < n; ++i) std::memcpy(to + i * static_cast<std::int64_t>(kUnit), stage + table[i], kUnit);
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
