// Long rows, several at once: a few lines of each in turn. Included once per instruction set.
//
// One core that streams from one place waits for memory: its own misses fill the line buffers, and the prefetcher of
// the second level follows one page at a time. With a dozen places in turn the prefetcher runs ahead on all of them,
// which no software prefetch reached: in bench/results the class rows runs faster than a plain copy.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_SIMD_STRANDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_SIMD_STRANDS_INL_H_
#undef RESTRIDE_CPU_SIMD_STRANDS_INL_H_
#else
#define RESTRIDE_CPU_SIMD_STRANDS_INL_H_
#endif

#include "src/cpu/simd/pick-inl.h"
#include "src/cpu/simd/writer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {

/// Dense in dst, one stride in src.
struct Strand {
  std::uint8_t* to = nullptr;
  const std::uint8_t* from = nullptr;
  std::int64_t units = 0;
};

inline constexpr int kStrands = 16;
inline constexpr int kCastStrands = 8;
inline constexpr std::int64_t kTurnBytes = 512;        ///< of a strand that moves as it is
inline constexpr std::int64_t kCastTurnBytes = 1024;   ///< of the wider side
inline constexpr std::int64_t kCastAheadBytes = 2048;  ///< of source prefetched early: a cast reads in larger gulps

/// How many strands to move at a time. Fewer with a cast, whose loop leaves the prefetcher less time for each.
inline int strands_at_once(const CommonArgs& a) { return a.cast_run == nullptr ? kStrands : kCastStrands; }

/// One strand on its way.
class StrandMover {
 public:
  /// The next turn; false when the strand is through.
  HWY_NOINLINE bool turn(const StridedArgs& a, std::int64_t units, std::uint8_t* buffer) {
    const std::int64_t n = std::min(units, left_.units);
    if (a.cast_run != nullptr) prefetch_ahead(a, n);
    if (a.cast_run == nullptr && a.row_src_stride == a.src_unit) {
      out_.write(left_.to, left_.from, static_cast<std::size_t>(n * a.dst_unit));
    } else {
      pick_units(a, buffer, left_.from, n);
      out_.write(left_.to, buffer, static_cast<std::size_t>(n * a.dst_unit));
    }
    left_.to += n * a.dst_unit;
    left_.from += n * a.row_src_stride;
    left_.units -= n;
    return left_.units > 0;
  }
  void start(const Strand& s) { left_ = s; }
  const Strand& left() const { return left_; }
  void finish() { out_.leave(); }

 private:
  /// For what n units hold, as far as the strand goes.
  HWY_INLINE void prefetch_ahead(const StridedArgs& a, std::int64_t n) const {
    const std::int64_t end = std::min(kCastAheadBytes + n * a.src_unit, left_.units * a.src_unit);
    const std::int64_t way = a.row_src_stride < 0 ? -1 : 1;
    for (std::int64_t k = kCastAheadBytes; k < end; k += 64) prefetch_line(a, left_.from + way * k);
  }

  Writer out_;
  Strand left_;
};

/// Moves up to kStrands strands past the caches; units are picked and converted as `a` says.
inline void move_strands(const StridedArgs& a, const Strand* strands, int count) {
  alignas(64) std::uint8_t buffer[kCastTurnBytes];
  StrandMover movers[kStrands];
  const std::int64_t turn = (a.cast_run == nullptr ? kTurnBytes : kCastTurnBytes) / std::max(a.dst_unit, a.src_unit);
  bool more = true;
  for (int k = 0; k < count; ++k) {
    movers[k].start(strands[k]);
    // A shorter first turn puts the others on lines.
    const auto off = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(strands[k].to) % kLine) / a.dst_unit;
    if (off != 0) movers[k].turn(a, std::max<std::int64_t>(turn - off, 1), buffer);
  }
  while (more) {
    more = false;
    for (int k = 0; k < count; ++k)
      if (movers[k].left().units > 0) more |= movers[k].turn(a, turn, buffer);
  }
  for (int k = 0; k < count; ++k) movers[k].finish();
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
