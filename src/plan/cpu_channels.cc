// The bid of the family channels.
#include "src/plan/cpu_channels.h"

#include "src/base/checked.h"
#include "src/plan/cpu_bids.h"

namespace restride::plan {

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
    *out = {0, 1, true};
    return true;
  }
  if (first.extent < kMinChannelPoints || c.src_unit > 8) return false;
  for (std::size_t m = 1; m < c.modes.size(); ++m) {
    const CopyMode& mode = c.modes[m];
    if (!few(mode.extent) || !same_size(mode.src_stride, c.src_unit)) continue;
    if (first.src_stride != mode.extent * c.src_unit) continue;
    *out = {m, 0, false};
    return true;
  }
  return false;
}

Candidate bid_channels(const Canonical& c, const CpuMachine& m) {
  Candidate k = base_bid(Family::kChannels, c, m);
  Channels channels;
  if (!find_channels(c, &channels)) {
    k.reason = "no 2 to 4 interleaved channels lie in planes on the other side";
    return k;
  }
  if (c.dst_bytes() >= m.stream_from_bytes) {
    k.reason = "an output of this size bypasses the caches, which other families do";
    return k;
  }
  k.applies = true;
  const double units = static_cast<double>(c.units);
  const double runs = units / static_cast<double>(c.modes[channels.points].extent);
  // A few shuffles a vector, and no other way for a line to go; a cast is a pass of its own over what the first cache
  // holds.
  const double lines = units * (channels.together ? c.dst_unit : c.src_unit) / static_cast<double>(m.line_bytes);
  k.predicted.time_ns = 0.7 * lines * m.shuffle_line_ns + (c.cast ? 0.05 * units : 0) + runs * m.row_ns;
  return k;
}

}  // namespace restride::plan
