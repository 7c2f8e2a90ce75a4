// Picking units that lie in one stride into a dense buffer: reversed, repeated, spread out, or converted on the way.
// Included once per instruction set.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_SIMD_PICK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_SIMD_PICK_INL_H_
#undef RESTRIDE_CPU_SIMD_PICK_INL_H_
#else
#define RESTRIDE_CPU_SIMD_PICK_INL_H_
#endif

#include "src/cpu/args.h"
#include "src/cpu/far_apart.h"
#include "src/cpu/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Scalar, and good enough for widths that no vector gather takes; compilers unroll it.
template <std::size_t kUnit>
HWY_INLINE void pick_one_by_one(std::uint8_t* HWY_RESTRICT to, const std::uint8_t* HWY_RESTRICT from,
                                std::int64_t stride, std::int64_t n) {
  const bool apart = is_far_apart(stride);
  for (std::int64_t i = 0; i < n; ++i) {
    if (apart) wait_a_little();
    std::memcpy(to + i * static_cast<std::int64_t>(kUnit), from + i * stride, kUnit);
  }
}

#if HWY_TARGET != HWY_SCALAR
/// Whole vectors of D at any stride, or as far as D has a way to read there; the last one overlaps. Returns how many of
/// the n units are done.
template <std::size_t kUnit, class D>
HWY_INLINE std::int64_t pick_vectors(D d, std::uint8_t* HWY_RESTRICT to, const std::uint8_t* HWY_RESTRICT from,
                                     std::int64_t stride, std::int64_t n) {
  using Lane = hn::TFromD<D>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (n < lanes) return 0;
  auto* out = reinterpret_cast<Lane*>(to);
  const auto all = [&](const auto& vector_at) {
    for (std::int64_t i = 0; i + lanes <= n; i += lanes) hn::StoreU(vector_at(i), d, out + i);
    if (n % lanes != 0) hn::StoreU(vector_at(n - lanes), d, out + n - lanes);
    return n;
  };
  if (stride == 0) {
    Lane value;
    std::memcpy(&value, from, kUnit);
    const auto v = hn::Set(d, value);
    return all([&](std::int64_t) RESTRIDE_INLINE_LAMBDA { return v; });
  }
  if (stride == -static_cast<std::int64_t>(kUnit)) {
    return all([&](std::int64_t i) RESTRIDE_INLINE_LAMBDA {
      const auto v =
          hn::LoadU(d, reinterpret_cast<const Lane*>(from - (i + lanes - 1) * static_cast<std::int64_t>(kUnit)));
      if constexpr (kUnit >= 2) {
        return hn::Reverse(d, v);
      } else {
        // Bytes: reverse the 16-bit pairs, then the bytes in each.
        const hn::Repartition<std::uint16_t, D> d16;
        const auto pairs = hn::Reverse(d16, hn::BitCast(d16, v));
        return hn::BitCast(d, hn::Or(hn::ShiftLeft<8>(pairs), hn::ShiftRight<8>(pairs)));
      }
    });
  }
  if constexpr (kUnit == 4 && HWY_TARGET <= HWY_AVX2) {
    if (stride > -(1 << 24) && stride < (1 << 24)) {
      const hn::RebindToSigned<D> di;
      const auto offsets = hn::Mul(hn::Iota(di, 0), hn::Set(di, static_cast<std::int32_t>(stride)));
      return all([&](std::int64_t i) RESTRIDE_INLINE_LAMBDA {
        return hn::GatherOffset(d, reinterpret_cast<const Lane*>(from + i * stride), offsets);
      });
    }
  }
  return 0;
}
#endif

template <std::size_t kUnit>
void pick(std::uint8_t* HWY_RESTRICT to, const std::uint8_t* HWY_RESTRICT from, std::int64_t stride, std::int64_t n) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kUnit <= 8) {
    using Lane = typename LaneOf<kUnit>::type;
    if (pick_vectors<kUnit>(hn::CappedTag<Lane, 64 / kUnit>(), to, from, stride, n) == n) return;
    if (pick_vectors<kUnit>(hn::CappedTag<Lane, 16 / kUnit>(), to, from, stride, n) == n) return;
  }
#endif
  pick_one_by_one<kUnit>(to, from, stride, n);
}

/// n units from `from`, a.row_src_stride apart, converted if the plan converts, densely to `to`.
HWY_NOINLINE inline void pick_units(const StridedArgs& a, std::uint8_t* HWY_RESTRICT to,
                                    const std::uint8_t* HWY_RESTRICT from, std::int64_t n) {
  if (a.cast_run != nullptr) {
    if (a.row_src_stride == a.src_unit)
      a.cast_run(to, from, static_cast<std::size_t>(n));
    else
      a.cast_strided(to, a.dst_unit, from, a.row_src_stride, static_cast<std::size_t>(n));
    return;
  }
  switch (a.dst_unit) {
    case 1: return pick<1>(to, from, a.row_src_stride, n);
    case 2: return pick<2>(to, from, a.row_src_stride, n);
    case 4: return pick<4>(to, from, a.row_src_stride, n);
    case 8: return pick<8>(to, from, a.row_src_stride, n);
    default: return pick<16>(to, from, a.row_src_stride, n);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
