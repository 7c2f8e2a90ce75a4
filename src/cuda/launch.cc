// Which family's launcher gets a prepared launch.
#include "src/cuda/launchers.h"

namespace restride::cuda {

int launch(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream, void* encode_tensor_map) noexcept {
  switch (args.key.family) {
    case plan::Family::kNoop: return 0;
    case plan::Family::kRun:
    case plan::Family::kRows:
      if (std::holds_alternative<PixelsArgs>(args.args)) return launch_rows_pixels(args, dst, src, stream);
      if (std::holds_alternative<ShortRowsArgs>(args.args)) return launch_rows_short(args, dst, src, stream);
      return args.key.cast ? launch_rows_cast(args, dst, src, stream) : launch_rows(args, dst, src, stream);
    case plan::Family::kTile:
      switch (args.key.variant) {
        case kTileBulk: return launch_tile_bulk(args, dst, src, stream, encode_tensor_map);
        case kTileAligned: return launch_tile_aligned(args, dst, src, stream);
        case kTileChains: return launch_tile_chains(args, dst, src, stream);
        case kTilePixels:
        case kTilePixelsBackwards: return launch_tile_pixels(args, dst, src, stream);
        default: return launch_tile(args, dst, src, stream);
      }
    case plan::Family::kPacked:
      if (std::holds_alternative<DirectArgs>(args.args)) return launch_packed_direct(args, dst, src, stream);
      return std::holds_alternative<RecordsArgs>(args.args) ? launch_packed_records(args, dst, src, stream)
                                                            : launch_packed(args, dst, src, stream);
    case plan::Family::kBuffered:  // the CPU's own
    case plan::Family::kChannels:
    case plan::Family::kGather: return launch_gather(args, dst, src, stream);
  }
  return 1;  // cudaErrorInvalidValue
}

}  // namespace restride::cuda
