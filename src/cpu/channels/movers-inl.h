// Interleaved channels into planes and back by vectors that are loaded or stored interleaved, and unit by unit.
// Included once per instruction set.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_CHANNELS_MOVERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_CHANNELS_MOVERS_INL_H_
#undef RESTRIDE_CPU_CHANNELS_MOVERS_INL_H_
#else
#define RESTRIDE_CPU_CHANNELS_MOVERS_INL_H_
#endif

#include "src/cpu/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// For what no vectors take. A point of src has `cell` units, of which the first are moved.
template <std::size_t kUnit>
HWY_NOINLINE void split_one_by_one(std::uint8_t* const* planes, std::int64_t channels, std::int64_t cell,
                                   const std::uint8_t* from, std::int64_t n) {
  constexpr auto kUnitBytes = static_cast<std::int64_t>(kUnit);
  for (std::int64_t i = 0; i < n; ++i, from += cell * kUnitBytes)
    for (std::int64_t k = 0; k < channels; ++k) std::memcpy(planes[k] + i * kUnitBytes, from + k * kUnitBytes, kUnit);
}
/// Units [first, end) of dst.
template <std::size_t kUnit>
HWY_NOINLINE void join_one_by_one(std::uint8_t* to, const std::uint8_t* const* planes, std::int64_t channels,
                                  std::int64_t first, std::int64_t end) {
  constexpr auto kUnitBytes = static_cast<std::int64_t>(kUnit);
  std::int64_t k = first % channels;
  std::int64_t at = first / channels * kUnitBytes;
  for (std::int64_t i = first; i < end; ++i) {
    std::memcpy(to + i * kUnitBytes, planes[k] + at, kUnit);
    if (++k < channels) continue;
    k = 0;
    at += kUnitBytes;
  }
}

/// Vectors that are loaded and stored interleaved: of 2 to 4 channels.
template <std::size_t kUnit, int kChannels>
struct Mover {
  using Lane = typename LaneOf<kUnit>::type;

#if HWY_TARGET != HWY_SCALAR
  /// As many points as a vector has lanes, from point i on.
  template <class D>
  static HWY_INLINE void split_some(D d, std::uint8_t* const* planes, const Lane* from, std::int64_t i) {
    hn::Vec<D> v0, v1, v2, v3;
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
  template <class D>
  static HWY_INLINE void join_some(D d, Lane* to, const std::uint8_t* const* planes, std::int64_t i) {
    const auto plane = [&](int k) HWY_ATTR { return hn::LoadU(d, reinterpret_cast<const Lane*>(planes[k]) + i); };
    if constexpr (kChannels == 2)
      hn::StoreInterleaved2(plane(0), plane(1), d, to + i * kChannels);
    else if constexpr (kChannels == 3)
      hn::StoreInterleaved3(plane(0), plane(1), plane(2), d, to + i * kChannels);
    else
      hn::StoreInterleaved4(plane(0), plane(1), plane(2), plane(3), d, to + i * kChannels);
  }
  /// All points by vectors of up to kBytes, the last of which starts early; false where there are too few for one.
  template <std::size_t kBytes, class Some>
  static HWY_INLINE bool by_vectors_of(std::int64_t n, const Some& some) {
    const hn::CappedTag<Lane, kBytes / sizeof(Lane)> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    if (n < lanes) return false;
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes) some(d, i);
    if (i < n) some(d, n - lanes);
    return true;
  }
  /// Short runs of points take short vectors.
  template <class Some>
  static HWY_INLINE bool by_vectors(std::int64_t n, const Some& some) {
    return by_vectors_of<64>(n, some) || by_vectors_of<16>(n, some);
  }
#endif

  static HWY_NOINLINE void split(std::uint8_t* const* planes, const std::uint8_t* from, std::int64_t n) {
#if HWY_TARGET != HWY_SCALAR
    const auto* lanes = reinterpret_cast<const Lane*>(from);
    if (by_vectors(n, [&](auto d, std::int64_t i) RESTRIDE_INLINE_LAMBDA { split_some(d, planes, lanes, i); })) return;
#endif
    split_one_by_one<kUnit>(planes, kChannels, kChannels, from, n);
  }
  static HWY_NOINLINE void join(std::uint8_t* to, const std::uint8_t* const* planes, std::int64_t n) {
#if HWY_TARGET != HWY_SCALAR
    auto* lanes = reinterpret_cast<Lane*>(to);
    if (by_vectors(n, [&](auto d, std::int64_t i) RESTRIDE_INLINE_LAMBDA { join_some(d, lanes, planes, i); })) return;
#endif
    join_one_by_one<kUnit>(to, planes, kChannels, 0, n * kChannels);
  }
};

using Split = void (*)(std::uint8_t* const* planes, const std::uint8_t* from, std::int64_t n);
using Join = void (*)(std::uint8_t* to, const std::uint8_t* const* planes, std::int64_t n);

/// The two directions for some unit and some channels; null where there are none.
struct PieceMover {
  void (*split)(std::uint8_t* const* planes, const std::uint8_t* from, std::int64_t n) = nullptr;
  void (*join)(std::uint8_t* to, const std::uint8_t* const* planes, std::int64_t n) = nullptr;
};

inline PieceMover pick_mover(std::int64_t unit, std::int64_t channels) {
  return with_unit(unit, [&](auto u) -> PieceMover {
    switch (channels) {
      case 2: return {Mover<u, 2>::split, Mover<u, 2>::join};
      case 3: return {Mover<u, 3>::split, Mover<u, 3>::join};
      default: return {Mover<u, 4>::split, Mover<u, 4>::join};
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
