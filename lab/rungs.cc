#include "lab/rungs.h"

#include <string>

#include "lab/maps/batched.h"
#include "lab/maps/bulk.h"
#include "lab/maps/copy.h"
#include "lab/maps/direct.h"
#include "lab/maps/strided.h"
#include "lab/maps/tile.h"
#include "lab/maps/vector.h"
#include "lab/replay.h"

namespace restride::lab {

#if RESTRIDE_LAB_CUDA
#define RESTRIDE_LAUNCH(name) launch_##name
#define RESTRIDE_X(name) void launch_##name(const Job& job);
RESTRIDE_X(memcpy)
RESTRIDE_X(copy_simple)
RESTRIDE_X(copy_tile)
RESTRIDE_X(copy_shared)
RESTRIDE_X(naive)
RESTRIDE_X(block_map)
RESTRIDE_X(shared)
RESTRIDE_X(padded)
RESTRIDE_X(swizzle)
RESTRIDE_X(diagonal)
RESTRIDE_X(along_dst)
RESTRIDE_X(vector)
RESTRIDE_X(tma_ring)
RESTRIDE_X(tma)
RESTRIDE_X(cpy_strided)
RESTRIDE_X(cpy_strided_f16)
RESTRIDE_X(cpy_transpose_batched)
RESTRIDE_X(cpy_transpose_batched_race)
#undef RESTRIDE_X
#else
#define RESTRIDE_LAUNCH(name) nullptr
#endif

namespace {

template <template <int> class Map>
Traffic traffic_of(const Matrix& shape, int element_bytes) {
  switch (element_bytes) {
    case 1: return count_traffic(Map<1>(shape));
    case 2: return count_traffic(Map<2>(shape));
    default: return count_traffic(Map<4>(shape));
  }
}

// The rungs that need aligned rows run along_dst's kernel on any other shape (vector.cu, tma.cu).
template <template <int> class Map>
Traffic traffic_if_wide(const Matrix& shape, int element_bytes) {
  const int vector = 16 / element_bytes;
  if (shape.rows % vector == 0 && shape.cols % vector == 0) return traffic_of<Map>(shape, element_bytes);
  return traffic_of<AlongDst>(shape, element_bytes);
}

template <int kBytes>
using Strided = CopyStrided<kBytes>;

template <template <int> class Map>
plan::Trace tile_of(const Matrix& shape, int element_bytes, std::int64_t tile) {
  switch (element_bytes) {
    case 1: return trace_tile(Map<1>(shape), tile);
    case 2: return trace_tile(Map<2>(shape), tile);
    default: return trace_tile(Map<4>(shape), tile);
  }
}

template <template <int> class Map>
plan::Trace tile_if_wide(const Matrix& shape, int element_bytes, std::int64_t tile) {
  const int vector = 16 / element_bytes;
  if (shape.rows % vector == 0 && shape.cols % vector == 0) return tile_of<Map>(shape, element_bytes, tile);
  return tile_of<AlongDst>(shape, element_bytes, tile);
}

Traffic no_traffic(const Matrix&, int) { return {}; }
Traffic cast_traffic(const Matrix& shape, int) { return count_traffic(CopyStrided<4, 2>(shape)); }
plan::Trace cast_tile(const Matrix& shape, int, std::int64_t tile) {
  return trace_tile(CopyStrided<4, 2>(shape), tile);
}

constexpr Rung kRungs[] = {
    {"memcpy", Moves::kCopy, false, no_traffic, nullptr, RESTRIDE_LAUNCH(memcpy)},
    {"copy_simple", Moves::kCopy, false, traffic_of<CopyElement>, tile_of<CopyElement>, RESTRIDE_LAUNCH(copy_simple)},
    {"copy_tile", Moves::kCopy, false, traffic_of<CopyTile>, tile_of<CopyTile>, RESTRIDE_LAUNCH(copy_tile)},
    {"copy_shared", Moves::kCopy, false, traffic_of<CopyThroughStage>, tile_of<CopyThroughStage>,
     RESTRIDE_LAUNCH(copy_shared)},
    {"naive", Moves::kTranspose, false, traffic_of<Naive>, tile_of<Naive>, RESTRIDE_LAUNCH(naive)},
    {"block_map", Moves::kTranspose, false, traffic_of<BlockMap>, tile_of<BlockMap>, RESTRIDE_LAUNCH(block_map)},
    {"shared", Moves::kTranspose, false, traffic_of<Shared>, tile_of<Shared>, RESTRIDE_LAUNCH(shared)},
    {"padded", Moves::kTranspose, false, traffic_of<Padded>, tile_of<Padded>, RESTRIDE_LAUNCH(padded)},
    {"swizzle", Moves::kTranspose, false, traffic_of<Swizzle>, tile_of<Swizzle>, RESTRIDE_LAUNCH(swizzle)},
    {"diagonal", Moves::kTranspose, false, traffic_of<Diagonal>, tile_of<Diagonal>, RESTRIDE_LAUNCH(diagonal)},
    {"along_dst", Moves::kTranspose, false, traffic_of<AlongDst>, tile_of<AlongDst>, RESTRIDE_LAUNCH(along_dst)},
    {"vector", Moves::kTranspose, false, traffic_if_wide<Vector>, tile_if_wide<Vector>, RESTRIDE_LAUNCH(vector)},
    {"tma_ring", Moves::kTranspose, false, traffic_if_wide<Bulk>, tile_if_wide<Bulk>, RESTRIDE_LAUNCH(tma_ring)},
    {"tma", Moves::kTranspose, false, traffic_if_wide<Bulk>, tile_if_wide<Bulk>, RESTRIDE_LAUNCH(tma)},
    {"cpy_strided", Moves::kTranspose, false, traffic_of<Strided>, tile_of<Strided>, RESTRIDE_LAUNCH(cpy_strided)},
    {"cpy_strided_f16", Moves::kTransposeToF16, false, cast_traffic, cast_tile, RESTRIDE_LAUNCH(cpy_strided_f16)},
    {"cpy_transpose_batched", Moves::kTranspose, true, traffic_of<TransposeBatched>, tile_of<TransposeBatched>,
     RESTRIDE_LAUNCH(cpy_transpose_batched)},
    {"cpy_transpose_batched_race", Moves::kTranspose, true, traffic_of<TransposeBatched>, tile_of<TransposeBatched>,
     RESTRIDE_LAUNCH(cpy_transpose_batched_race), true},
};

}  // namespace

Matrix Rung::measured_shape(int size) const {
  if (!batched) return {size, size, 1};
  const Matrix one = size % 256 == 0 ? Matrix{256, 256} : Matrix{255, 257};
  return {one.rows, one.cols, static_cast<int>(ceil_div(std::int64_t{size} * size, one.elements()))};
}

std::span<const Rung> rungs() { return kRungs; }

const Rung& find_rung(std::string_view name) {
  std::string names;
  for (const Rung& rung : kRungs) {
    if (rung.name == name) return rung;
    names += names.empty() ? "" : ", ";
    names += rung.name;
  }
  throw std::invalid_argument("no rung is called '" + std::string(name) + "'; there are: " + names);
}

}  // namespace restride::lab
