#include "src/cpu/trace.h"

namespace restride::cpu {
namespace {

template <class... Of>
struct Overloaded : Of... {
  using Of::operator()...;
};

}  // namespace

plan::Trace trace(const CpuArgs& args, const layout::Canonical& c, std::int64_t piece) {
  plan::Trace t;
  t.piece = piece < 0 ? 0 : piece;
  const CommonArgs& common = args.common();
  t.src_unit = common.src_unit;
  t.dst_unit = common.dst_unit;
  if (common.tasks == 0) {
    t.pieces = 0;
    return t;
  }
  const TraceBase on{t, c.dst_offset + common.dst_shift, c.src_offset + common.src_shift};
  args.visit(Overloaded{
      [&](const RunArgs& a) { trace_run(a, on); }, [&](const RowsArgs& a) { trace_rows(a, on); },
      [&](const TileArgs& a) { trace_tiles(a, on); }, [&](const MatrixArgs& a) { trace_matrices(a, on); },
      [&](const PackedArgs& a) { trace_packed(a, on); }, [&](const BufferedArgs& a) { trace_buffered(a, on); },
      [&](const ChannelsArgs& a) { trace_channels(a, on); }, [&](const GatherArgs& a) { trace_gather(a, on); }});
  if (t.units_of_piece == 0) t.units_of_piece = static_cast<std::int64_t>(t.units.size());
  return t;
}

}  // namespace restride::cpu
