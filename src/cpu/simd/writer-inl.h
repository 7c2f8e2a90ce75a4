// Writing pieces that follow each other: whole lines leave past the caches, the ragged end waits for the next piece.
// Included once per instruction set.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_SIMD_WRITER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_SIMD_WRITER_INL_H_
#undef RESTRIDE_CPU_SIMD_WRITER_INL_H_
#else
#define RESTRIDE_CPU_SIMD_WRITER_INL_H_
#endif

#include "src/cpu/simd/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {

/// Pieces may go anywhere; only neighbours in address and time share a line. Call finish() at the end.
class Writer {
 public:
  explicit Writer(bool stream = true) : stream_(stream) {}

  /// n bytes to `to`.
  HWY_INLINE void write(std::uint8_t* to, const std::uint8_t* HWY_RESTRICT from, std::size_t n) {
    if (!stream_) {
      copy_bytes(to, from, n);
      return;
    }
    if (to != next_) restart(to);
    if (fill_ != 0) {
      const std::size_t k = std::min(kLine - fill_, n);
      copy_bytes(line_ + fill_, from, k);
      fill_ += k;
      next_ += k;
      if (fill_ < kLine) return;
      emit(next_);
      from += k;
      n -= k;
    }
    std::size_t i = 0;
    for (; i + kLine <= n; i += kLine) stream_line(next_ + i, from + i);
    next_ += i;
    if (i < n) {
      copy_bytes(line_, from + i, n - i);
      fill_ = n - i;
      next_ += fill_;
    }
  }

  /// The same, where 64 bytes behind `from`'s n may be read: so the ends of pieces are moved as whole lines.
  HWY_INLINE void write_padded(std::uint8_t* to, const std::uint8_t* HWY_RESTRICT from, std::size_t n) {
    if (!stream_) {
      copy_bytes(to, from, n);
      return;
    }
    if (to != next_) restart(to);
    next_ += n;
    std::size_t i = 0;
    if (fill_ != 0) {
      copy_line(line_ + fill_, from);
      if (fill_ + n < kLine) {
        fill_ += n;
        return;
      }
      i = kLine - fill_;
      emit(to + i);
    }
    for (; i + kLine <= n; i += kLine) stream_line(to + i, from + i);
    copy_line(line_, from + i);
    fill_ = n - i;
  }

  HWY_INLINE void finish() {
    leave();
    if (stream_) hwy::FlushStream();
  }

  /// Writes what is in the open line by ordinary stores; the next piece starts afresh.
  HWY_INLINE void leave() {
    if (fill_ > first_) std::memcpy(next_ - (fill_ - first_), line_ + first_, fill_ - first_);
    fill_ = first_ = 0;
    next_ = nullptr;
  }

 private:
  static HWY_INLINE void copy_line(std::uint8_t* HWY_RESTRICT to, const std::uint8_t* HWY_RESTRICT from) {
    const Bytes d;
    for (std::size_t i = 0; i < kLine; i += hn::Lanes(d)) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  }
  HWY_INLINE void restart(std::uint8_t* to) {
    leave();
    next_ = to;
    fill_ = first_ = reinterpret_cast<std::uintptr_t>(to) % kLine;
  }
  /// The open line is full, and ends at `behind`.
  HWY_INLINE void emit(std::uint8_t* behind) {
    if (first_ == 0)
      stream_line(behind - kLine, line_);
    else
      std::memcpy(behind - (kLine - first_), line_ + first_, kLine - first_);
    fill_ = first_ = 0;
  }

  bool stream_;
  std::uint8_t* next_ = nullptr;              ///< where the next neighbouring piece would go
  std::size_t fill_ = 0;                      ///< bytes of the open line in use
  std::size_t first_ = 0;                     ///< of them, bytes at its front that are not ours
  alignas(64) std::uint8_t line_[2 * kLine];  ///< as moved: pieces may reach past a line
};

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
