// From a decision to the arguments of its kernel.
#include "src/cuda/bids.h"
#include "src/cuda/launchers.h"

namespace restride::cuda {

namespace {

/// The fastest of tile's kernels that a copy allows; by bulk tensor copies only where the plan says so.
std::uint8_t tile_variant(const layout::Canonical& c, const plan::Candidate& chosen) {
  const std::string_view kernel = chosen.kernel.text;
  const std::int64_t col_mode = chosen.get(plan::ParamId::kColMode);
  if (chosen.get(plan::ParamId::kBoundaryBytes) != 0) return kTileCollect;
  if (kernel == "tile/bulk" && tile_by_bulk(c, col_mode)) return kTileBulk;
  if (tile_on_words(c, col_mode)) return kTileAligned;
  return tile_in_registers(c, col_mode) ? kTileBlock : kTileCollect;
}

}  // namespace

CudaArgs prepare_cuda(const layout::Canonical& c, const plan::Decision& decision) {
  const plan::Candidate& chosen = decision.chosen;
  CudaArgs out;
  out.key.family = chosen.kernel.family;
  const std::string_view kernel = chosen.kernel.text;
  out.key.src_unit = static_cast<std::uint8_t>(c.src_unit);
  out.key.dst_unit = static_cast<std::uint8_t>(c.dst_unit);
  out.key.cast = c.cast;
  out.key.src_dtype = c.src_dtype;
  out.key.dst_dtype = c.dst_dtype;
  switch (chosen.kernel.family) {
    case plan::Family::kNoop: break;
    case plan::Family::kRun:
    case plan::Family::kRows:
      if (kernel == "rows/pixels") {
        out.key.variant = static_cast<std::uint8_t>(pixels_kind(c));
        out.args = pixels_args(c);
        break;
      }
      if (kernel == "rows/short") {
        out.args = short_rows_args(c);
        break;
      }
      out.key.variant = static_cast<std::uint8_t>(rows_kind(c, chosen.get(plan::ParamId::kVectorBytes, 16)));
      out.args = rows_args(c, chosen);
      break;
    case plan::Family::kTile:
      if (kernel == "tile/chains") {
        out.key.variant = kTileChains;
        out.args = chain_args(c, chosen);
        break;
      }
      if (kernel == "tile/pixels") {
        out.key.variant =
            chosen.get(plan::ParamId::kRowMode) == 1 && c.modes[0].src_stride < 0 ? kTilePixelsBackwards : kTilePixels;
        out.args = tile_pixels_args(c, chosen);
        break;
      }
      out.key.variant = tile_variant(c, chosen);
      out.key.stages = static_cast<std::uint8_t>(chosen.get(plan::ParamId::kStages, 1));
      out.args = tile_args(c, chosen);
      break;
    case plan::Family::kPacked:
      if (kernel == "packed/records")
        out.args = records_args(c, chosen);
      else if (kernel == "packed/direct")
        out.args = direct_args(c, chosen);
      else
        out.args = packed_args(c, chosen);
      break;
    case plan::Family::kBuffered:  // the CPU's own
    case plan::Family::kChannels:
    case plan::Family::kGather:
      out.key.variant = static_cast<std::uint8_t>(chosen.get(plan::ParamId::kIndexBits, 64));
      out.args = gather_args(c, chosen);
      break;
  }
  return out;
}

}  // namespace restride::cuda
