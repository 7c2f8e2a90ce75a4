#include "src/cpu/channels/prepare.h"

#include <algorithm>

#include "src/base/checked.h"
#include "src/cpu/channels/find.h"
#include "src/cpu/channels/kernel.h"
#include "src/cpu/prepare.h"

namespace restride::cpu {

using layout::Canonical;

namespace {

ChannelsArgs prepare(const Canonical& c, const plan::Candidate& k, bool join) {
  Channels channels;
  if (!find_channels(c, &channels) || channels.together != join) refuse(k, c);
  ChannelsArgs a;
  set_common(c, k, &a);
  a.kernel = channels_kernel(join);
  a.channels = c.modes[channels.channels];
  if (!join && a.channels.src_stride < 0) reverse(&a.channels, &a);
  const layout::CopyMode& points = c.modes[channels.points];
  // Pieces of about one size; whole lines, so that all start as the first does.
  const std::int64_t goal = kChannelPieceBytes / (join ? c.dst_unit : c.src_unit);
  const std::int64_t most = ceil_div(points.extent, ceil_div(points.extent, goal));
  const std::int64_t piece = std::min(ceil_div(most, std::int64_t{64}) * 64, points.extent);
  const std::int64_t pieces = ceil_div(points.extent, piece);
  a.point_src_stride = points.src_stride;
  a.points = piece;
  a.last_points = points.extent - (pieces - 1) * piece;
  a.nest.push({pieces, piece * points.dst_stride, piece * points.src_stride});
  for (std::size_t m = 0; m < c.modes.size(); ++m)
    if (m != channels.channels && m != channels.points) a.nest.push(c.modes[m]);
  a.tasks = a.nest.points();
  return a;
}

}  // namespace

ChannelsArgs prepare_channels_split(const Canonical& c, const plan::Candidate& k, int) { return prepare(c, k, false); }
ChannelsArgs prepare_channels_join(const Canonical& c, const plan::Candidate& k, int) { return prepare(c, k, true); }

}  // namespace restride::cpu
