// The naive loop: two layouts walked together in C order, each with its own odometer. Everything a benchmark
// holds to be right is defined by this one function, so it is kept short enough to check by eye.
#pragma once

#include <algorithm>
#include <cstdint>

#include <restride/layout.hpp>

namespace restride::bench {

/// A position in one layout: indices of every mode and the byte offset they lead to.
class Odometer {
 public:
  /// Starts at element `position` of the layout's C order. The layout must outlive the odometer.
  Odometer(const Layout& layout, std::int64_t position) : layout_(layout), offset_(layout.offset_bytes) {
    for (int m = 0; m < layout.rank(); ++m) index_.push_back(0);
    for (int m = layout.rank() - 1; m >= 0; --m) {
      index_[m] = position % layout.modes[m].extent;
      position /= layout.modes[m].extent;
      offset_ += index_[m] * layout.modes[m].stride_bytes;
    }
  }

  std::int64_t offset() const noexcept { return offset_; }
  std::int64_t stride() const noexcept { return layout_.rank() == 0 ? 0 : inner().stride_bytes; }
  /// Elements left in the innermost mode, this one included.
  std::int64_t left() const noexcept { return layout_.rank() == 0 ? 1 : inner().extent - index_[layout_.rank() - 1]; }

  /// Steps over `n` <= left() elements, carrying into the outer modes.
  void advance(std::int64_t n) noexcept {
    int m = layout_.rank() - 1;
    if (m < 0) return;
    index_[m] += n;
    offset_ += n * layout_.modes[m].stride_bytes;
    while (index_[m] == layout_.modes[m].extent && m > 0) {
      offset_ -= index_[m] * layout_.modes[m].stride_bytes;
      index_[m] = 0;
      --m;
      ++index_[m];
      offset_ += layout_.modes[m].stride_bytes;
    }
  }

 private:
  const Mode& inner() const noexcept { return layout_.modes[layout_.rank() - 1]; }
  const Layout& layout_;
  detail::FixedVector<std::int64_t, kMaxRank> index_;
  std::int64_t offset_ = 0;
};

/// Calls body(dst_offset, dst_stride, src_offset, src_stride, n) for runs of n elements that cover the elements
/// [first, last) of the C order; offsets and strides in bytes. Both layouts hold at least `last` elements.
template <class Body>
void walk(const Layout& dst, const Layout& src, std::int64_t first, std::int64_t last, Body&& body) {
  if (first >= last) return;
  Odometer to(dst, first), from(src, first);
  for (std::int64_t at = first; at < last;) {
    const std::int64_t n = std::min({to.left(), from.left(), last - at});
    body(to.offset(), to.stride(), from.offset(), from.stride(), n);
    to.advance(n);
    from.advance(n);
    at += n;
  }
}

}  // namespace restride::bench
