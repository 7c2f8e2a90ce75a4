#include "src/kernels/cpu/channels.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/cpu/channels.cc"
#include <hwy/foreach_target.h>
#include "src/kernels/cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// Points that are converted at once: their planes fit the first cache beside the source.
constexpr std::int64_t kCastPoints = 512;

template <std::size_t kUnit, int kChannels>
struct Mover {
  using Lane = typename LaneOf<kUnit>::type;
  static constexpr auto kUnitBytes = static_cast<std::int64_t>(kUnit);

#if HWY_TARGET != HWY_SCALAR
  using D = hn::CappedTag<Lane, 64 / sizeof(Lane)>;
  using V = hn::Vec<D>;

  /// As many points as a vector has lanes, from point i on.
  static HWY_INLINE void split_some(std::uint8_t* const* planes, const Lane* from, std::int64_t i) {
    const D d;
    V v0, v1, v2, v3;
    if constexpr (kChannels == 2)
      hn::LoadInterleaved2(d, from + i * kChannels, v0, v1);
    else if constexpr (kChannels == 3)
      hn::LoadInterleaved3(d, from + i * kChannels, v0, v1, v2);
    else
      hn::LoadInterleaved4(d, from + i * kChannels, v0, v1, v2, v3);
    hn::StoreU(v0, d, reinterpret_cast<Lane*>(planes[0]) + i);
    hn::StoreU(v1, d, reinterpret_cast<Lane*>(planes[1]) + i);
    if constexpr (kChannels > 2) hn::StoreU(v2, d, reinterpret_cast<Lane*>(planes[2]) + i);
    if constexpr (kChannels > 3) hn::StoreU(v3, d, reinterpret_cast<Lane*>(planes[3]) + i);
  }
  static HWY_INLINE void join_some(Lane* to, const std::uint8_t* const* planes, std::int64_t i) {
    const D d;
    const auto plane = [&](int k) HWY_ATTR { return hn::LoadU(d, reinterpret_cast<const Lane*>(planes[k]) + i); };
    if constexpr (kChannels == 2)
      hn::StoreInterleaved2(plane(0), plane(1), d, to + i * kChannels);
    else if constexpr (kChannels == 3)
      hn::StoreInterleaved3(plane(0), plane(1), plane(2), d, to + i * kChannels);
    else
      hn::StoreInterleaved4(plane(0), plane(1), plane(2), plane(3), d, to + i * kChannels);
  }
  /// All points by vectors, the last of which starts early; false where there are fewer than a vector holds.
  template <class Some>
  static HWY_INLINE bool by_vectors(std::int64_t n, const Some& some) {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
    if (n < lanes) return false;
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes) some(i);
    if (i < n) some(n - lanes);
    return true;
  }
#endif

  static HWY_NOINLINE void split(std::uint8_t* const* planes, const std::uint8_t* from, std::int64_t n) {
#if HWY_TARGET != HWY_SCALAR
    const auto* lanes = reinterpret_cast<const Lane*>(from);
    if (by_vectors(n, [&](std::int64_t i) RESTRIDE_INLINE_LAMBDA { split_some(planes, lanes, i); })) return;
#endif
    for (std::int64_t i = 0; i < n; ++i)
      for (int k = 0; k < kChannels; ++k)
        std::memcpy(planes[k] + i * kUnitBytes, from + (i * kChannels + k) * kUnitBytes, kUnit);
  }
  static HWY_NOINLINE void join(std::uint8_t* to, const std::uint8_t* const* planes, std::int64_t n) {
#if HWY_TARGET != HWY_SCALAR
    auto* lanes = reinterpret_cast<Lane*>(to);
    if (by_vectors(n, [&](std::int64_t i) RESTRIDE_INLINE_LAMBDA { join_some(lanes, planes, i); })) return;
#endif
    for (std::int64_t i = 0; i < n; ++i)
      for (int k = 0; k < kChannels; ++k)
        std::memcpy(to + (i * kChannels + k) * kUnitBytes, planes[k] + i * kUnitBytes, kUnit);
  }

  /// Interleaved in src.
  static void move_apart(const CpuArgs& a, std::uint8_t* to, const std::uint8_t* from, std::int64_t n) {
    const std::int64_t pitch = a.col_set.modes[0].dst_stride;
    std::uint8_t* planes[kChannels];
    if (a.cast_run == nullptr) {
      for (int k = 0; k < kChannels; ++k) planes[k] = to + k * pitch;
      return split(planes, from, n);
    }
    alignas(64) std::uint8_t stage[kChannels][kCastPoints * kUnit];
    for (int k = 0; k < kChannels; ++k) planes[k] = stage[k];
    for (std::int64_t i = 0; i < n; i += kCastPoints) {
      const std::int64_t some = std::min(kCastPoints, n - i);
      split(planes, from + i * kChannels * kUnitBytes, some);
      for (int k = 0; k < kChannels; ++k)
        a.cast_run(to + k * pitch + i * a.dst_unit, stage[k], static_cast<std::size_t>(some));
    }
  }

  /// Interleaved in dst.
  static void move_together(const CpuArgs& a, std::uint8_t* to, const std::uint8_t* from, std::int64_t n) {
    const std::int64_t pitch = a.col_set.modes[0].src_stride;
    const std::uint8_t* planes[kChannels];
    if (a.cast_run == nullptr) {
      for (int k = 0; k < kChannels; ++k) planes[k] = from + k * pitch;
      return join(to, planes, n);
    }
    alignas(64) std::uint8_t stage[kChannels][kCastPoints * kUnit];
    for (int k = 0; k < kChannels; ++k) planes[k] = stage[k];
    for (std::int64_t i = 0; i < n; i += kCastPoints) {
      const std::int64_t some = std::min(kCastPoints, n - i);
      for (int k = 0; k < kChannels; ++k)
        a.cast_run(stage[k], from + k * pitch + i * a.src_unit, static_cast<std::size_t>(some));
      join(to + i * kChannels * kUnitBytes, planes, some);
    }
  }
};

template <std::size_t kUnit, int kChannels, bool kTogether>
void channels(const CpuArgs& a, std::byte* dst_base, const std::byte* src_base, std::int64_t begin,
              std::int64_t end) noexcept {
  NestCursor at(a.nest, begin);
  const std::int64_t last_piece = a.nest.modes[0].extent - 1;
  for (std::int64_t task = begin; task < end; ++task, at.next()) {
    auto* to = reinterpret_cast<std::uint8_t*>(dst_base) + at.dst();
    const auto* from = reinterpret_cast<const std::uint8_t*>(src_base) + at.src();
    const std::int64_t n = at.index(0) == last_piece ? a.last_units : a.units;
    if constexpr (kTogether)
      Mover<kUnit, kChannels>::move_together(a, to, from, n);
    else
      Mover<kUnit, kChannels>::move_apart(a, to, from, n);
  }
}

template <std::size_t kUnit, bool kTogether>
CpuKernel pick_count(int count) {
  switch (count) {
    case 2: return channels<kUnit, 2, kTogether>;
    case 3: return channels<kUnit, 3, kTogether>;
    default: return channels<kUnit, 4, kTogether>;
  }
}

template <bool kTogether>
CpuKernel pick_unit(int unit, int count) {
  switch (unit) {
    case 1: return pick_count<1, kTogether>(count);
    case 2: return pick_count<2, kTogether>(count);
    case 4: return pick_count<4, kTogether>(count);
    default: return pick_count<8, kTogether>(count);
  }
}

}  // namespace

CpuKernel pick_channels(int unit, int count, bool together) {
  return together ? pick_unit<true>(unit, count) : pick_unit<false>(unit, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace restride::kernels::cpu {
HWY_EXPORT(pick_channels);
CpuKernel channels_kernel(int unit, int channels, bool together) noexcept {
  return HWY_DYNAMIC_DISPATCH(pick_channels)(unit, channels, together);
}
}  // namespace restride::kernels::cpu
#endif
