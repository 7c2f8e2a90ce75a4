// Moves         batches of matrices, of any modes, that are dense on both sides but in another order.
// Applies when  units have 2 bytes, some whole matrices fit shared memory, both sides start on words.
// Thread map    one thread starts the copies; a lane collects the same words of every tile, whose units' places it
// found
//               out once and keeps in registers.
// Shared memory a tile of src as it lies there and one of dst, two of each where they are small enough.
// Traffic       every byte once each way; tiles are runs, so only their ends share sectors.
// Source        the bulk copies of one dimension in the PTX manual; what packed/staged loses to its own instructions
//               (README.md).
#include "src/cuda/bulk.cuh"
#include "src/cuda/device.cuh"
#include "src/cuda/dispatch.cuh"
#include "src/cuda/packed/batches_map.h"
#include "src/cuda/packed/packed.h"

namespace restride::cuda {
namespace {

template <int kBytes>
__device__ inline void store_shared_word(std::uint32_t at, Bits<kBytes> v) {
  if constexpr (kBytes == 4)
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(v) : "memory");
  else if constexpr (kBytes == 2)
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(at), "h"(v) : "memory");
  else
    store_shared(at, v);
}

/// base + the low or the high half of `pair`, by one instruction.
__device__ inline std::uint32_t add_half(std::uint32_t base, std::uint32_t pair, bool high) {
  return __dp2a_lo(pair, high ? 0x0100u : 0x0001u, base);
}

/// Brings in what bulk copies may move; the leader's.
__device__ inline void fetch(const BatchArgs& a, const char* src, std::uint32_t tile, std::uint32_t room,
                             std::uint32_t arrival) {
  const BatchPart part = batch_read(a, tile, static_cast<std::uint32_t>(nibble(src)));
  const int bytes = part.last - part.first;
  expect_bytes(arrival, bytes);
  if (bytes > 0) copy_in(room + part.nibble + part.first, src + part.start + part.first, bytes, arrival);
}

template <int kUnit, int kWords>
__global__ void __launch_bounds__(kBatchThreads,
                                  resident_blocks(kBatchThreads, kWords* batch_word(kUnit) <= 48 ? 4 : 2))
    packed_batches_kernel(const __grid_constant__ BatchArgs a, char* dst, const char* src) {
  constexpr int kWord = batch_word(kUnit), kUnits = kWord / kUnit, kPairs = (kUnits + 1) / 2;
  extern __shared__ __align__(128) char rooms[];
  __shared__ std::uint64_t arrivals[2];
  dst += a.dst_offset;
  src += a.src_offset;
  const std::uint32_t arrival0 = shared_address(arrivals), in0 = shared_address(rooms);
  const std::uint32_t room = batch_room(a.stages), out0 = in0 + a.stages * room;
  const bool leader = threadIdx.x == 0;
  if (leader) {
    for (int s = 0; s < a.stages; ++s) {
      init_arrival(arrival0 + 8 * s);
      const std::uint32_t tile = blockIdx.x + s * gridDim.x;
      if (tile < a.tiles) fetch(a, src, tile, in0 + s * room, arrival0 + 8 * s);
    }
  }
  // Where a unit of dst lies in a tile of src: found out by all, in the rooms of dst, which nothing is in yet.
#pragma unroll 1
  for (int unit = threadIdx.x; unit < a.tile_units; unit += kBatchThreads)
    store_shared_word<2>(out0 + 2 * unit, static_cast<std::uint16_t>(batch_source(a, unit)));
  __syncthreads();
  std::uint32_t places[kWords][kPairs];  // of the units of a lane's words, 16 bits each
#pragma unroll
  for (int w = 0; w < kWords; ++w) {
    const int first = (threadIdx.x + w * kBatchThreads) * kUnits;
#pragma unroll
    for (int p = 0; p < kPairs; ++p) {
      places[w][p] = 0;
      if (first >= a.tile_units) continue;
      if constexpr (kUnits > 1)
        places[w][p] = load_shared<4>(out0 + 2 * first + 4 * p);
      else
        places[w][p] = load_shared<2>(out0 + 2 * first);
    }
  }
  __syncthreads();
  int stage = 0;
  unsigned phase = 0;
  for (std::uint32_t tile = blockIdx.x; tile < a.tiles; tile += gridDim.x) {
    const BatchPart read = batch_read(a, tile, static_cast<std::uint32_t>(nibble(src)));
    const BatchPart written = batch_written(a, tile, static_cast<std::uint32_t>(nibble(dst)));
    const std::uint32_t from = in0 + stage * room + read.nibble, to = out0 + stage * room + written.nibble;
    wait_arrival(arrival0 + 8 * stage, phase);
    const int read_ends = read.ends() / kUnit;
    if (read_ends > 0) {
      if (threadIdx.x < read_ends) {
        const int at = read.end(threadIdx.x * kUnit);
        store_shared_word<kUnit>(from + at, load<kUnit>(src + read.start + at));
      }
      __syncthreads();
    }
    const int words = written.bytes / kWord;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const int word = threadIdx.x + w * kBatchThreads;
      if (word < words) {
        Bits<kUnit> units[kUnits];
#pragma unroll
        for (int u = 0; u < kUnits; ++u) units[u] = load_shared<kUnit>(add_half(from, places[w][u / 2], u % 2 != 0));
        store_shared_word<kWord>(to + word * kWord, join<kUnit, kUnits>(units));
      }
    }
    if constexpr (kUnit < 4) {  // the last tile's last units
      const int unit = words * kUnits + threadIdx.x;
      if (threadIdx.x < kUnits && unit * kUnit < written.bytes)
        store_shared_word<kUnit>(to + unit * kUnit, load_shared<kUnit>(from + batch_source(a, unit)));
    }
    show_stores();
    if (leader && a.stages > 1) wait_read();  // of the other stage's, which is written to next
    __syncthreads();
    if (leader) {
      if (written.last > written.first)
        copy_out(dst + written.start + written.first, to + written.first, written.last - written.first);
      const std::uint32_t next = tile + a.stages * gridDim.x;
      if (next < a.tiles) fetch(a, src, next, in0 + stage * room, arrival0 + 8 * stage);
    }
    if (threadIdx.x < written.ends() / kUnit) {
      const int at = written.end(threadIdx.x * kUnit);
      store<kUnit>(dst + written.start + at, load_shared<kUnit>(to + at));
    }
    if (a.stages == 1) {
      if (leader) wait_read();
      __syncthreads();
    }
    if (++stage == a.stages) {
      stage = 0;
      phase ^= 1;
    }
  }
  if (leader) wait_read();
}

template <int kUnit, int kStages>
int launch_stages(const BatchArgs& a, const Launch& on) noexcept {
  constexpr int kWords = (batch_room(kStages) / batch_word(kUnit) + kBatchThreads - 1) / kBatchThreads;
  constexpr unsigned kShared = 2 * kStages * batch_room(kStages);
  static_assert(kShared <= 48 << 10, "more needs cudaFuncSetAttribute");
  return enqueue(packed_batches_kernel<kUnit, kWords>, a, on, a.blocks, kBatchThreads, kShared);
}

}  // namespace

int launch_packed_batches(const CudaArgs& args, const Launch& on) noexcept {
  if (on.encode_tensor_map == nullptr) return cudaErrorNotSupported;  // a plan made for a later GPU
  const auto& a = std::get<BatchArgs>(args.args);
  return with_size<2>(args.units.dst, [&]<int kUnit>() {
    return with_size<1, 2>(a.stages, [&]<int kStages>() { return launch_stages<kUnit, kStages>(a, on); });
  });
}

}  // namespace restride::cuda
