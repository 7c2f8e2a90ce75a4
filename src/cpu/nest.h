// A loop nest over canonical modes, entered at any linear position: how tasks find their place.
#pragma once

#include <cstdint>

#include "src/layout/canonical.h"

namespace restride::cpu {

/// Modes that a kernel iterates outside its own block, innermost first. Plain data.
struct Nest {
  static constexpr int kCapacity = layout::kMaxCopyModes;
  int rank = 0;
  union {  // `rank` of them are set: to fill those of a plan's four nests would take longer than much of planning
    layout::CopyMode modes[kCapacity];
  };

  Nest() noexcept {}
  void push(const layout::CopyMode& m) noexcept { modes[rank++] = m; }
  std::int64_t points() const noexcept {
    std::int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= modes[i].extent;
    return n;
  }
};

/// A position in a nest and its byte offsets on both sides.
class NestCursor {
 public:
  NestCursor(const Nest& nest, std::int64_t position) noexcept : nest_(nest) {
    for (int i = 0; i < nest.rank; ++i) {
      const std::int64_t e = nest.modes[i].extent;
      index_[i] = position % e;
      position /= e;
      dst_ += index_[i] * nest.modes[i].dst_stride;
      src_ += index_[i] * nest.modes[i].src_stride;
    }
  }
  std::int64_t dst() const noexcept { return dst_; }
  std::int64_t src() const noexcept { return src_; }
  std::int64_t index(int mode) const noexcept { return index_[mode]; }

  void next() noexcept { advance_from(0); }
  /// n points on, none of them beyond the end of mode 0.
  void next(std::int64_t n) noexcept {
    if (nest_.rank == 0) return;
    const layout::CopyMode& m = nest_.modes[0];
    dst_ += (n - 1) * m.dst_stride;
    src_ += (n - 1) * m.src_stride;
    index_[0] += n - 1;
    advance_from(0);
  }

 private:
  void advance_from(int i) noexcept {
    for (; i < nest_.rank; ++i) {
      const layout::CopyMode& m = nest_.modes[i];
      dst_ += m.dst_stride;
      src_ += m.src_stride;
      if (++index_[i] < m.extent) return;
      index_[i] = 0;
      dst_ -= m.extent * m.dst_stride;
      src_ -= m.extent * m.src_stride;
    }
  }

  const Nest& nest_;
  std::int64_t dst_ = 0;
  std::int64_t src_ = 0;
  std::int64_t index_[Nest::kCapacity];
};

/// Which side's offsets a caller wants.
enum class Side { kDst, kSrc };

/// Byte offsets of points [start, start + n) of a nest on one side. Whole rows of the innermost mode at a time.
inline void fill_offsets(const Nest& nest, Side side, std::int64_t start, std::int64_t n, std::int64_t* out) noexcept {
  const auto stride = [&](int i) { return side == Side::kDst ? nest.modes[i].dst_stride : nest.modes[i].src_stride; };
  if (nest.rank == 0) {
    for (std::int64_t k = 0; k < n; ++k) out[k] = 0;
    return;
  }
  std::int64_t done = 0;
  while (done < n) {
    std::int64_t position = start + done;
    const std::int64_t first = position % nest.modes[0].extent;
    std::int64_t base = first * stride(0);
    position /= nest.modes[0].extent;
    for (int i = 1; i < nest.rank; ++i) {
      base += position % nest.modes[i].extent * stride(i);
      position /= nest.modes[i].extent;
    }
    const std::int64_t left = nest.modes[0].extent - first;
    const std::int64_t run = left < n - done ? left : n - done;
    const std::int64_t step = stride(0);
    for (std::int64_t k = 0; k < run; ++k) out[done + k] = base + k * step;
    done += run;
  }
}

}  // namespace restride::cpu
