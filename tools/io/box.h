// Boxes of an index space and how a large one is cut into parts that fit a budget.
#pragma once

#include <cstdint>
#include <functional>

#include <restride/layout.hpp>

namespace restride::io {

/// Index tuples first[m] <= i[m] < first[m] + extent[m].
struct Box {
  detail::FixedVector<std::int64_t, kMaxRank> first;
  detail::FixedVector<std::int64_t, kMaxRank> extent;
};

/// All of a layout's indices.
Box whole(const Layout& layout);

/// The layout restricted to a box.
Layout restrict_to(const Layout& layout, const Box& box);

/// Modes from the largest absolute stride to the smallest.
detail::FixedVector<int, kMaxRank> slowest_first(const Layout& layout);

/// Bytes from the first to the last one that the layout touches.
std::uint64_t span_bytes(const Layout& layout);

/// About how many bytes of whole pages it touches; never less than it does when its strides nest.
std::uint64_t paged_bytes(const Layout& layout);

/// Visits disjoint parts of `box` that cover it, each with cost <= limit where a single index allows it.
/// Modes are cut in `order`, so that with slowest_first(dense layout) the parts are consecutive byte ranges.
/// `cost` must not grow when a box shrinks.
void split_box(const Box& box, const detail::FixedVector<int, kMaxRank>& order,
               const std::function<std::uint64_t(const Box&)>& cost, std::uint64_t limit,
               const std::function<void(const Box&)>& visit);

}  // namespace restride::io
