// Moves         dense blocks whose modes have another order in dst than in src: batches of matrices, permutations whose
//               innermost modes change places among themselves.
// Applies when  a block is one run of bytes on both sides; units of 1 to 8 bytes, anywhere.
// Thread map    load, 16 bytes a lane along src; store, a word of 16 or 4 bytes a lane along dst, whose units a lane
//               finds one after the other; words whose places repeat themselves share them.
// Shared memory a tile of src as it lies there, and where in it each line of dst begins (batches_map.h).
// Traffic       every byte once each way; tiles are runs, so only their ends share sectors.
// Source        what packed/staged loses to its own instructions, and persistent blocks to waiting (README.md).
#include "src/cuda/device.cuh"
#include "src/cuda/dispatch.cuh"
#include "src/cuda/packed/batches_map.h"
#include "src/cuda/packed/packed.h"

namespace restride::cuda {
namespace {

/// The low bits of an address.
__device__ inline std::uint32_t low_bits(const void* p) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(p));
}

template <bool inside>
__device__ inline void load_pieces(const BatchArgs& a, int pieces, int bytes, std::uint32_t room, const char* from,
                                   const char* src) {
  const int items = pieces * static_cast<int>(a.piece_words.divisor);
#pragma unroll 4
  for (int item = threadIdx.x; item < items; item += blockDim.x) {
    const auto piece = static_cast<int>(a.piece_words.quotient(item));
    const int word = item - piece * static_cast<int>(a.piece_words.divisor);
    const char* const start = from + piece * a.src_pitch;
    const int low = nibble(start);
    if (word * 16 >= low + bytes) continue;
    const std::uint32_t to = room + piece * a.piece_pitch + word * 16;
    if constexpr (inside)
      copy_word<true>(to, start - low + word * 16);
    else
      stage_word<true>(to, start - low + word * 16, src + a.src_first, src + a.src_last);
  }
}

/// Where the units of a word of dst lie, from unit `first` of the tile on: a step of src apart, and from where the next
/// line begins.
template <int kUnits, int kTurns>
__device__ inline void find_places(const BatchArgs& a, std::uint32_t room, std::uint32_t table, int first,
                                   std::uint32_t (&places)[kUnits]) {
  const BatchUnit unit = batch_unit(a, first);
  const std::uint32_t entry = table + unit.line * 2;
  std::uint32_t at = room + load_shared<2>(entry) + unit.at * a.unit_step;
  std::uint32_t next[kTurns];
  int turn[kTurns];  // the unit at which the line goes on
  if constexpr (kUnits > 1) {
#pragma unroll
    for (int t = 0; t < kTurns; ++t) {
      next[t] = room + load_shared<2>(entry + 2 * (t + 1));
      turn[t] = (t + 1) * static_cast<int>(a.line_units.divisor) - unit.at;
    }
  }
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    if (u > 0) {
#pragma unroll
      for (int t = 0; t < kTurns; ++t)
        if (u == turn[t]) at = next[t];
    }
    places[u] = at;
    at += a.unit_step;
  }
}

template <int kUnit, int kUnits>
__device__ inline Bits<kUnit * kUnits> collect(const std::uint32_t (&places)[kUnits], std::uint32_t ahead) {
  Bits<kUnit> units[kUnits];
#pragma unroll
  for (int u = 0; u < kUnits; ++u) units[u] = load_shared<kUnit>(places[u] + ahead);
  return join<kUnit, kUnits>(units);
}

template <int kUnit, int kWord, int kTurns, bool kept>
__global__ void __launch_bounds__(kMostBatchThreads, resident_blocks(kMostBatchThreads, 6))
    packed_batches_kernel(const __grid_constant__ BatchArgs a, char* dst, const char* src) {
  extern __shared__ __align__(128) char shared[];
  constexpr int kUnits = kWord / kUnit;
  const BatchPlace place = batch_place(a, blockIdx.x);
  const std::uint32_t room = shared_address(shared), table = room + batch_table(a);
  const char* const from = src + place.at.src;
  char* const to = dst + place.at.dst;
  const int pieces = batch_pieces(a, place.matrices), piece_bytes = batch_piece_bytes(a, place.matrices);
  const char* const last = from + (pieces - 1) * a.src_pitch;
  const char *const lowest = last < from ? last : from, *const highest = last < from ? from : last;
  if (lowest - 15 >= src + a.src_first && highest + piece_bytes + 15 <= src + a.src_last)
    load_pieces<true>(a, pieces, piece_bytes, room, from, src);
  else
    load_pieces<false>(a, pieces, piece_bytes, room, from, src);
  const int lines = batch_lines_made(a, place.matrices, kUnit);
#pragma unroll 1
  for (int line = threadIdx.x; line < lines; line += blockDim.x)
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(table + line * 2),
                 "h"(static_cast<std::uint16_t>(batch_line(a, line, low_bits(from))))
                 : "memory");
  wait_copies();
  __syncthreads();
  const BatchRun run = batch_run(a, place.matrices, low_bits(to));
  std::uint32_t places[kUnits];
  if constexpr (kept) {
    const int first = threadIdx.x;
    if (first < min(a.kept_words, run.words)) {
      find_places<kUnits, kTurns>(a, room, table, (run.head + first * kWord) / kUnit, places);
#pragma unroll 1
      for (int word = first; word < run.words; word += a.kept_words)
        store<kWord>(to + run.head + word * kWord, collect<kUnit, kUnits>(places, (word - first) * kWord));
    }
  } else {
#pragma unroll 1
    for (int word = threadIdx.x; word < run.words; word += blockDim.x) {
      const int byte = run.head + word * kWord;
      find_places<kUnits, kTurns>(a, room, table, byte / kUnit, places);
      store<kWord>(to + byte, collect<kUnit, kUnits>(places, 0));
    }
  }
  // Ends that are less than words, a unit a lane.
  if (threadIdx.x < (run.head + run.tail) / kUnit) {
    int byte = threadIdx.x * kUnit;
    if (byte >= run.head) byte += run.words * kWord;
    const BatchUnit unit = batch_unit(a, byte / kUnit);
    store<kUnit>(to + byte,
                 load_shared<kUnit>(room + batch_line(a, unit.line, low_bits(from)) + unit.at * a.unit_step));
  }
}

template <int kUnit, int kWord, int kTurns, bool kept>
int enqueue_tiles(const BatchArgs& a, const Launch& on) noexcept {
  return enqueue(packed_batches_kernel<kUnit, kWord, kTurns, kept>, a, on, a.tiles, static_cast<unsigned>(a.threads),
                 static_cast<unsigned>(batch_shared(a)));
}

}  // namespace

int launch_packed_batches(const CudaArgs& args, const Launch& on) noexcept {
  const auto& a = std::get<BatchArgs>(args.args);
  const int turns = batch_turns(a.line_units.divisor, args.units.dst, a.word_bytes);
  if (a.kept_words != 0)
    return turns == 2 ? enqueue_tiles<1, 16, 2, true>(a, on) : enqueue_tiles<1, 16, 3, true>(a, on);
  return with_size<1, 2, 4, 8>(args.units.dst, [&]<int kUnit>() {
    return a.word_bytes == 16 ? enqueue_tiles<kUnit, 16, 1, false>(a, on)
                              : enqueue_tiles<kUnit, (kUnit < 4 ? 4 : kUnit), 1, false>(a, on);
  });
}

}  // namespace restride::cuda
