// Writing columns that lie apart in a buffer and follow each other in dst, for vectors of 64 bytes. Included once per
// instruction set.
#include <cstddef>
#include <cstdint>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_SIMD_COLUMN_WRITER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_SIMD_COLUMN_WRITER_INL_H_
#undef RESTRIDE_CPU_SIMD_COLUMN_WRITER_INL_H_
#else
#define RESTRIDE_CPU_SIMD_COLUMN_WRITER_INL_H_
#endif

#include "src/cpu/simd/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
#if HWY_TARGET <= HWY_AVX3

/// Writes columns that follow each other in dst. The end of a column that is no whole line stays in a register until
/// the next one fills the line: stored and loaded again, it would wait for all the lines on their way before it.
class ColumnWriter {
 public:
  using Line = hn::ScalableTag<std::uint8_t>;  // of 64 bytes

  /// n columns of `bytes`, `pitch` apart. 64 bytes before and behind each may be read.
  void write(std::uint8_t* to, const std::uint8_t* HWY_RESTRICT from, std::int64_t pitch, std::int64_t n,
             std::size_t bytes) {
    const Line d;
    if (to != next_) start(to);
    auto open = hn::Load(d, line_);
    std::size_t fill = fill_;
    std::uint8_t* line = to - fill;
    for (; n > 0; --n, from += pitch) {
      std::size_t i = 0;
      if (fill != 0) {
        const auto whole = hn::IfThenElse(hn::FirstN(d, fill), open, hn::LoadU(d, from - fill));
        if (fill + bytes < kLine) {
          open = whole;
          fill += bytes;
          continue;
        }
        if (first_ == 0)
          hn::Stream(whole, d, line);
        else
          hn::BlendedStore(whole, hn::Not(hn::FirstN(d, first_)), d, line);
        first_ = 0;
        line += kLine;
        i = kLine - fill;
      }
      for (; i + kLine <= bytes; i += kLine, line += kLine) hn::Stream(hn::LoadU(d, from + i), d, line);
      open = hn::LoadU(d, from + i);
      fill = bytes - i;
    }
    hn::Store(open, d, line_);
    fill_ = fill;
    next_ = line + fill;
  }
  /// Writes what is in the open line by an ordinary store; the next column starts afresh.
  void leave() {
    const Line d;
    if (fill_ > first_)
      hn::BlendedStore(hn::Load(d, line_), hn::AndNot(hn::FirstN(d, first_), hn::FirstN(d, fill_)), d, next_ - fill_);
    fill_ = first_ = 0;
    next_ = nullptr;
  }
  void finish() {
    leave();
    hwy::FlushStream();
  }

 private:
  void start(std::uint8_t* to) {
    leave();
    next_ = to;
    fill_ = first_ = reinterpret_cast<std::uintptr_t>(to) % kLine;
  }

  std::uint8_t* next_ = nullptr;  ///< behind the last column
  std::size_t fill_ = 0;          ///< bytes of the open line in use
  std::size_t first_ = 0;         ///< of them, bytes at its front that are not ours
  alignas(64) std::uint8_t line_[kLine] = {};
};

#endif
}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
