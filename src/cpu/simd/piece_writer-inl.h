// Making pieces of dst that follow each other in a buffer, which they leave past the caches in whole lines. Included
// once per instruction set.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_SIMD_PIECE_WRITER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_SIMD_PIECE_WRITER_INL_H_
#undef RESTRIDE_CPU_SIMD_PIECE_WRITER_INL_H_
#else
#define RESTRIDE_CPU_SIMD_PIECE_WRITER_INL_H_
#endif

#include "src/cpu/simd/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {

/// Pieces lie in the buffer as far into their lines as in dst. What is no whole line comes first in the buffer again,
/// in front of the next piece; so pieces of up to a page less a line pass through one page, where stores may go
/// anywhere.
class PieceWriter {
 public:
  /// room: aligned to kPage; two lines longer than the longest piece.
  explicit PieceWriter(std::uint8_t* room) noexcept : room_(room) {}

  /// Where in the buffer the bytes for `to` are to be put.
  HWY_INLINE std::uint8_t* place(std::uint8_t* to) {
    if (HWY_UNLIKELY(to != next_)) {
      leave();
      next_ = to;
      fill_ = first_ = reinterpret_cast<std::uintptr_t>(to) % kLine;
    }
    return room_ + fill_;
  }
  /// n bytes were put there.
  HWY_INLINE void made(std::size_t n) {
    std::uint8_t* const to = next_ - fill_;
    next_ += n;
    fill_ += n;
    if (fill_ < kLine) return;
    std::size_t i = 0;
    if (HWY_UNLIKELY(first_ != 0)) {
      std::memcpy(to + first_, room_ + first_, kLine - first_);
      i = kLine;
      first_ = 0;
    }
    for (; i + kLine <= fill_; i += kLine) stream_line(to + i, room_ + i);
    fill_ -= i;
    copy_bytes(room_, room_ + i, kLine);
  }
  /// Writes what is in the open line by ordinary stores; the next piece starts afresh.
  HWY_INLINE void leave() {
    if (fill_ > first_) std::memcpy(next_ - (fill_ - first_), room_ + first_, fill_ - first_);
    fill_ = first_ = 0;
    next_ = nullptr;
  }

 private:
  std::uint8_t* room_;
  std::uint8_t* next_ = nullptr;  ///< where the next neighbouring piece would go
  std::size_t fill_ = 0;          ///< bytes of the open line in use
  std::size_t first_ = 0;         ///< of them, bytes at its front that are not ours
};

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
