// The bids of the family channels.
#include "src/cpu/bid.h"
#include "src/base/checked.h"
#include "src/base/saturated.h"
#include "src/cpu/channels/find.h"
#include "src/cpu/channels/prepare.h"

namespace restride::cpu {

using layout::Canonical;
using layout::CopyMode;

namespace {

/// What the ends of a run of points in one plane take past the caches. Runs of whole lines are written whole; else both
/// ends' lines, with what is beside them, go through the caches. Split, they cost the more, the more planes there are.
double run_ends_ns(const Canonical& c, const Channels& channels, const CpuMachine& m) {
  const CopyMode& points = c.modes[channels.points];
  const std::int64_t extent = c.modes[channels.channels].extent;
  if (channels.together) {
    bool whole = points.extent * extent * c.dst_unit % m.line_bytes == 0;
    for (std::size_t i = 2; i < c.modes.size(); ++i) whole &= c.modes[i].dst_stride % m.line_bytes == 0;
    return (whole ? m.channels_join_whole_rows : m.channels_join_ragged_rows) * m.row_ns;
  }
  const bool whole = points.extent * c.src_unit % m.line_bytes == 0;
  return static_cast<double>(extent) * (whole ? m.channels_split_whole_rows : m.channels_split_ragged_rows) * m.row_ns;
}

/// Both directions: what is on the interleaved side is read or written once either way.
void bid_one(const Canonical& c, const Channels& channels, const CpuMachine& m, Bid* k) {
  k->applies = true;
  push_stream_and_near(k, c, m);
  const std::int64_t unit = channels.together ? c.dst_unit : c.src_unit;
  const std::int64_t extent = c.modes[channels.channels].extent;
  const bool stream = streams(c, m);
  const double units = static_cast<double>(c.units);
  const double runs = units / static_cast<double>(c.modes[channels.points].extent);  // in each plane
  if (!channels.together)
    k->read_lines =
        lines_for_runs(saturated_mul(c.src_bytes() / extent, channels.cell),
                       saturated_mul(c.modes[channels.points].extent, channels.cell * c.src_unit), m.line_bytes);
  const double lines = units * static_cast<double>(unit) / static_cast<double>(m.line_bytes);
  const double cast_ns = c.cast ? m.channels_cast_unit_ns * units : 0;
  if (stream && m.permutes(unit))
    set_time(k, (channels.together ? m.channels_join_lines : 1) * stream_ns(*k, m), runs * run_ends_ns(c, channels, m),
             cast_ns);
  else if (extent > kMostAtOnce || channels.cell > extent)
    set_time(k, stream_ns(*k, m), 0, cast_ns + units * m.unit_ns);
  else if (stream)
    set_time(k, m.channels_no_permutes * stream_ns(*k, m), runs * m.row_ns, cast_ns);
  else  // a few shuffles a vector, and no other way for a line to go
    set_time(k, 0, runs * m.row_ns, cast_ns + m.channels_shuffles * lines * m.shuffle_line_ns);
}

}  // namespace

void bid_channels(const Question& q, Bid* bids) {
  Bid& split = bids[0];
  Bid& join = bids[1];
  Channels channels;
  if (!find_channels(q.c, &channels)) {
    split.reason = join.reason = "no 2 to 8 interleaved channels lie in planes on the other side";
    return;
  }
  if (channels.together)
    split.reason = "interleaved channels are in dst";
  else
    join.reason = "interleaved channels are in src";
  bid_one(q.c, channels, q.machine, channels.together ? &join : &split);
}

}  // namespace restride::cpu
