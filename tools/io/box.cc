#include "tools/io/box.h"

#include <algorithm>
#include <cstdlib>

namespace restride::io {
namespace {

constexpr std::uint64_t kPageBytes = 4096;

std::uint64_t magnitude(std::int64_t v) {
  return v < 0 ? 0 - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v);
}

// Cuts of more than this many indices are whole multiples of it, so that kernels see whole tiles.
constexpr std::int64_t kGrain = 64;

class Splitter {
 public:
  Splitter(const detail::FixedVector<int, kMaxRank>& order, const std::function<std::uint64_t(const Box&)>& cost,
           std::uint64_t limit, const std::function<void(const Box&)>& visit)
      : order_(order), cost_(cost), limit_(limit), visit_(visit) {}

  void split(Box& box, std::size_t level) const {
    if (level == order_.size() || cost_(box) <= limit_) return visit_(box);
    const auto mode = static_cast<std::size_t>(order_[level]);
    const std::int64_t first = box.first[mode], extent = box.extent[mode];
    const std::int64_t step = largest_step(box, mode);
    for (std::int64_t at = 0; at < extent; at += step) {
      box.first[mode] = first + at;
      box.extent[mode] = std::min(step, extent - at);
      split(box, level + 1);
    }
    box.first[mode] = first;
    box.extent[mode] = extent;
  }

 private:
  // The most indices of a mode that fit the limit; 1 where not even one does.
  std::int64_t largest_step(const Box& box, std::size_t mode) const {
    Box part = box;
    std::int64_t fits = 1, above = box.extent[mode];
    while (above - fits > 1) {
      part.extent[mode] = fits + (above - fits) / 2;
      (cost_(part) <= limit_ ? fits : above) = part.extent[mode];
    }
    return fits > kGrain ? fits / kGrain * kGrain : fits;
  }

  const detail::FixedVector<int, kMaxRank>& order_;
  const std::function<std::uint64_t(const Box&)>& cost_;
  std::uint64_t limit_;
  const std::function<void(const Box&)>& visit_;
};

}  // namespace

Box whole(const Layout& layout) {
  Box box;
  for (const Mode& mode : layout.modes) {
    box.first.push_back(0);
    box.extent.push_back(mode.extent);
  }
  return box;
}

Layout restrict_to(const Layout& layout, const Box& box) {
  Layout part = layout;
  for (std::size_t m = 0; m < part.modes.size(); ++m) {
    part.modes[m].extent = box.extent[m];
    part.offset_bytes += box.first[m] * part.modes[m].stride_bytes;
  }
  return part;
}

detail::FixedVector<int, kMaxRank> slowest_first(const Layout& layout) {
  detail::FixedVector<int, kMaxRank> order;
  for (int m = 0; m < layout.rank(); ++m) order.push_back(m);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const auto stride = [&](int m) { return magnitude(layout.modes[static_cast<std::size_t>(m)].stride_bytes); };
    return stride(a) > stride(b);
  });
  return order;
}

std::uint64_t span_bytes(const Layout& layout) {
  const auto [first, last] = byte_range(layout);
  return static_cast<std::uint64_t>(last - first);
}

std::uint64_t paged_bytes(const Layout& layout) {
  const auto order = slowest_first(layout);
  std::uint64_t dense = static_cast<std::uint64_t>(layout.element.size_bytes), pieces = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const Mode& mode = layout.modes[static_cast<std::size_t>(order[i])];
    const std::uint64_t stride = magnitude(mode.stride_bytes), n = static_cast<std::uint64_t>(mode.extent);
    if (n <= 1 || stride == 0) continue;
    // Neighbours that share a page or touch one another make one longer piece; others are pieces of their own.
    if (pieces == 1 && stride < dense + kPageBytes)
      dense += (n - 1) * stride;
    else
      pieces *= n;
  }
  const std::uint64_t piece = (dense + 2 * kPageBytes - 1) / kPageBytes * kPageBytes;
  return std::min(pieces * piece, span_bytes(layout) + 2 * kPageBytes);
}

void split_box(const Box& box, const detail::FixedVector<int, kMaxRank>& order,
               const std::function<std::uint64_t(const Box&)>& cost, std::uint64_t limit,
               const std::function<void(const Box&)>& visit) {
  Box part = box;
  Splitter(order, cost, limit, visit).split(part, 0);
}

}  // namespace restride::io
