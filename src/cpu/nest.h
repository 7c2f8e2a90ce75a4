// A loop nest over canonical modes, entered at any linear position: how tasks find their place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "src/layout/canonical.h"

namespace restride::cpu {

/// Modes that a kernel iterates outside its own block, innermost first. Room for a few lies inside; a plan of more
/// modes allocates, once, when it is prepared.
class Nest {
 public:
  static constexpr int kCapacity = layout::kMaxCopyModes;

  Nest() noexcept {}
  Nest(const Nest& other) { *this = other; }
  Nest(Nest&& other) noexcept { *this = std::move(other); }
  Nest& operator=(const Nest& other) {
    if (this == &other) return *this;
    rank_ = 0;
    for (const layout::CopyMode& m : other) push(m);
    return *this;
  }
  Nest& operator=(Nest&& other) noexcept {
    rank_ = other.rank_;
    more_ = std::move(other.more_);
    if (more_ == nullptr) std::copy_n(other.inline_, rank_, inline_);
    return *this;
  }

  void push(const layout::CopyMode& m) {
    if (rank_ == kInline && more_ == nullptr) {
      more_ = std::make_unique<layout::CopyMode[]>(kCapacity);
      std::copy_n(inline_, rank_, more_.get());
    }
    begin()[rank_++] = m;
  }
  int rank() const noexcept { return rank_; }
  layout::CopyMode* begin() noexcept { return more_ != nullptr ? more_.get() : inline_; }
  const layout::CopyMode* begin() const noexcept { return more_ != nullptr ? more_.get() : inline_; }
  const layout::CopyMode* end() const noexcept { return begin() + rank_; }
  const layout::CopyMode& operator[](int i) const noexcept { return begin()[i]; }
  std::int64_t points() const noexcept {
    std::int64_t n = 1;
    for (const layout::CopyMode& m : *this) n *= m.extent;
    return n;
  }

 private:
  static constexpr int kInline = 6;

  int rank_ = 0;
  union {  // `rank_` of them are set: to fill all would take as long as much of planning
    layout::CopyMode inline_[kInline];
  };
  std::unique_ptr<layout::CopyMode[]> more_;
};

/// A position in a nest and its byte offsets on both sides.
class NestCursor {
 public:
  NestCursor(const Nest& nest, std::int64_t position) noexcept : modes_(nest.begin()), rank_(nest.rank()) {
    for (int i = 0; i < rank_; ++i) {
      const std::int64_t e = modes_[i].extent;
      index_[i] = position % e;
      position /= e;
      dst_ += index_[i] * modes_[i].dst_stride;
      src_ += index_[i] * modes_[i].src_stride;
    }
  }
  std::int64_t dst() const noexcept { return dst_; }
  std::int64_t src() const noexcept { return src_; }
  std::int64_t index(int mode) const noexcept { return index_[mode]; }

  void next() noexcept { advance_from(0); }
  /// n points on, none of them beyond the end of mode 0.
  void next(std::int64_t n) noexcept {
    if (rank_ == 0) return;
    const layout::CopyMode& m = modes_[0];
    dst_ += (n - 1) * m.dst_stride;
    src_ += (n - 1) * m.src_stride;
    index_[0] += n - 1;
    advance_from(0);
  }

 private:
  void advance_from(int i) noexcept {
    for (; i < rank_; ++i) {
      const layout::CopyMode& m = modes_[i];
      dst_ += m.dst_stride;
      src_ += m.src_stride;
      if (++index_[i] < m.extent) return;
      index_[i] = 0;
      dst_ -= m.extent * m.dst_stride;
      src_ -= m.extent * m.src_stride;
    }
  }

  const layout::CopyMode* modes_;  ///< of a nest that outlives the cursor
  int rank_;
  std::int64_t dst_ = 0;
  std::int64_t src_ = 0;
  std::int64_t index_[Nest::kCapacity];
};

/// Which side's offsets a caller wants.
enum class Side { kDst, kSrc };

/// Byte offsets of points [start, start + n) of a nest on one side. Whole rows of the innermost mode at a time.
inline void fill_offsets(const Nest& nest, Side side, std::int64_t start, std::int64_t n, std::int64_t* out) noexcept {
  const layout::CopyMode* modes = nest.begin();
  const auto stride = [&](int i) { return side == Side::kDst ? modes[i].dst_stride : modes[i].src_stride; };
  if (nest.rank() == 0) {
    for (std::int64_t k = 0; k < n; ++k) out[k] = 0;
    return;
  }
  std::int64_t done = 0;
  while (done < n) {
    std::int64_t position = start + done;
    const std::int64_t first = position % modes[0].extent;
    std::int64_t base = first * stride(0);
    position /= modes[0].extent;
    for (int i = 1; i < nest.rank(); ++i) {
      base += position % modes[i].extent * stride(i);
      position /= modes[i].extent;
    }
    const std::int64_t left = modes[0].extent - first;
    const std::int64_t run = left < n - done ? left : n - done;
    const std::int64_t step = stride(0);
    for (std::int64_t k = 0; k < run; ++k) out[done + k] = base + k * step;
    done += run;
  }
}

}  // namespace restride::cpu
