#include "src/launch/cpu_prepare.h"

#include <fmt/format.h>

#include "src/kernels/cpu/cast.h"
#include "src/kernels/cpu/gather.h"
#include "src/kernels/cpu/run.h"
#include "src/kernels/cpu/tile.h"
#include "src/plan/cpu_sets.h"

namespace restride::launch {

using kernels::cpu::CpuArgs;
using layout::Canonical;
using plan::Family;
using plan::ParamId;

namespace {

CpuArgs common(const Canonical& c) {
  CpuArgs a;
  a.dst_unit = c.dst_unit;
  a.src_unit = c.src_unit;
  if (c.cast) {
    a.cast_run = kernels::cpu::cast_run(c.dst_dtype, c.src_dtype);
    a.cast_strided = kernels::cpu::cast_strided(c.dst_dtype, c.src_dtype);
  }
  a.units = c.units;
  return a;
}

CpuArgs prepare_run(const Canonical& c, const plan::Candidate& k) {
  CpuArgs a = common(c);
  a.kernel = kernels::cpu::run_kernel();
  a.tasks = c.units;
  a.align_tasks = 128;
  a.stream = k.get(ParamId::kStream) != 0;
  return a;
}

/// Puts canonical modes of a set into a nest and the others into the outer nest.
void split_modes(const Canonical& c, const plan::TileSets& sets, CpuArgs* a) {
  for (std::uint8_t m : sets.rows.modes) a->row_set.push(c.modes[m]);
  for (std::uint8_t m : sets.cols.modes) {
    layout::CopyMode mode = c.modes[m];
    if (sets.cols_backwards) {  // walk it the other way round, so that src ascends
      a->dst_shift += (mode.extent - 1) * mode.dst_stride;
      a->src_shift += (mode.extent - 1) * mode.src_stride;
      mode.dst_stride = -mode.dst_stride;
      mode.src_stride = -mode.src_stride;
    }
    a->col_set.push(mode);
  }
  for (std::size_t i = 0; i < c.modes.size(); ++i)
    if (!sets.rows.has(i) && !sets.cols.has(i)) a->nest.push(c.modes[i]);
}

[[noreturn]] void refuse(const plan::Candidate& k, const Canonical& c) {
  throw ParseError(fmt::format("plan: the parameters of family {} do not fit {}; plan again", plan::name(k.family), layout::to_string(c)));
}

CpuArgs prepare_tile(const Canonical& c, const plan::Candidate& k) {
  plan::TileSets sets;
  if (!plan::tile_sets(c, plan::kTileRowBytes, plan::kTileColBytes, &sets)) refuse(k, c);
  CpuArgs a = common(c);
  a.kernel = kernels::cpu::tile_kernel(c.dst_unit);
  a.stream = k.get(ParamId::kStream) != 0;
  split_modes(c, sets, &a);
  a.rows = sets.rows.points;
  a.cols = sets.cols.points;
  a.tile_rows = k.get(ParamId::kTileRows);
  a.tile_cols = k.get(ParamId::kTileCols);
  a.chunk_rows = k.get(ParamId::kBlockUnits);
  const std::int64_t unit = c.dst_unit;
  const std::int64_t line_rows = 64 / unit;
  const bool sane = a.tile_rows >= 1 && a.tile_rows <= kernels::cpu::kMaxTileRows && a.tile_cols >= 1 &&
                    a.tile_cols <= kernels::cpu::kMaxTileCols && a.chunk_rows >= a.tile_rows &&
                    a.tile_rows * ((a.tile_cols * unit + 63) / 64 * 64 + 64) <= kernels::cpu::kMaxTileBytes &&
                    a.tile_cols * (a.tile_rows * unit + 128) <= kernels::cpu::kMaxSinkBytes &&
                    (a.tile_rows >= a.rows || a.tile_rows % line_rows == 0) &&
                    (a.chunk_rows >= a.rows || a.chunk_rows % a.tile_rows == 0);
  if (!sane) refuse(k, c);
  const std::int64_t chunks = (a.rows + a.chunk_rows - 1) / a.chunk_rows;
  const std::int64_t blocks = (a.cols + a.tile_cols - 1) / a.tile_cols;
  a.tasks = a.nest.points() * chunks * blocks;
  return a;
}

CpuArgs prepare_gather(const Canonical& c) {
  CpuArgs a = common(c);
  a.kernel = kernels::cpu::gather;
  a.tasks = c.units;
  for (const layout::CopyMode& m : c.modes) a.nest.push(m);
  for (const layout::CopyMode& m : c.src_modes) a.src_nest.push(m);
  return a;
}

}  // namespace

CpuArgs prepare_cpu(const Canonical& c, const plan::Decision& d) {
  switch (d.chosen.family) {
    case Family::kRun: return prepare_run(c, d.chosen);
    case Family::kTile: return prepare_tile(c, d.chosen);
    case Family::kNoop: return CpuArgs{};
    default: return prepare_gather(c);
  }
}

}  // namespace restride::launch
