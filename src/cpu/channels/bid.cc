// The bid of the family channels.
#include "src/cpu/channels/bid.h"

#include "src/base/checked.h"
#include "src/base/saturated.h"
#include "src/cpu/bid.h"

namespace restride::cpu {

using layout::Canonical;
using layout::CopyMode;

namespace {

bool few(std::int64_t channels) { return channels >= 2 && channels <= kMaxChannels; }

/// What the ends of a run of points take past the caches. Runs of whole lines are written whole; else both ends' lines,
/// with what is beside them, go through the caches.
double run_ends_ns(const Canonical& c, const Channels& channels, const CpuMachine& m) {
  const CopyMode& points = c.modes[channels.points];
  const std::int64_t extent = c.modes[channels.channels].extent;
  if (channels.together) {
    bool whole = points.extent * extent * c.dst_unit % m.line_bytes == 0;
    for (std::size_t i = 2; i < c.modes.size(); ++i) whole &= c.modes[i].dst_stride % m.line_bytes == 0;
    return (whole ? 2 : 12) * m.row_ns;
  }
  const bool whole = points.extent * c.src_unit % m.line_bytes == 0;
  return static_cast<double>(extent) * (whole ? 10 : 16) * m.row_ns;
}

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

Bid bid_channels(const Canonical& c, const CpuMachine& m) {
  Bid k = base_bid(c, m);
  Channels channels;
  if (!find_channels(c, &channels)) {
    k.reason = "no 2 to 8 interleaved channels lie in planes on the other side";
    return k;
  }
  push_stream_and_near(&k, c, m);
  const std::int64_t unit = channels.together ? c.dst_unit : c.src_unit;
  const std::int64_t extent = c.modes[channels.channels].extent;
  const bool stream = k.get(ParamId::kStream) != 0;
  k.applies = true;
  const double units = static_cast<double>(c.units);
  const double runs = units / static_cast<double>(c.modes[channels.points].extent);
  if (!channels.together)
    k.read_lines =
        lines_for_runs(saturated_mul(c.src_bytes() / extent, channels.cell),
                       saturated_mul(c.modes[channels.points].extent, channels.cell * c.src_unit), m.line_bytes);
  const double lines = units * static_cast<double>(unit) / static_cast<double>(m.line_bytes);
  const double cast_ns = c.cast ? 0.05 * units : 0;  // a pass of its own over what the first cache holds
  if (stream && unit >= m.least_shuffled_unit)
    set_time(&k, stream_ns(k, m), runs * run_ends_ns(c, channels, m), cast_ns);
  else if (extent > kMostAtOnce || channels.cell > extent)
    set_time(&k, stream_ns(k, m), 0, cast_ns + units * m.unit_ns);
  else if (stream)
    set_time(&k, 2 * stream_ns(k, m), runs * m.row_ns, cast_ns);
  else  // a few shuffles a vector, and no other way for a line to go
    set_time(&k, 0, runs * m.row_ns, cast_ns + 0.7 * lines * m.shuffle_line_ns);
  return k;
}

}  // namespace restride::cpu
