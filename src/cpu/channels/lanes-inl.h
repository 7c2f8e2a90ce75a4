// Interleaved channels into planes and back by permutes: every vector is read once, and whole lines leave past the
// caches. Included once per instruction set.
//
// A block is one vector of each plane: on the interleaved side as many windows of 64 bytes as points have units. Each
// vector out is put together from all of those read, by permutes that share one index and differ in the lanes they
// fill. Interleaved points may start anywhere in a line of dst: a block starts with any channel, so planes are taken in
// turn from the one with which a line begins. Planes start each somewhere else: what a plane's vector has beyond its
// line waits in memory for the next block.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_CHANNELS_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_CHANNELS_LANES_INL_H_
#undef RESTRIDE_CPU_CHANNELS_LANES_INL_H_
#else
#define RESTRIDE_CPU_CHANNELS_LANES_INL_H_
#endif

#include "src/cpu/channels/kernel.h"
#include "src/cpu/channels/movers-inl.h"
#include "src/cpu/simd/permute-inl.h"
#include "src/cpu/simd/stream-inl.h"
#include "src/cpu/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Some blocks: where the vectors in and out of the first one lie, how far on those of the next, and which lanes go
/// where. Lanes' numbers are of a lane's size.
struct LaneBlocks {
  enum class Leave { kPlain, kStream, kCarry };

  const std::uint8_t* from[kMaxChannels];
  std::uint8_t* to[kMaxChannels];  ///< kStream, kCarry: on lines
  std::int64_t from_step;
  std::int64_t to_step;
  std::int64_t vectors;                                 ///< out
  bool near;                                            ///< prefetches as CommonArgs::near has it
  Leave leave;                                          ///< kCarry: past the caches, behind what waits in `before`
  std::uint64_t lanes[kMaxChannels][kMaxChannels];      ///< of each vector out: those that come from each one in
  alignas(64) std::uint8_t index[kMaxChannels][64];     ///< of each vector out: where in the one in its lanes lie
  alignas(64) std::uint8_t before[kMaxChannels][64];    ///< of each vector out: the block before's
  alignas(64) std::uint8_t together[kMaxChannels][64];  ///< the lanes of a line in `before` and what follows it
};

#if HWY_TARGET <= HWY_AVX3
/// How far ahead of what is read is prefetched, into the first cache and into the second.
constexpr std::int64_t kNearBytes = 512;
constexpr std::int64_t kFarBytes = 2048;

/// Moves n blocks of kIn vectors each.
template <std::size_t kUnit, std::size_t kIn>
HWY_NOINLINE void move_blocks(LaneBlocks* HWY_RESTRICT a, std::int64_t n) {
  using Lane = typename LaneOf<kUnit>::type;
  using D = hn::CappedTag<Lane, 64 / sizeof(Lane)>;
  using V = hn::Vec<D>;
  // What stores of bytes might have changed is taken out of the loop.
  std::uint8_t* to[kMaxChannels];
  std::copy_n(a->to, kMaxChannels, to);
  const std::int64_t to_step = a->to_step;
  const std::int64_t from_step = a->from_step;
  const std::int64_t vectors = a->vectors;
  const LaneBlocks::Leave leave = a->leave;
  const bool near = a->near;
  [&]<std::size_t... I>(std::index_sequence<I...>) RESTRIDE_INLINE_LAMBDA {
    const std::uint8_t* from[] = {a->from[I]...};
    for (std::int64_t b = 0; b < n; ++b) {
      const V in[] = {load(D(), from[I])...};
      if (near)
        (__builtin_prefetch(from[I] + kNearBytes, 0, 0), ...);
      else
        (prefetch_to_l2(from[I] + kFarBytes), ...);
      for (std::int64_t k = 0; k < vectors; ++k) {
        const V index = load(D(), a->index[k]);
        V v = in[0];
        ((v = permute_into(v, I == 0 ? ~std::uint64_t{0} : a->lanes[k][I], index, in[I])), ...);
        if (leave == LaneBlocks::Leave::kPlain) {
          store(v, D(), to[k]);
        } else {
          V line = v;
          if (leave == LaneBlocks::Leave::kCarry) {
            line = permute_two(load(D(), a->before[k]), load(D(), a->together[k]), v);
            store(v, D(), a->before[k]);
          }
          hn::Stream(line, D(), reinterpret_cast<Lane*>(to[k]));
        }
        to[k] += to_step;
      }
      ((from[I] += from_step), ...);
    }
  }
  (std::make_index_sequence<kIn>());
}
#endif

using MoveBlocks = void (*)(LaneBlocks* blocks, std::int64_t n);

template <std::size_t kUnit>
MoveBlocks pick_in(std::int64_t in) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (kPermutes<kUnit>) {
    switch (in) {
      case 2: return move_blocks<kUnit, 2>;
      case 3: return move_blocks<kUnit, 3>;
      case 4: return move_blocks<kUnit, 4>;
      case 5: return move_blocks<kUnit, 5>;
      case 6: return move_blocks<kUnit, 6>;
      case 7: return move_blocks<kUnit, 7>;
      default: return move_blocks<kUnit, 8>;
    }
  }
#endif
  (void)in;
  return nullptr;
}
/// Null where this instruction set has no permutes of such units.
inline MoveBlocks pick_move_blocks(std::int64_t unit, std::int64_t in) {
  switch (unit) {
    case 1: return pick_in<1>(in);
    case 2: return pick_in<2>(in);
    case 4: return pick_in<4>(in);
    default: return pick_in<8>(in);
  }
}

/// Moves pieces of one copy: points of `cell` units, of which the first `channels` are moved.
class ChannelLanes {
 public:
  ChannelLanes(MoveBlocks move, std::int64_t unit, std::int64_t channels, std::int64_t cell, bool together, bool stream,
               bool near)
      : move_(move), unit_(unit), lanes_(64 / unit), channels_(channels), cell_(cell), stream_(stream) {
    std::memset(blocks_.lanes, 0, sizeof blocks_.lanes);
    std::fill_n(past_, kMaxChannels, -1);
    for (std::int64_t out = 0; out < channels; ++out)
      fill_row(blocks_.index[out], [&](std::int64_t lane) {
        const std::int64_t at = together ? out * lanes_ + lane : lane * cell + out;
        blocks_.lanes[out][together ? at % channels : at / lanes_] |= std::uint64_t{1} << lane;
        return together ? at / channels : at % lanes_;
      });
    blocks_.vectors = channels;
    blocks_.near = near;
  }

  /// n interleaved points into planes.
  HWY_NOINLINE void split(std::uint8_t* const* planes, const std::uint8_t* from, std::int64_t n) {
    const std::int64_t block_bytes = 64 * cell_;
    // What lies behind a cell's channels is not read behind the last one.
    const std::int64_t whole = (cell_ > channels_ ? n - 1 : n) / lanes_;
    blocks_.from_step = block_bytes;
    blocks_.to_step = 64;
    blocks_.leave = LaneBlocks::Leave::kPlain;
    std::int64_t first = 0;
    std::int64_t past = 0;
    for (std::int64_t k = 0; k < channels_; ++k) past |= past_line(planes[k]);
    if (stream_ && past == 0) {
      blocks_.leave = LaneBlocks::Leave::kStream;
    } else if (stream_ && past % unit_ == 0 && whole > 1) {
      split_lines(planes, from, whole);
      first = whole;
    }
    for (std::int64_t i = 0; i < cell_; ++i) blocks_.from[i] = from + first * block_bytes + 64 * i;
    for (std::int64_t k = 0; k < channels_; ++k) blocks_.to[k] = planes[k] + first * 64;
    move_(&blocks_, whole - first);
    blocks_.leave = LaneBlocks::Leave::kPlain;
    const std::int64_t left = n - whole * lanes_;
    if (left == 0) return;
    alignas(64) std::uint8_t last[kMaxChannels * 64];
    std::memcpy(last, from + whole * block_bytes, static_cast<std::size_t>(((left - 1) * cell_ + channels_) * unit_));
    for (std::int64_t i = 0; i < cell_; ++i) blocks_.from[i] = last + 64 * i;
    for (std::int64_t k = 0; k < channels_; ++k) blocks_.to[k] = blocks_.before[k];
    move_(&blocks_, 1);
    for (std::int64_t k = 0; k < channels_; ++k)
      std::memcpy(planes[k] + whole * 64, blocks_.before[k], static_cast<std::size_t>(left * unit_));
  }

  /// n points of as many planes as there are channels, interleaved.
  HWY_NOINLINE void join(std::uint8_t* to, const std::uint8_t* const* planes, std::int64_t n) {
    const std::int64_t units = n * channels_;
    const bool stream = stream_ && past_line(to) % unit_ == 0;
    const std::int64_t head = stream ? (64 - past_line(to)) % 64 / unit_ : 0;
    const std::int64_t lines = std::max<std::int64_t>((units - head) / lanes_, 0);
    if (lines < channels_) return join_units(to, planes, 0, units);
    join_units(to, planes, 0, head);
    blocks_.from_step = 64;
    blocks_.to_step = 64 * channels_;
    blocks_.leave = stream ? LaneBlocks::Leave::kStream : LaneBlocks::Leave::kPlain;
    join_blocks(to, planes, head, lines / channels_);
    // The last block starts early rather than be short.
    if (lines % channels_ != 0) join_blocks(to, planes, head + (lines - channels_) * lanes_, 1);
    join_units(to, planes, head + lines * lanes_, units);
  }

 private:
  static std::int64_t past_line(const std::uint8_t* at) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at) % 64);
  }
  /// Lanes of a table's row: lane i is value(i).
  template <class Value>
  void fill_row(std::uint8_t* row, const Value& value) const {
    with_unit(unit_, [&](auto unit) {
      for (std::int64_t i = 0; i < lanes_; ++i, row += unit) {
        const auto lane = static_cast<typename LaneOf<unit>::type>(value(i));
        std::memcpy(row, &lane, unit);
      }
    });
  }

  /// n > 1 blocks into planes that each start on a unit.
  void split_lines(std::uint8_t* const* planes, const std::uint8_t* from, std::int64_t n) {
    for (std::int64_t i = 0; i < cell_; ++i) blocks_.from[i] = from + 64 * i;
    for (std::int64_t k = 0; k < channels_; ++k) {
      blocks_.to[k] = blocks_.before[k];
      if (past_[k] == past_line(planes[k])) continue;  // most pieces start as the one before
      past_[k] = past_line(planes[k]);
      fill_row(blocks_.together[k], [&](std::int64_t lane) { return lanes_ - past_[k] / unit_ + lane; });
    }
    move_(&blocks_, 1);
    for (std::int64_t i = 0; i < cell_; ++i) blocks_.from[i] += blocks_.from_step;
    for (std::int64_t k = 0; k < channels_; ++k) {
      std::memcpy(planes[k], blocks_.before[k], static_cast<std::size_t>(64 - past_[k]));
      blocks_.to[k] = planes[k] + 64 - past_[k];
    }
    blocks_.leave = LaneBlocks::Leave::kCarry;
    move_(&blocks_, n - 1);
    blocks_.leave = LaneBlocks::Leave::kPlain;
    for (std::int64_t k = 0; k < channels_; ++k)
      std::memcpy(planes[k] + n * 64 - past_[k], blocks_.before[k] + 64 - past_[k], static_cast<std::size_t>(past_[k]));
  }

  /// n blocks of dst, from its unit `first` on.
  void join_blocks(std::uint8_t* to, const std::uint8_t* const* planes, std::int64_t first, std::int64_t n) {
    for (std::int64_t i = 0; i < channels_; ++i) {
      blocks_.from[i] = planes[(first + i) % channels_] + (first + i) / channels_ * unit_;
      blocks_.to[i] = to + first * unit_ + 64 * i;
    }
    move_(&blocks_, n);
  }

  /// Units [first, end) of dst.
  void join_units(std::uint8_t* to, const std::uint8_t* const* planes, std::int64_t first, std::int64_t end) const {
    with_unit(unit_, [&](auto unit) { join_one_by_one<unit>(to, planes, channels_, first, end); });
  }

  MoveBlocks move_;
  std::int64_t unit_;
  std::int64_t lanes_;  ///< of a vector
  std::int64_t channels_;
  std::int64_t cell_;
  bool stream_;
  std::int64_t past_[kMaxChannels];  ///< of each plane: bytes of its first line before it, as blocks_.together has it
  LaneBlocks blocks_;
};

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
