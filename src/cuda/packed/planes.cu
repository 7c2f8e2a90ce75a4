// Moves         arrays of records of 2 to 9 equal fields into planes that start anywhere, one a field.
// Applies when  fields are 4 or 8 bytes; as in records.cu some may be left out, and their order be the opposite.
// Thread map    256 threads a tile of 4 KiB of every plane: load, the 16-byte words that cover the tile's records;
//               store, one word of each plane in turn. Tiles of a plane keep to its sectors, so those of different
//               planes are some records apart.
// Shared memory records as they lie in src; lanes whose units lie in the same banks collect them in different orders.
// Traffic       every byte once each way, whole sectors but for the planes' ends; a few records are loaded twice.
// Source        records.cu, whose words of a plane start at the same record in all planes.
#include "src/cuda/device.cuh"
#include "src/cuda/dispatch.cuh"
#include "src/cuda/packed/packed.h"
#include "src/cuda/packed/records_map.h"

namespace restride::cuda {
namespace {

template <int kUnit>
__global__ void __launch_bounds__(kRecordsThreads)
    packed_planes_kernel(const __grid_constant__ RecordsArgs a, char* dst, const char* src) {
  constexpr int kUnits = 16 / kUnit;
  extern __shared__ __align__(16) char shared[];
  const RecordsTile tile = records_tile(a, blockIdx.x, kUnit);
  const int record = a.fields * kUnit;
  const char* const from = src + a.src_offset + tile.at.src + static_cast<std::int64_t>(tile.from) * record;
  const char *const source_first = src + a.src_first, *const source_last = src + a.src_last;
  const std::uint32_t stage = shared_address(shared);
  // A warp's words are whole lines: where they start inside a sector, each warp asks for one that another asks for,
  // too.
  const int low = static_cast<int>(reinterpret_cast<std::uintptr_t>(from) % kRecordsLine);
  const int bytes = low + (tile.to - tile.from) * record;
#pragma unroll 4
  for (int byte = static_cast<int>(threadIdx.x) * 16; byte < bytes; byte += kRecordsThreads * 16) {
    if (byte + 16 <= low) continue;
    const char* const word = from - low + byte;
    if (word >= source_first && word + 16 <= source_last)
      copy_word<true, true>(stage + byte, word);
    else
      copy_part(stage + byte, word, source_first, source_last);
  }
  wait_copies();
  __syncthreads();

  const int rotation = records_rotation(a, threadIdx.x & 31, kUnits);
  char* plane = dst + a.dst_offset + tile.at.dst + a.first * a.plane_stride;
#pragma unroll 1
  for (int field = a.first; field < a.last; ++field, plane += a.plane_stride) {
    const int skew = static_cast<int>(reinterpret_cast<std::uintptr_t>(plane) % kPlaneBoundary) / kUnit;
    const int first = tile.first - skew + static_cast<int>(threadIdx.x) * kUnits;
    char* const to = plane + std::int64_t{first} * kUnit;
    const std::uint32_t at = stage + (low + (first - tile.from) * record + field * kUnit);
    if (first >= 0 && first <= a.plane_units - kUnits) {
      Bits<kUnit> units[kUnits];
#pragma unroll
      for (int i = 0; i < kUnits; ++i) units[i] = load_shared<kUnit>(at + ((i + rotation) & (kUnits - 1)) * record);
      if constexpr (kUnits == 4) {
        rotate_words(units, rotation);
      } else {
        const auto unit = units[0];
        units[0] = rotation != 0 ? units[1] : unit;
        units[1] = rotation != 0 ? unit : units[1];
      }
      store<16>(to, join<kUnit, kUnits>(units));
    } else {
#pragma unroll
      for (int i = 0; i < kUnits; ++i)
        if (first + i >= 0 && first + i < a.plane_units)
          store<kUnit>(to + i * kUnit, load_shared<kUnit>(at + i * record));
    }
  }
}

}  // namespace

int launch_packed_planes(const CudaArgs& args, const Launch& on) noexcept {
  const auto& a = std::get<RecordsArgs>(args.args);
  return with_size<4, 8>(args.units.dst, [&]<int kUnit>() {
    return enqueue(packed_planes_kernel<kUnit>, a, on, a.blocks, kRecordsThreads,
                   static_cast<unsigned>(a.shared_bytes));
  });
}

}  // namespace restride::cuda
