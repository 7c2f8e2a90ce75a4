#include "src/cpu/channels/kernel.h"

#include <algorithm>
#include <optional>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/cpu/channels/kernel.cc"
#include <hwy/foreach_target.h>
#include "src/cpu/channels/lanes-inl.h"
#include "src/cpu/channels/movers-inl.h"
#include "src/cpu/simd/run_writers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace {

/// What a copy does with each of its pieces: by permutes, by vectors that are loaded or stored interleaved, or one by
/// one. The permutes' tables are worked out first, so copies that stay in the caches do without.
class Mixer {
 public:
  /// `leave`: lines of what it makes go past the caches, if any do.
  Mixer(const ChannelsArgs& a, std::int64_t unit, std::int64_t cell, bool together, bool leave)
      : unit_(unit), channels_(a.channels.extent), cell_(cell) {
    const MoveBlocks move = a.stream ? pick_move_blocks(unit, cell) : nullptr;
    if (move != nullptr)
      lanes_.emplace(move, unit, channels_, cell, together, leave, a.near);
    else if (channels_ <= kMostAtOnce && cell == channels_)
      mover_ = pick_mover(unit, channels_);
  }
  HWY_NOINLINE void split(std::uint8_t* const* planes, const std::uint8_t* from, std::int64_t n) {
    if (lanes_) return lanes_->split(planes, from, n);
    if (mover_.split != nullptr) return mover_.split(planes, from, n);
    with_unit(unit_, [&](auto unit) { split_one_by_one<unit>(planes, channels_, cell_, from, n); });
  }
  HWY_NOINLINE void join(std::uint8_t* to, const std::uint8_t* const* planes, std::int64_t n) {
    if (lanes_) return lanes_->join(to, planes, n);
    if (mover_.join != nullptr) return mover_.join(to, planes, n);
    with_unit(unit_, [&](auto unit) { join_one_by_one<unit>(to, planes, channels_, 0, n * channels_); });
  }

 private:
  std::int64_t unit_;
  std::int64_t channels_;
  std::int64_t cell_;
  PieceMover mover_;
  std::optional<ChannelLanes> lanes_;
};

/// Points that are converted at once: their planes fit the first cache beside the interleaved side.
constexpr std::int64_t kCastPoints = 512;

/// What the two directions share: the walk over tasks, and planes to convert by way of.
template <class Piece>
HWY_INLINE void for_pieces(const ChannelsArgs& a, std::byte* dst, const std::byte* src, std::int64_t begin,
                           std::int64_t end, const Piece& piece) {
  const std::int64_t last = a.nest[0].extent - 1;
  NestCursor at(a.nest, begin);
  for (std::int64_t task = begin; task < end; ++task, at.next())
    piece(reinterpret_cast<std::uint8_t*>(dst) + at.dst(), reinterpret_cast<const std::uint8_t*>(src) + at.src(),
          at.index(0) == last ? a.last_points : a.points);
  if (a.stream) hwy::FlushStream();
}
struct Stage {
  alignas(64) std::uint8_t bytes[kMaxChannels][kCastPoints * 8];
};

/// Interleaved in src.
void split_pieces(const ChannelsArgs& a, std::byte* dst, const std::byte* src, std::int64_t begin,
                  std::int64_t end) noexcept {
  const layout::CopyMode& channels = a.channels;
  std::uint8_t* planes[kMaxChannels];
  if (a.cast_run == nullptr) {
    Mixer mixer(a, a.src_unit, a.point_src_stride / a.src_unit, false, true);
    for_pieces(a, dst, src, begin, end, [&](std::uint8_t* to, const std::uint8_t* from, std::int64_t n) {
      for (std::int64_t k = 0; k < channels.extent; ++k) planes[k] = to + k * channels.dst_stride;
      mixer.split(planes, from, n);
    });
    return;
  }
  Mixer mixer(a, a.src_unit, a.point_src_stride / a.src_unit, false, false);
  Stage stage;
  alignas(64) std::uint8_t converted[kCastPoints * 16 + 64];
  RunWriters writers(a.stream, false);
  for (std::int64_t k = 0; k < channels.extent; ++k) planes[k] = stage.bytes[k];
  for_pieces(a, dst, src, begin, end, [&](std::uint8_t* to, const std::uint8_t* from, std::int64_t n) {
    for (std::int64_t i = 0; i < n; i += kCastPoints) {
      const std::int64_t some = std::min(n - i, kCastPoints);
      mixer.split(planes, from + i * a.point_src_stride, some);
      for (std::int64_t k = 0; k < channels.extent; ++k) {
        std::uint8_t* plane = to + k * channels.dst_stride + i * a.dst_unit;
        if (!a.stream) {
          a.cast_run(plane, planes[k], static_cast<std::size_t>(some));
          continue;
        }
        a.cast_run(converted, planes[k], static_cast<std::size_t>(some));
        writers.write(k, plane, converted, static_cast<std::size_t>(some * a.dst_unit));
      }
    }
  });
  writers.leave();
}

/// Interleaved in dst.
void join_pieces(const ChannelsArgs& a, std::byte* dst, const std::byte* src, std::int64_t begin,
                 std::int64_t end) noexcept {
  const layout::CopyMode& channels = a.channels;
  Mixer mixer(a, a.dst_unit, channels.extent, true, true);
  const std::int64_t point_bytes = channels.extent * a.dst_unit;
  Stage stage;
  const std::uint8_t* planes[kMaxChannels];
  for_pieces(a, dst, src, begin, end, [&](std::uint8_t* to, const std::uint8_t* from, std::int64_t n) {
    const auto plane = [&](std::int64_t k) { return from + k * channels.src_stride; };
    if (a.cast_run == nullptr) {
      for (std::int64_t k = 0; k < channels.extent; ++k) planes[k] = plane(k);
      return mixer.join(to, planes, n);
    }
    for (std::int64_t k = 0; k < channels.extent; ++k) planes[k] = stage.bytes[k];
    for (std::int64_t i = 0; i < n; i += kCastPoints) {
      const std::int64_t some = std::min(n - i, kCastPoints);
      for (std::int64_t k = 0; k < channels.extent; ++k)
        a.cast_run(stage.bytes[k], plane(k) + i * a.src_unit, static_cast<std::size_t>(some));
      mixer.join(to + i * point_bytes, planes, some);
    }
  });
}

}  // namespace

KernelCode<ChannelsArgs> pick_channels(bool together) { return together ? join_pieces : split_pieces; }

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace restride::cpu {
HWY_EXPORT(pick_channels);
KernelCode<ChannelsArgs> channels_kernel(bool together) noexcept {
  return HWY_DYNAMIC_DISPATCH(pick_channels)(together);
}
}  // namespace restride::cpu
#endif
