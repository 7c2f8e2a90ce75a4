// The host's half of the tma rungs: the tensor map that tells the copy engine where the source lies.
#pragma once

#include <cuda.h>

#include "lab/rungs/rung.cuh"
#include "src/cuda/bulk.cuh"
#include "src/cuda/runtime/driver.h"

namespace restride::lab {

void launch_along_dst(const Job& job);  // what the tma rungs fall back to

using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*,
                            const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                            CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

// From the driver at run time, so that the program links and starts without one.
inline Encode encoder() { return reinterpret_cast<Encode>(cuda::driver().tensor_map_encode); }

// The source as (column, row group, row within group): see lab/maps/bulk.h.
template <class Map>
CUtensorMap describe(const Job& job) {
  constexpr CUtensorMapDataType kType = Map::kElementBytes == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                        : Map::kElementBytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                                                                  : CU_TENSOR_MAP_DATA_TYPE_UINT32;
  const cuuint64_t pitch_bytes = cuuint64_t(job.shape.cols) * Map::kElementBytes;
  const cuuint64_t extent[3] = {cuuint64_t(job.shape.cols), cuuint64_t(job.shape.rows / Map::kV), Map::kV};
  const cuuint64_t stride_bytes[2] = {pitch_bytes * Map::kV, pitch_bytes};
  const cuuint32_t box[3] = {Map::kLineElems, Map::kGroups, Map::kV};
  const cuuint32_t step[3] = {1, 1, 1};
  CUtensorMap map;
  const CUresult status = encoder()(&map, kType, 3, const_cast<void*>(job.src), extent, stride_bytes, box, step,
                                    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                    CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS)
    throw LaunchError("cuTensorMapEncodeTiled refused the source: CUDA driver error " + std::to_string(status));
  return map;
}

/// Whether the kernel, as the current card runs it, was compiled for the engine, and the driver has the call that
/// describes tensors to it. A card that has the engine runs older PTX in a build without sm_90.
template <class Kernel>
bool has_copy_engine(Kernel* kernel) {
  return encoder() != nullptr && cuda::compiled_for(reinterpret_cast<const void*>(kernel)) >= cuda::kBulkCode;
}

}  // namespace restride::lab
