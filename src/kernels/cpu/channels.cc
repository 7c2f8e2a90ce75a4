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

/// For fewer points than a vector has lanes, and where there are no vectors.
template <std::size_t kUnit>
HWY_NOINLINE void split_one_by_one(std::uint8_t* const* planes, int channels, const std::uint8_t* from,
                                   std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    for (int k = 0; k < channels; ++k, from += kUnit)
      std::memcpy(planes[k] + i * static_cast<std::int64_t>(kUnit), from, kUnit);
}
template <std::size_t kUnit>
HWY_NOINLINE void join_one_by_one(std::uint8_t* to, const std::uint8_t* const* planes, int channels, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    for (int k = 0; k < channels; ++k, to += kUnit)
      std::memcpy(to, planes[k] + i * static_cast<std::int64_t>(kUnit), kUnit);
}

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
    split_one_by_one<kUnit>(planes, kChannels, from, n);
  }
  static HWY_NOINLINE void join(std::uint8_t* to, const std::uint8_t* const* planes, std::int64_t n) {
#if HWY_TARGET != HWY_SCALAR
    auto* lanes = reinterpret_cast<Lane*>(to);
    if (by_vectors(n, [&](auto d, std::int64_t i) RESTRIDE_INLINE_LAMBDA { join_some(d, lanes, planes, i); })) return;
#endif
    join_one_by_one<kUnit>(to, planes, kChannels, n);
  }
};

using Split = void (*)(std::uint8_t* const* planes, const std::uint8_t* from, std::int64_t n);
using Join = void (*)(std::uint8_t* to, const std::uint8_t* const* planes, std::int64_t n);

/// find(mover) of the mover for this unit and this many channels.
template <std::size_t kUnit, class Find>
auto pick_count(std::int64_t count, const Find& find) {
  switch (count) {
    case 2: return find(Mover<kUnit, 2>());
    case 3: return find(Mover<kUnit, 3>());
    default: return find(Mover<kUnit, 4>());
  }
}
template <class Find>
auto pick_mover(std::int32_t unit, std::int64_t count, const Find& find) {
  switch (unit) {
    case 1: return pick_count<1>(count, find);
    case 2: return pick_count<2>(count, find);
    case 4: return pick_count<4>(count, find);
    default: return pick_count<8>(count, find);
  }
}

/// Points that are converted at once: their planes fit the first cache beside the interleaved side.
constexpr std::int64_t kCastPoints = 512;

/// n points in parts, the last of which starts early rather than be short: part(first, points).
template <class Part>
HWY_INLINE void for_cast_parts(std::int64_t n, const Part& part) {
  const std::int64_t some = std::min(n, kCastPoints);
  for (std::int64_t i = 0; i < n; i += kCastPoints) part(std::min(i, n - some), some);
}

/// What the two directions share: the walk over tasks, and planes to convert by way of.
template <class Piece>
HWY_INLINE void for_pieces(const CpuArgs& a, std::byte* dst, const std::byte* src, std::int64_t begin, std::int64_t end,
                           const Piece& piece) {
  const std::int64_t last = a.nest.modes[0].extent - 1;
  NestCursor at(a.nest, begin);
  for (std::int64_t task = begin; task < end; ++task, at.next())
    piece(reinterpret_cast<std::uint8_t*>(dst) + at.dst(), reinterpret_cast<const std::uint8_t*>(src) + at.src(),
          at.index(0) == last ? a.last_units : a.units);
}
struct Stage {
  alignas(64) std::uint8_t bytes[kMaxChannels][kCastPoints * 8];
};

/// Interleaved in src.
void split_pieces(const CpuArgs& a, std::byte* dst, const std::byte* src, std::int64_t begin,
                  std::int64_t end) noexcept {
  const layout::CopyMode& channels = a.col_set.modes[0];
  const Split split = pick_mover(a.src_unit, channels.extent, [](auto m) -> Split { return &decltype(m)::split; });
  const std::int64_t point_bytes = channels.extent * a.src_unit;
  Stage stage;
  std::uint8_t* planes[kMaxChannels];
  for (int k = 0; k < kMaxChannels; ++k) planes[k] = stage.bytes[k];
  for_pieces(a, dst, src, begin, end, [&](std::uint8_t* to, const std::uint8_t* from, std::int64_t n) {
    if (a.cast_run == nullptr) {
      for (int k = 0; k < channels.extent; ++k) planes[k] = to + k * channels.dst_stride;
      return split(planes, from, n);
    }
    for_cast_parts(n, [&](std::int64_t i, std::int64_t some) {
      split(planes, from + i * point_bytes, some);
      for (int k = 0; k < channels.extent; ++k)
        a.cast_run(to + k * channels.dst_stride + i * a.dst_unit, planes[k], static_cast<std::size_t>(some));
    });
  });
}

/// Interleaved in dst.
void join_pieces(const CpuArgs& a, std::byte* dst, const std::byte* src, std::int64_t begin,
                 std::int64_t end) noexcept {
  const layout::CopyMode& channels = a.col_set.modes[0];
  const Join join = pick_mover(a.dst_unit, channels.extent, [](auto m) -> Join { return &decltype(m)::join; });
  const std::int64_t point_bytes = channels.extent * a.dst_unit;
  Stage stage;
  const std::uint8_t* planes[kMaxChannels];
  for_pieces(a, dst, src, begin, end, [&](std::uint8_t* to, const std::uint8_t* from, std::int64_t n) {
    const auto plane = [&](int k) { return from + k * channels.src_stride; };
    if (a.cast_run == nullptr) {
      for (int k = 0; k < channels.extent; ++k) planes[k] = plane(k);
      return join(to, planes, n);
    }
    for (int k = 0; k < channels.extent; ++k) planes[k] = stage.bytes[k];
    for_cast_parts(n, [&](std::int64_t i, std::int64_t some) {
      for (int k = 0; k < channels.extent; ++k)
        a.cast_run(stage.bytes[k], plane(k) + i * a.src_unit, static_cast<std::size_t>(some));
      join(to + i * point_bytes, planes, some);
    });
  });
}

}  // namespace

CpuKernel pick_channels(bool together) { return together ? join_pieces : split_pieces; }

}  // namespace HWY_NAMESPACE
}  // namespace restride::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace restride::kernels::cpu {
HWY_EXPORT(pick_channels);
CpuKernel channels_kernel(bool together) noexcept { return HWY_DYNAMIC_DISPATCH(pick_channels)(together); }
}  // namespace restride::kernels::cpu
#endif
