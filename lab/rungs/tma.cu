// Moves:         the transpose, tiles brought in by the bulk tensor copy engine.
// Applies when:  sm_90 and later, rows of both sides multiples of 16 bytes; else vector's kernels.
// Thread map:    lab/maps/bulk.h: one thread starts the copies, all 256 gather, turn and store as in vector.
// Shared memory: kStages tiles in a ring, swizzled by the engine (128-byte lines) as the gather wants; no conflicts.
// Traffic:       no load requests at all; 16 sectors a store; kStages tiles a block in flight at any time.
// Source and measured: what the seed left to do; docs/lab.md.
#include "lab/maps/bulk.h"
#include "lab/maps/lanes.h"
#include "lab/rungs/bulk_copy.cuh"
#include "lab/rungs/vector.cuh"

namespace restride::lab {

void launch_vector(const Job& job);

namespace {

constexpr int kStages = 4;
constexpr int kLineBytes = 128;  // the swizzle repeats every eight lines, so stages start on 1024 bytes

template <class Map>
__device__ __forceinline__ void fetch(const Map& map, const CUtensorMap* source, int tile, char* stage,
                                      std::uint64_t* arrival) {
  expect_bytes(arrival, Map::kStageBytes);
  const Corner corner = map.grid.corner(tile);
#pragma unroll
  for (int box = 0; box < Map::kBoxes; ++box)
    copy_box(stage + box * Map::kBoxBytes, source, corner.col + box * Map::kLineElems, corner.row / Map::kV, 0,
             arrival);
}

}  // namespace

template <class Map>
__global__ void __launch_bounds__(Map::kThreads)
    tma_rung(Map map, const __grid_constant__ CUtensorMap source, void* __restrict__ dst, int tiles) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(1024) char stages[];
  __shared__ std::uint64_t arrival[kStages];
  const bool leader = threadIdx.x == 0;
  if (leader) {
    for (int s = 0; s < kStages; ++s) init_arrival(&arrival[s]);
    for (int s = 0; s < kStages; ++s) {
      const std::int64_t tile = blockIdx.x + std::int64_t{gridDim.x} * s;
      if (tile < tiles) fetch(map, &source, static_cast<int>(tile), stages + s * Map::kStageBytes, &arrival[s]);
    }
  }
  __syncthreads();

  int stage = 0;
  unsigned phase = 0;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    char* const here = stages + stage * Map::kStageBytes;
    wait_phase(&arrival[stage], phase);
    std::uint32_t words[Map::kCells][Map::kV];
#pragma unroll
    for (int cell = 0; cell < Map::kCells; ++cell) gather_cell(map, here, cell, words[cell]);
    __syncthreads();  // all have what they need: the engine may refill the stage while they store
    const std::int64_t next = tile + std::int64_t{gridDim.x} * kStages;
    if (leader && next < tiles) fetch(map, &source, static_cast<int>(next), here, &arrival[stage]);
#pragma unroll
    for (int cell = 0; cell < Map::kCells; ++cell) {
      std::uint32_t vectors[Map::kK][4];
      transpose_cell<Map::kElementBytes>(words[cell], vectors);
      store_cell(map, static_cast<int>(tile), cell, vectors, dst);
    }
    if (++stage == kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
#endif
}

namespace {

using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*,
                            const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                            CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

// From the driver at run time, so that the program links and starts without one.
Encode encoder() {
  static const Encode found = [] {
    void* symbol = nullptr;
    cudaDriverEntryPointQueryResult result;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &symbol, 12000, cudaEnableDefault, &result) !=
            cudaSuccess ||
        result != cudaDriverEntryPointSuccess)
      symbol = nullptr;
    return reinterpret_cast<Encode>(symbol);
  }();
  return found;
}

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

struct Card {
  bool has_engine = false;
  int processors = 0;
};

Card card() {
  int device = 0, major = 0;
  Card found;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  cudaDeviceGetAttribute(&found.processors, cudaDevAttrMultiProcessorCount, device);
  found.has_engine = major >= 9 && encoder() != nullptr;
  return found;
}

template <class Map>
void launch_ring(const Job& job, const Card& on) {
  constexpr int kRingBytes = kStages * Map::kStageBytes;
  static_assert(Map::kStageBytes % (8 * kLineBytes) == 0);
  const auto kernel = tma_rung<Map>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kRingBytes);
  int blocks_a_processor = 1;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_a_processor, kernel, Map::kThreads, kRingBytes);
  const Map map(job.shape);
  const unsigned tiles = grid_of(map.tiles());
  const unsigned resident = static_cast<unsigned>(on.processors) * static_cast<unsigned>(blocks_a_processor);
  const unsigned blocks = tiles < resident ? tiles : resident;
  if (blocks == 0) return;
  kernel<<<blocks, Map::kThreads, kRingBytes, job.stream>>>(map, describe<Map>(job), job.dst, static_cast<int>(tiles));
}

}  // namespace

void launch_tma(const Job& job) {
  const Card on = card();
  with_element_bytes(job.element_bytes, [&](auto bytes) {
    using Map = Bulk<bytes()>;
    if (!on.has_engine || !Map::fits(job.shape)) return launch_vector(job);
    launch_ring<Map>(job, on);
  });
}

}  // namespace restride::lab
