#include "src/cpu/channels/find.h"

#include "src/base/checked.h"

namespace restride::cpu {

using layout::Canonical;
using layout::CopyMode;

namespace {

bool few(std::int64_t channels) { return channels >= 2 && channels <= kMaxChannels; }

bool same_size(std::int64_t stride, std::int64_t bytes) {
  return magnitude(stride) == static_cast<std::uint64_t>(bytes);
}

}  // namespace

bool find_channels(const Canonical& c, Channels* out) {
  if (c.two_sided || c.modes.size() < 2 || c.modes[0].dst_stride != c.dst_unit) return false;
  const CopyMode& first = c.modes[0];
  const CopyMode& second = c.modes[1];
  if (few(first.extent) && second.extent >= kMinChannelPoints && c.dst_unit <= 8 &&
      second.dst_stride == first.extent * c.dst_unit && second.src_stride == c.src_unit) {
    *out = {0, 1, first.extent, true};
    return true;
  }
  if (first.extent < kMinChannelPoints || c.src_unit > 8 || first.src_stride % c.src_unit != 0) return false;
  const std::int64_t cell = first.src_stride / c.src_unit;
  for (std::size_t m = 1; m < c.modes.size(); ++m) {
    const CopyMode& mode = c.modes[m];
    if (!few(mode.extent) || !same_size(mode.src_stride, c.src_unit)) continue;
    if (cell < mode.extent || cell > kMaxChannels) continue;
    *out = {m, 0, cell, false};
    return true;
  }
  return false;
}

}  // namespace restride::cpu
