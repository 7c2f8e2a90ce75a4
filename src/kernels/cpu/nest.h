// A loop nest over canonical modes, entered at any linear position: how tasks find their place.
#pragma once

#include <cstdint>

#include "src/layout/canonical.h"

namespace restride::kernels::cpu {

/// Modes that a kernel iterates outside its own block, innermost first. Plain data.
struct Nest {
  static constexpr int kCapacity = layout::kMaxCopyModes;
  int rank = 0;
  layout::CopyMode modes[kCapacity];

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

}  // namespace restride::kernels::cpu
