#include "tests/property/random_layout.h"

#include <algorithm>
#include <cstring>

#include "src/cpu/cast/cast.h"

namespace restride::test {
namespace {

Element random_element(Rng& rng) {
  if (pick(rng, 0, 5) == 0) {
    constexpr std::int64_t kSizes[] = {3, 5, 6, 7, 12, 20, 24, 33, 48};
    return Element::bytes(kSizes[pick(rng, 0, 8)]);
  }
  return Element(static_cast<DType>(pick(rng, 0, kDTypeCount - 1)));
}

/// Strides for these extents in a random nesting order, with random gaps: dense, padded, or odd.
Layout scatter(Rng& rng, Element element, const std::vector<std::int64_t>& extents, bool may_repeat, bool may_flip) {
  std::vector<std::size_t> order(extents.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
  if (pick(rng, 0, 4) != 0) std::shuffle(order.begin(), order.end(), rng);
  std::vector<std::int64_t> strides(extents.size(), 0);
  std::int64_t reach = element.size_bytes;
  const std::int64_t style = pick(rng, 0, 5);
  for (std::size_t i : order) {
    if (may_repeat && pick(rng, 0, 9) == 0) continue;  // stride 0
    std::int64_t stride = reach;
    if (style >= 3 && pick(rng, 0, 2) == 0) stride += element.size_bytes * pick(rng, 1, 3);
    if (style == 5 && pick(rng, 0, 2) == 0) stride += pick(rng, 1, 7);
    reach = stride * std::max<std::int64_t>(extents[i], 1);
    strides[i] = may_flip && pick(rng, 0, 7) == 0 ? -stride : stride;
  }
  return strided(element, extents, strides, pick(rng, 0, 3) == 0 ? pick(rng, -40, 40) : 0);
}

/// As scatter, for pixels: `channels` elements together, or backwards, with a gap behind them now and then.
Layout scatter_pixels(Rng& rng, Element element, const std::vector<std::int64_t>& extents, std::int64_t channels,
                      bool may_repeat) {
  const std::int64_t gap = pick(rng, 0, 2) == 0 ? pick(rng, 1, 5) : 0;
  const bool whole = pick(rng, 0, 3) != 0;  // the gap is elements, not bytes
  const std::int64_t bytes = channels * element.size_bytes + gap * (whole ? element.size_bytes : 1);
  Layout l = scatter(rng, Element::bytes(bytes), extents, may_repeat, true);
  l.element = element;
  const bool backwards = pick(rng, 0, 2) == 0;
  if (backwards) l.offset_bytes += (channels - 1) * element.size_bytes;
  l.modes.push_back({channels, backwards ? -element.size_bytes : element.size_bytes});
  return l;
}

/// A batch of images, interleaved on one side and planar on the other, in src perhaps last channel first.
Case scatter_channels(Rng& rng, Element src_element, Element dst_element) {
  const std::int64_t channels = pick(rng, 2, 4);
  const std::int64_t batch = pick(rng, 1, 3);
  const std::int64_t points = pick(rng, 20, 150);
  const std::int64_t pitch = points + pick(rng, 0, 3);
  const std::vector<std::int64_t> extents = {batch, channels, points};
  const auto side = [&](Element element, bool interleaved, bool last_first) {
    const std::int64_t bytes = element.size_bytes;
    const std::int64_t step = interleaved ? bytes : pitch * bytes;
    std::vector<std::int64_t> strides = {pitch * channels * bytes, step, interleaved ? channels * bytes : bytes};
    if (last_first) strides[1] = -step;
    return strided(element, extents, strides, last_first ? (channels - 1) * step : 0);
  };
  const bool together = pick(rng, 0, 1) == 0;
  return {side(dst_element, together, false), side(src_element, !together, pick(rng, 0, 3) == 0)};
}

/// The same count in other extents: neighbours merged, or one split.
std::vector<std::int64_t> reshaped(Rng& rng, std::vector<std::int64_t> extents) {
  for (int k = 0; k < 2 && !extents.empty(); ++k) {
    const auto i = static_cast<std::size_t>(pick(rng, 0, static_cast<std::int64_t>(extents.size()) - 1));
    if (i + 1 < extents.size() && pick(rng, 0, 1) == 0) {
      extents[i] *= extents[i + 1];
      extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    } else {
      for (std::int64_t f : {2, 3, 5})
        if (extents[i] > f && extents[i] % f == 0) {
          extents[i] /= f;
          extents.insert(extents.begin() + static_cast<std::ptrdiff_t>(i), f);
          break;
        }
    }
  }
  return extents;
}

}  // namespace

Case random_case(Rng& rng, const Limits& limits) {
  const auto rank = static_cast<std::size_t>(pick(rng, 0, limits.rank));
  std::vector<std::int64_t> extents;
  std::int64_t left = limits.elements;
  const std::int64_t style = pick(rng, 0, 3);
  for (std::size_t i = 0; i < rank; ++i) {
    std::int64_t hi = style == 0 ? 4 : style == 1 ? 33 : left;
    hi = std::max<std::int64_t>(1, std::min(hi, left));
    std::int64_t e = pick(rng, 1, hi);
    if (pick(rng, 0, 7) == 0) e = std::min<std::int64_t>(left, std::int64_t{1} << pick(rng, 0, 6));
    if (pick(rng, 0, 60) == 0) e = 0;
    extents.push_back(e);
    left /= std::max<std::int64_t>(e, 1);
  }
  std::shuffle(extents.begin(), extents.end(), rng);
  const Element src_element = random_element(rng);
  Element dst_element = src_element;
  if (limits.casts && pick(rng, 0, 3) == 0) {
    const Element other = random_element(rng);
    if (castable(other, src_element)) dst_element = other;
  }
  if (limits.elements >= 2000 && pick(rng, 0, 15) == 0) return scatter_channels(rng, src_element, dst_element);
  Case c;
  if (pick(rng, 0, 4) == 0) {
    const std::int64_t channels = pick(rng, 1, 9);
    for (std::int64_t& e : extents) e = e > channels ? e / channels : e;
    c.src = scatter_pixels(rng, src_element, extents, channels, true);
    c.dst = scatter_pixels(rng, dst_element, extents, channels, false);
    return c;
  }
  const bool other_shape = limits.reshapes && pick(rng, 0, 4) == 0;
  c.src = scatter(rng, src_element, extents, true, true);
  c.dst = scatter(rng, dst_element, other_shape ? reshaped(rng, extents) : extents, false, true);
  return c;
}

Arena::Arena(const Layout& layout, std::int64_t skew, std::uint64_t seed) {
  const auto [lo, hi] = byte_range(layout);
  bytes_.resize(static_cast<std::size_t>(hi - lo + 2 * kMargin + skew));
  origin_ = kMargin + skew - lo;
  for (std::uint8_t& b : bytes_) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    b = static_cast<std::uint8_t>(seed >> 56);
  }
}

void naive_copy(const Layout& dst, void* dst_data, const Layout& src, const void* src_data) {
  const std::int64_t n = dst.elements();
  const auto offset = [](const Layout& l, std::int64_t i) {
    std::int64_t at = l.offset_bytes;
    for (std::size_t m = l.modes.size(); m-- > 0; i /= l.modes[m].extent)
      at += i % l.modes[m].extent * l.modes[m].stride_bytes;
    return at;
  };
  for (std::int64_t i = 0; i < n; ++i) {
    std::byte* to = static_cast<std::byte*>(dst_data) + offset(dst, i);
    const std::byte* from = static_cast<const std::byte*>(src_data) + offset(src, i);
    if (dst.element == src.element)
      std::memcpy(to, from, static_cast<std::size_t>(src.element.size_bytes));
    else
      cpu::cast_strided(dst.element.dtype, src.element.dtype)(to, 0, from, 0, 1);
  }
}

}  // namespace restride::test
