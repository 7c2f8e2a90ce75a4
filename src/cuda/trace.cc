#include "src/cuda/trace.h"

#include "src/cuda/kernels.h"

namespace restride::cuda {
namespace {

template <class... Of>
struct Overloaded : Of... {
  using Of::operator()...;
};

}  // namespace

plan::Trace trace(const CudaArgs& args, std::int64_t piece) {
  plan::Trace t;
  t.piece = piece < 0 ? 0 : piece;
  t.src_unit = args.units.src;
  t.dst_unit = args.units.dst;
  std::visit(
      Overloaded{
          [&](std::monostate) { t.pieces = 0; }, [&](const RowsArgs& a) { trace_rows(a, args, t); },
          [&](const PixelsArgs& a) { trace_pixels(a, t); }, [&](const ShortRowsArgs& a) { trace_short_rows(a, t); },
          [&](const TileArgs& a) { trace_tiles(a, args, t); }, [&](const BulkTileArgs& a) { trace_bulk_tiles(a, t); },
          [&](const ChainArgs& a) { trace_chains(a, t); }, [&](const PixelTileArgs& a) { trace_pixel_tiles(a, t); },
          [&](const UnalignedChainArgs& a) { trace_unaligned_chains(a, t); },
          [&](const PackedArgs& a) { trace_staged(a, args, t); },
          [&](const RecordsArgs& a) { trace_records(a, args, t); }, [&](const DirectArgs& a) { trace_direct(a, t); },
          [&](const BatchArgs& a) { trace_batches(a, t); }, [&](const GatherArgs& a) { trace_gather(a, t); }},
      args.args);
  t.units_of_piece = static_cast<std::int64_t>(t.units.size());
  return t;
}

}  // namespace restride::cuda
