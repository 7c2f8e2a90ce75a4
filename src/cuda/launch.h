// A prepared launch: what a plan keeps for its kernel, and where it is to run. Host only: no CUDA headers.
#pragma once

#include <cstdint>
#include <variant>

#include "src/cuda/gather/map.h"
#include "src/cuda/packed/batches_map.h"
#include "src/cuda/packed/direct_map.h"
#include "src/cuda/packed/records_map.h"
#include "src/cuda/packed/staged_map.h"
#include "src/cuda/rows/pixels_map.h"
#include "src/cuda/rows/short_map.h"
#include "src/cuda/rows/words_map.h"
#include "src/cuda/tile/chains_map.h"
#include "src/cuda/tile/map.h"
#include "src/cuda/tile/pixels_map.h"
#include "src/cuda/tile/unaligned_chains_map.h"

struct CUstream_st;  // cudaStream_t is a pointer to it

namespace restride::cuda {

struct Kernel;  // a row of the registry: kernels.h

/// Bytes of a unit on each side, and whether units are converted: with the kernel's own arguments they name its
/// instance.
struct Units {
  std::uint8_t src = 1, dst = 1;
  bool cast = false;
};

/// A prepared launch. Made once a plan, used for every run. A kernel reads its own arguments only.
struct CudaArgs {
  const Kernel* kernel = nullptr;  ///< null: there is nothing to copy
  Units units;
  std::variant<std::monostate, RowsArgs, PixelsArgs, ShortRowsArgs, TileArgs, BulkTileArgs, ChainArgs, PixelTileArgs,
               UnalignedChainArgs, PackedArgs, RecordsArgs, DirectArgs, BatchArgs, GatherArgs>
      args;
};

/// Where a launch runs. `dst` and `src` are the tensors' data pointers on the current device. `encode_tensor_map` is
/// the driver's cuTensorMapEncodeTiled, or null where the loaded code or the driver knows no bulk tensor copies.
struct Launch {
  void* dst = nullptr;
  const void* src = nullptr;
  CUstream_st* stream = nullptr;
  void* encode_tensor_map = nullptr;
};

/// Picks the kernel's instance and enqueues it. Allocates nothing, does not synchronise, may be captured in a graph,
/// neither reads nor clears the last error. Returns a cudaError_t: 0 when enqueued.
using Launcher = int(const CudaArgs& args, const Launch& on) noexcept;

}  // namespace restride::cuda
