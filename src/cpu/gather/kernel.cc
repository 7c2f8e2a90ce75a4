#include "src/cpu/gather/kernel.h"

#include <algorithm>
#include <cstring>

#include "src/cpu/far_apart.h"

namespace restride::cpu {
namespace {

/// One side's place in its own modes.
class SideCursor {
 public:
  SideCursor(const Nest& nest, bool dst_side, std::int64_t position) noexcept : nest_(nest), dst_side_(dst_side) {
    for (int i = 0; i < nest.rank(); ++i) {
      index_[i] = position % nest[i].extent;
      position /= nest[i].extent;
      offset_ += index_[i] * stride(i);
    }
  }
  std::int64_t offset() const noexcept { return offset_; }
  std::int64_t inner_stride() const noexcept { return nest_.rank() == 0 ? 0 : stride(0); }
  /// Units left before the innermost mode ends.
  std::int64_t left() const noexcept { return nest_.rank() == 0 ? 1 : nest_[0].extent - index_[0]; }

  void advance(std::int64_t n) noexcept {  // n <= left()
    for (int i = 0; i < nest_.rank(); ++i, n = 1) {
      index_[i] += n;
      offset_ += n * stride(i);
      if (index_[i] < nest_[i].extent) return;
      index_[i] = 0;
      offset_ -= nest_[i].extent * stride(i);
    }
  }

 private:
  std::int64_t stride(int i) const noexcept { return dst_side_ ? nest_[i].dst_stride : nest_[i].src_stride; }

  const Nest& nest_;
  bool dst_side_;
  std::int64_t offset_ = 0;
  std::int64_t index_[Nest::kCapacity];
};

template <std::size_t kUnit>
void move(std::byte* dst, std::int64_t dst_stride, const std::byte* src, std::int64_t src_stride,
          std::int64_t n) noexcept {
  const auto one = [=](std::int64_t i) { std::memcpy(dst + i * dst_stride, src + i * src_stride, kUnit); };
  if (is_far_apart(dst_stride) || is_far_apart(src_stride)) {
    for (std::int64_t i = 0; i < n; ++i) {
      wait_a_little();
      one(i);
    }
    return;
  }
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {  // a loop of one move takes one cycle or two, as it happens to lie in lines of code
    one(i);
    one(i + 1);
    one(i + 2);
    one(i + 3);
  }
  for (; i < n; ++i) one(i);
}

void move_units(const GatherArgs& a, std::byte* dst, std::int64_t dst_stride, const std::byte* src,
                std::int64_t src_stride, std::int64_t n) noexcept {
  if (a.cast_strided != nullptr) return a.cast_strided(dst, dst_stride, src, src_stride, static_cast<std::size_t>(n));
  switch (a.dst_unit) {
    case 1: return move<1>(dst, dst_stride, src, src_stride, n);
    case 2: return move<2>(dst, dst_stride, src, src_stride, n);
    case 4: return move<4>(dst, dst_stride, src, src_stride, n);
    case 8: return move<8>(dst, dst_stride, src, src_stride, n);
    default: return move<16>(dst, dst_stride, src, src_stride, n);
  }
}

}  // namespace

void gather(const GatherArgs& a, std::byte* dst, const std::byte* src, std::int64_t begin, std::int64_t end) noexcept {
  const bool two_sided = a.src_nest.rank() > 0;
  SideCursor to(a.nest, true, begin);
  SideCursor from(two_sided ? a.src_nest : a.nest, false, begin);
  while (begin < end) {
    const std::int64_t n = std::min({to.left(), from.left(), end - begin});
    move_units(a, dst + to.offset(), to.inner_stride(), src + from.offset(), from.inner_stride(), n);
    to.advance(n);
    from.advance(n);
    begin += n;
  }
}

}  // namespace restride::cpu
