#include "src/cpu/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "src/base/checked.h"
#include "src/cpu/buffered/bid.h"
#include "src/cpu/buffered/kernel.h"
#include "src/cpu/buffered/prepare.h"
#include "src/cpu/cast/cast.h"
#include "src/cpu/channels/bid.h"
#include "src/cpu/channels/kernel.h"
#include "src/cpu/gather/kernel.h"
#include "src/cpu/order.h"
#include "src/cpu/packed/kernel.h"
#include "src/cpu/packed/prepare.h"
#include "src/cpu/records.h"
#include "src/cpu/rows/kernel.h"
#include "src/cpu/rows/records.h"
#include "src/cpu/run/kernel.h"
#include "src/cpu/sets.h"
#include "src/cpu/tile/kernel.h"
#include "src/cpu/tile/prepare.h"
#include "src/cpu/tile/records.h"
#include "src/plan/tile_order.h"

namespace restride::cpu {

using layout::Canonical;
using plan::Family;
using plan::ParamId;

namespace {

/// What src goes up to, if it has no gaps; where it has, nothing may be read that no unit is in.
std::int64_t dense_end(const Canonical& c) {
  std::int64_t bytes = c.src_unit;
  for (const std::uint8_t m : layout::modes_by_src_stride(c)) {
    if (c.modes[m].src_stride != bytes) return INT64_MIN / 2;
    bytes *= c.modes[m].extent;
  }
  return bytes;
}

CpuArgs common(const Canonical& c, const plan::Candidate& k) {
  CpuArgs a;
  a.stream = k.get(ParamId::kStream) != 0;
  a.near = k.get(ParamId::kNear) != 0;
  a.dst_unit = c.dst_unit;
  a.src_unit = c.src_unit;
  if (c.cast) {
    a.cast_run = cast_run(c.dst_dtype, c.src_dtype);
    a.cast_strided = cast_strided(c.dst_dtype, c.src_dtype);
  }
  a.units = c.units;
  if (!c.two_sided) a.src_end = dense_end(c);
  return a;
}

[[noreturn]] void refuse(const plan::Candidate& k, const Canonical& c) {
  throw ParseError(fmt::format("plan: the parameters of {} do not fit {}; plan again", k.kernel.text,
                               layout::to_string(c)));
}

/// What the units of `a` are made of.
void take_record(const Records& records, CpuArgs* a) {
  a->record_unit = records.unit_bytes;
  a->record_reversed = records.reversed;
  if (records.reversed) a->src_shift -= a->dst_unit - a->record_unit;
}

CpuArgs prepare_tile_records(const Canonical& c, const plan::Candidate& k, int threads) {
  Records records;
  TileSets sets;
  if (!tile_records(c, &records) || records.copy.dst_unit != k.get(ParamId::kRecordBytes) ||
      !tile_sets(records.copy, kTileRowBytes, kTileColBytes, &sets))
    refuse(k, c);
  CpuArgs a = common(records.copy, k);
  a.kernel = record_kernel(a.dst_unit, a.src_unit, records.reversed);
  take_record(records, &a);
  split_modes(records.copy, sets, &a);
  if (!take_tile(k, sets, kMaxRecordColumnBytes, 1, &a)) refuse(k, c);
  const std::int64_t block = kMaxRecordBlockCols;  // whole ones are read from the stage
  if (ceil_div(a.tile_cols, block) * block * a.src_unit > kMaxTileRowBytes) refuse(k, c);
  share_tiles(threads, &a);
  return a;
}

CpuArgs prepare_tile(const Canonical& c, const plan::Candidate& k, int threads) {
  if (k.get(ParamId::kRecordBytes) != 0) return prepare_tile_records(c, k, threads);
  TileSets sets;
  if (!tile_sets(c, kTileRowBytes, kTileColBytes, &sets)) refuse(k, c);
  CpuArgs a = common(c, k);
  a.kernel = tile_kernel(c.dst_unit);
  split_modes(c, sets, &a);
  const std::int64_t block_cols = 16 / c.dst_unit;  // a sink carries whole blocks of columns from tile to tile
  if (!take_tile(k, sets, kMaxColumnBytes, block_cols, &a)) refuse(k, c);
  if (!a.stream && k.get(ParamId::kDirect) != 0) {
    if (!plain_matrices(c, sets)) refuse(k, c);
    a.direct = true;
    share_matrices(&a);
    a.tasks = a.nest.points();
  } else {
    share_tiles(threads, &a);
  }
  return a;
}

/// Rows of `c`, whose units are canonical ones or records.
CpuArgs rows_args(const Canonical& c, const plan::Candidate& k) {
  constexpr auto kFollowSrc = static_cast<std::int64_t>(plan::TileOrder::kSrc);
  if (const std::int64_t order = k.get(ParamId::kOrder); order != 0 && order != kFollowSrc) refuse(k, c);
  CpuArgs a = common(c, k);
  a.kernel = rows_kernel();
  a.units = c.modes[0].extent;
  a.row_src_stride = c.modes[0].src_stride;
  a.row_dst_stride = c.modes[0].dst_stride;
  const std::int64_t cell = std::max({std::abs(a.row_src_stride), std::int64_t{c.src_unit}, std::int64_t{c.dst_unit}});
  const std::int64_t piece = a.near && cell <= kMostAskedCell ? kNearPieceBytes / cell : kRowPieceBytes / c.dst_unit;
  if (a.units >= 2 * piece) {  // so that threads can share even one row
    const std::int64_t pieces = ceil_div(a.units, piece);
    a.last_units = a.units - (pieces - 1) * piece;
    a.units = piece;
    a.nest.push({pieces, piece * a.row_dst_stride, piece * a.row_src_stride});
  }
  if (c.modes.size() > 1) order_rows(c, k.get(ParamId::kOrder) == kFollowSrc, &a.nest);
  a.tasks = a.nest.points();
  return a;
}

CpuArgs prepare_run(const Canonical& c, const plan::Candidate& k) {
  CpuArgs a = common(c, k);
  if (a.near && !c.modes.empty()) return rows_args(c, k);  // the pieces of one row
  a.kernel = run_kernel();
  a.tasks = c.units;
  a.row_src_stride = c.src_unit;
  a.align_tasks = 128;
  return a;
}

CpuArgs prepare_rows(const Canonical& c, const plan::Candidate& k) {
  CpuArgs a;
  if (k.get(ParamId::kRecordBytes) != 0) {
    Records records;
    if (!row_records(c, &records) || records.copy.dst_unit != k.get(ParamId::kRecordBytes)) refuse(k, c);
    a = rows_args(records.copy, k);
    a.kernel = record_rows_kernel();
    take_record(records, &a);
  } else {
    if (c.two_sided || c.modes.empty() || c.modes[0].dst_stride != c.dst_unit) refuse(k, c);
    a = rows_args(c, k);
  }
  return a;
}

CpuArgs prepare_packed(const Canonical& c, const plan::Candidate& k) {
  PackedSets sets;
  const std::int64_t run = k.get(ParamId::kRunBytes);
  const std::int64_t max_units = std::min<std::int64_t>(kPackedUnits, kPackedBytes / c.dst_unit);
  static_assert(kPackedUnits <= kMaxPackedUnits && kPackedBytes <= kMaxPackedBytes && kPackedRuns <= kMaxPackedRuns &&
                kPackedModes <= Packed::kCapacity);
  const std::int64_t read = k.get(ParamId::kReadBytes, run);
  const bool sane = run >= 1 && run <= kPackedRunBytes && read >= 1 && read <= kPackedRunBytes &&
                    packed_sets(c, run, read, max_units, kPackedModes, &sets);
  if (!sane) refuse(k, c);
  CpuArgs a = common(c, k);
  a.kernel = packed_kernel(c.dst_unit);
  fill_packed(c, sets, &a);
  a.tasks = a.nest.points();
  return a;
}

CpuArgs prepare_buffered(const Canonical& c, const plan::Candidate& k) {
  static_assert(kBufferedBytes <= kMaxBufferedBytes && kBufferedPoints <= kMaxBufferedPoints &&
                kBufferedModes <= BufferedBlock::kCapacity);
  BufferedSets sets;
  const std::int64_t dst_bytes = k.get(ParamId::kRunBytes);
  const std::int64_t src_bytes = k.get(ParamId::kReadBytes);
  const bool sane = dst_bytes >= 1 && dst_bytes <= kBufferedBytes && src_bytes >= 1 && src_bytes <= kBufferedBytes &&
                    buffered_sets(c, dst_bytes, src_bytes, &sets);
  if (!sane) refuse(k, c);
  CpuArgs a = common(c, k);
  a.kernel = buffered_kernel();
  fill_block(c, sets, &a);
  a.tasks = a.nest.points();
  return a;
}

CpuArgs prepare_channels(const Canonical& c, const plan::Candidate& k) {
  Channels channels;
  if (!find_channels(c, &channels)) refuse(k, c);
  CpuArgs a = common(c, k);
  layout::CopyMode mode = c.modes[channels.channels];
  if (!channels.together && mode.src_stride < 0) turn(&mode, &a);
  a.kernel = channels_kernel(channels.together);
  a.col_set.push(mode);
  const layout::CopyMode& points = c.modes[channels.points];
  // Pieces of about one size; whole lines, so that all start as the first does.
  const std::int64_t goal = kChannelPieceBytes / (channels.together ? c.dst_unit : c.src_unit);
  const std::int64_t most = ceil_div(points.extent, ceil_div(points.extent, goal));
  const std::int64_t piece = std::min(ceil_div(most, std::int64_t{64}) * 64, points.extent);
  const std::int64_t pieces = ceil_div(points.extent, piece);
  a.row_src_stride = points.src_stride;
  a.units = piece;
  a.last_units = points.extent - (pieces - 1) * piece;
  a.nest.push({pieces, piece * points.dst_stride, piece * points.src_stride});
  for (std::size_t m = 0; m < c.modes.size(); ++m)
    if (m != channels.channels && m != channels.points) a.nest.push(c.modes[m]);
  a.tasks = a.nest.points();
  return a;
}

CpuArgs prepare_gather(const Canonical& c, const plan::Candidate& k) {
  CpuArgs a = common(c, k);
  a.kernel = gather;
  a.tasks = c.units;
  for (const layout::CopyMode& m : c.modes) a.nest.push(m);
  for (const layout::CopyMode& m : c.src_modes) a.src_nest.push(m);
  return a;
}

}  // namespace

CpuArgs prepare_cpu(const Canonical& c, const plan::Decision& d, int threads) {
  for (const ParamId flag : {ParamId::kStream, ParamId::kDirect, ParamId::kNear})
    if (const std::int64_t value = d.chosen.get(flag); value < 0 || value > 1) refuse(d.chosen, c);
  switch (d.chosen.kernel.family) {
    case Family::kRun: return prepare_run(c, d.chosen);
    case Family::kRows: return prepare_rows(c, d.chosen);
    case Family::kPacked: return prepare_packed(c, d.chosen);
    case Family::kTile: return prepare_tile(c, d.chosen, threads);
    case Family::kBuffered: return prepare_buffered(c, d.chosen);
    case Family::kChannels: return prepare_channels(c, d.chosen);
    case Family::kNoop: return CpuArgs{};
    default: return prepare_gather(c, d.chosen);
  }
}

}  // namespace restride::cpu
