// Moves         batches of matrices, of any modes, that are dense on both sides but in another order.
// Applies when  units have 2 bytes, some whole matrices fit shared memory, both sides start on words.
// Thread map    one thread starts the copies; a lane collects the same words of every tile. It finds the places of
//               their units out once and keeps them in registers.
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

constexpr int kUnits = kBatchWord / kBatchUnit;  // of a word

__device__ inline void store_shared_unit(std::uint32_t at, Bits<kBatchUnit> v) {
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(at), "h"(v) : "memory");
}
__device__ inline void store_shared_word(std::uint32_t at, Bits<kBatchWord> v) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(v) : "memory");
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

template <int kWords>
__global__ void __launch_bounds__(kBatchThreads, resident_blocks(kBatchThreads, kWords* kBatchWord <= 48 ? 4 : 2))
    packed_batches_kernel(const __grid_constant__ BatchArgs a, char* dst, const char* src) {
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
    store_shared_unit(out0 + 2 * unit, static_cast<std::uint16_t>(batch_source(a, unit)));
  __syncthreads();
  std::uint32_t places[kWords];  // of the two units of a lane's words, 16 bits each
#pragma unroll
  for (int w = 0; w < kWords; ++w) {
    const int first = (threadIdx.x + w * kBatchThreads) * kUnits;
    places[w] = first < a.tile_units ? load_shared<4>(out0 + 2 * first) : 0;
  }
  __syncthreads();
  int stage = 0;
  unsigned phase = 0;
  for (std::uint32_t tile = blockIdx.x; tile < a.tiles; tile += gridDim.x) {
    const BatchPart read = batch_read(a, tile, static_cast<std::uint32_t>(nibble(src)));
    const BatchPart written = batch_written(a, tile, static_cast<std::uint32_t>(nibble(dst)));
    const std::uint32_t from = in0 + stage * room + read.nibble, to = out0 + stage * room + written.nibble;
    wait_arrival(arrival0 + 8 * stage, phase);
    const int read_ends = read.ends() / kBatchUnit;
    if (read_ends > 0) {
      if (threadIdx.x < read_ends) {
        const int at = read.end(threadIdx.x * kBatchUnit);
        store_shared_unit(from + at, load<kBatchUnit>(src + read.start + at));
      }
      __syncthreads();
    }
    const int words = written.bytes / kBatchWord;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const int word = threadIdx.x + w * kBatchThreads;
      if (word < words) {
        Bits<kBatchUnit> units[kUnits];
#pragma unroll
        for (int u = 0; u < kUnits; ++u) units[u] = load_shared<kBatchUnit>(add_half(from, places[w], u != 0));
        store_shared_word(to + word * kBatchWord, join<kBatchUnit, kUnits>(units));
      }
    }
    const int unit = words * kUnits + threadIdx.x;  // the last tile's last one may be half a word
    if (threadIdx.x < kUnits && unit * kBatchUnit < written.bytes)
      store_shared_unit(to + unit * kBatchUnit, load_shared<kBatchUnit>(from + batch_source(a, unit)));
    show_stores();
    if (leader && a.stages > 1) wait_read();  // of the other stage's, which is written to next
    __syncthreads();
    if (leader) {
      if (written.last > written.first)
        copy_out(dst + written.start + written.first, to + written.first, written.last - written.first);
      const std::uint32_t next = tile + a.stages * gridDim.x;
      if (next < a.tiles) fetch(a, src, next, in0 + stage * room, arrival0 + 8 * stage);
    }
    if (threadIdx.x < written.ends() / kBatchUnit) {
      const int at = written.end(threadIdx.x * kBatchUnit);
      store<kBatchUnit>(dst + written.start + at, load_shared<kBatchUnit>(to + at));
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

template <int kStages>
int launch_stages(const BatchArgs& a, const Launch& on) noexcept {
  constexpr int kWords = (batch_room(kStages) / kBatchWord + kBatchThreads - 1) / kBatchThreads;
  constexpr unsigned kShared = 2 * kStages * batch_room(kStages);
  static_assert(kShared <= 48 << 10, "more needs cudaFuncSetAttribute");
  return enqueue(packed_batches_kernel<kWords>, a, on, a.blocks, kBatchThreads, kShared);
}

}  // namespace

int launch_packed_batches(const CudaArgs& args, const Launch& on) noexcept {
  if (on.encode_tensor_map == nullptr) return cudaErrorNotSupported;  // a plan made for a later GPU
  const auto& a = std::get<BatchArgs>(args.args);
  return with_size<1, 2>(a.stages, [&]<int kStages>() { return launch_stages<kStages>(a, on); });
}

}  // namespace restride::cuda
