// From a decision to a running kernel on a GPU. Host only: no CUDA headers.
#pragma once

#include <cstdint>
#include <variant>

#include "src/cuda/gather/map.h"
#include "src/cuda/packed/direct_map.h"
#include "src/cuda/packed/records_map.h"
#include "src/cuda/packed/staged_map.h"
#include "src/cuda/rows/pixels_map.h"
#include "src/cuda/rows/short_map.h"
#include "src/cuda/rows/words_map.h"
#include "src/cuda/tile/chains_map.h"
#include "src/cuda/tile/map.h"
#include "src/layout/canonical.h"
#include "src/plan/decision.h"

struct CUstream_st;  // cudaStream_t is a pointer to it

namespace restride::cuda {

/// Which instance of a family's kernel to launch: bytes a unit has on each side, and the family's own variant.
struct KernelKey {
  plan::Family family = plan::Family::kNoop;
  std::uint8_t src_unit = 1, dst_unit = 1;
  std::uint8_t variant = 0;  ///< rows: RowsKind; tile: how words are made; gather: bits of an index
  std::uint8_t stages = 1;   ///< tile by bulk copies: tiles in flight a block
  bool cast = false;
  DType src_dtype = DType::kU8, dst_dtype = DType::kU8;
};

/// A prepared launch: one POD of named fields for one kernel. Made once a plan, used for every run.
struct CudaArgs {
  KernelKey key;
  std::variant<std::monostate, RowsArgs, PixelsArgs, ShortRowsArgs, TileArgs, ChainArgs, PackedArgs, RecordsArgs,
               DirectArgs, GatherArgs>
      args;
};

/// The arguments of the kernel that `decision` chose for `c`. Host arithmetic only; builds without CUDA.
CudaArgs prepare_cuda(const layout::Canonical& c, const plan::Decision& decision);

/// Enqueues the copy on `stream`. `dst` and `src` are the tensors' data pointers on the current device.
/// `encode_tensor_map` is the driver's cuTensorMapEncodeTiled, or null where the loaded code or the driver knows no
/// bulk tensor copies: a plan by them then runs by ordinary loads, tile by tile the same.
///
/// Allocates nothing, does not synchronise, may be captured in a graph, neither reads nor clears the last error.
/// Returns a cudaError_t: 0 when enqueued.
int launch(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream, void* encode_tensor_map) noexcept;

}  // namespace restride::cuda
