// Moves         tensors whose innermost modes are short on a side or both; the tile is a set of modes.
// Applies when  leading modes of dst and leading modes of src each make up a dense run worth moving whole.
// Thread map    256 threads a tile: load, aligned 16-byte words of src's pieces; store, words of dst's runs collected
//               from shared memory by two tables that serve every tile of the block.
// Shared memory pieces as they lie in src, congruent to their addresses modulo 16; tables of 2 bytes a unit of a run.
// Traffic       every byte once each way; partly used sectors at the ends of pieces and runs only.
// Source        generalises structs-to-arrays, pixel and qubit kernels; measured rows in bench/results.
#include "src/kernels/cuda/casts.cuh"
#include "src/kernels/cuda/device.cuh"
#include "src/kernels/cuda/families.h"
#include "src/maps/packed.h"

namespace restride::cuda {
namespace {

using maps::PackedArgs;

struct RowEntry {
  std::int64_t dst;
  std::int32_t shared;
};
struct PieceEntry {
  std::int64_t src;
  std::int32_t shared;
};

/// The tables, behind the tile in shared memory.
struct Tables {
  RowEntry* rows;
  PieceEntry* pieces;
  std::uint16_t* run;   // a.run_copies tables of `run_size` entries
  int run_size;

  __device__ Tables(const PackedArgs& a, char* shared) {
    char* at = shared + a.tile_bytes;
    rows = reinterpret_cast<RowEntry*>(at);
    at += a.rows * sizeof(RowEntry);
    pieces = reinterpret_cast<PieceEntry*>(at);
    at += a.pieces * sizeof(PieceEntry);
    run = reinterpret_cast<std::uint16_t*>(at);
    run_size = maps::packed_run_table(a.run_units);
  }

  __device__ void fill(const PackedArgs& a) const {
    for (int i = threadIdx.x; i < a.rows; i += maps::kPackedThreads) {
      const maps::PackedSum sum = maps::packed_row_entry(a, i);
      rows[i] = {sum.dst, sum.inside};
    }
    for (int i = threadIdx.x; i < a.pieces; i += maps::kPackedThreads) {
      const maps::PackedSum sum = maps::packed_sum(a.piece_modes, i);
      pieces[i] = {sum.src, maps::packed_piece_base(a, i, sum.src)};
    }
    for (int i = threadIdx.x; i < run_size; i += maps::kPackedThreads) {
      const int unit = i - maps::kRunPad;
      const bool real = unit >= 0 && unit < a.run_units;
      const auto entry = static_cast<std::uint16_t>(real ? maps::packed_run_entry(a, unit) : 0);
      for (int copy = 0; copy < a.run_copies; ++copy)
        if (i >= copy) run[copy * run_size + i - copy] = entry;
    }
  }

  /// Entries of `count` units from `unit` on; with more than one, as one access.
  template <int count>
  __device__ void entries(const PackedArgs& a, int unit, std::uint32_t (&entry)[count]) const {
    const int copy = unit & (a.run_copies - 1);
    const std::uint16_t* const at = run + copy * run_size + (unit - copy + maps::kRunPad);
    Bits<2> part[count];
    split<2, count>(load<2 * count>(at), part);
#pragma unroll
    for (int j = 0; j < count; ++j) entry[j] = part[j];
  }
};

/// One word of dst, collected unit by unit; `base` is where entry 0 of the run lies.
template <class Op>
__device__ inline Bits<16> collect(const PackedArgs& a, const Tables& tables, std::uint32_t base, int unit) {
  constexpr int kUnits = 16 / Op::kDst;
  constexpr int kSteps = Op::kDst <= 4 ? 4 : kUnits;  // pieces of a word, each collected at once
  constexpr int kPart = kUnits / kSteps;
  const int lane = threadIdx.x & 31;
  Bits<Op::kDst * kPart> parts[kSteps];
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const int turn = maps::packed_turn(lane, i, kSteps, a.rotate);
    std::uint32_t entry[kPart];
    tables.entries<kPart>(a, unit + turn * kPart, entry);
    Bits<Op::kDst> units[kPart];
#pragma unroll
    for (int j = 0; j < kPart; ++j)
      units[j] = Op::apply(load_shared<Op::kSrc>(maps::packed_swizzle(base + entry[j], a.swizzle_shift)));
    parts[i] = join<Op::kDst, kPart>(units);
  }
  if (kSteps > 1 && a.rotate) {  // back into order: part i is number i + lane / 8
    const int by = lane >> 3 & (kSteps - 1);
    if constexpr (kSteps == 4) {
      const bool by1 = (by & 1) != 0, by2 = (by & 2) != 0;
      const auto a0 = by1 ? parts[3] : parts[0], a1 = by1 ? parts[0] : parts[1];
      const auto a2 = by1 ? parts[1] : parts[2], a3 = by1 ? parts[2] : parts[3];
      parts[0] = by2 ? a2 : a0, parts[1] = by2 ? a3 : a1, parts[2] = by2 ? a0 : a2, parts[3] = by2 ? a1 : a3;
    } else if (by != 0) {
      const auto first = parts[0];
      parts[0] = parts[kSteps - 1];
      parts[kSteps - 1] = first;
    }
  }
  return join<Op::kDst * kPart, kSteps>(parts);
}

template <class Op>
__global__ void __launch_bounds__(maps::kPackedThreads, 6) packed_kernel(const __grid_constant__ PackedArgs a,
                                                                         char* dst, const char* src) {
  constexpr int kUnits = 16 / Op::kDst;
  extern __shared__ __align__(1024) char shared[];
  __shared__ maps::PackedPlace places[2];
  const Tables tables(a, shared);
  const char* const first = src + a.src_first;
  const char* const last = src + a.src_last;
  if (threadIdx.x == 0) places[0] = maps::packed_place(a, blockIdx.x);
  tables.fill(a);
  __syncthreads();

  int current = 0;
  for (std::uint32_t tile = blockIdx.x; tile < a.tiles; tile += gridDim.x, current ^= 1) {
    const maps::PackedPlace& place = places[current];
    const char* const from = src + place.src;
    const std::uint32_t base = shared_address(shared) + nibble(from);
    const int words = place.pieces * static_cast<int>(a.piece_words.divisor);
    const int piece_bytes = place.piece_bytes;
#pragma unroll 2
    for (int item = threadIdx.x; item < words; item += maps::kPackedThreads) {
      const int piece = static_cast<int>(a.piece_words.quotient(item));
      const int word = item - piece * static_cast<int>(a.piece_words.divisor);
      const PieceEntry entry = tables.pieces[piece];
      const char* const at = from + entry.src;
      const int off = word * 16 - nibble(at);
      if (off < piece_bytes)
        stage_word(maps::packed_swizzle(base + entry.shared + off, a.swizzle_shift), at + off, first, last);
    }
    // While the copies are under way, one thread works out where the block's next tile lies.
    if (threadIdx.x == 0 && tile + gridDim.x < a.tiles)
      places[current ^ 1] = maps::packed_place(a, tile + gridDim.x);
    wait_copies();
    __syncthreads();

    char* const to = dst + place.dst;
    const int run_units = place.run_units;
    const int stores = place.rows * static_cast<int>(a.run_words.divisor);
    for (int item = threadIdx.x; item < stores; item += maps::kPackedThreads) {
      const int r = static_cast<int>(a.run_words.quotient(item));
      const int word = item - r * static_cast<int>(a.run_words.divisor);
      const RowEntry entry = tables.rows[r];
      char* const row = to + entry.dst;
      const int unit = word * kUnits - nibble(row) / Op::kDst;
      if (unit >= run_units) continue;
      const Bits<16> value = collect<Op>(a, tables, base + entry.shared, unit);
      char* const at = row + unit * Op::kDst;
      if (unit >= 0 && unit + kUnits <= run_units) store<16>(at, value);
      else store_part<Op::kDst>(at, value, max(0, -unit) * Op::kDst, min(kUnits, run_units - unit) * Op::kDst);
    }
    __syncthreads();
  }
}

template <class Op>
int launch_one(const PackedArgs& a, void* dst, const void* src, CUstream_st* stream) noexcept {
  return enqueue(packed_kernel<Op>, a, dst, src, a.blocks, maps::kPackedThreads, a.shared_bytes, stream);
}

}  // namespace

int launch_packed(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept {
  const auto& a = std::get<PackedArgs>(args.args);
  if (args.key.cast) {
#define RESTRIDE_X(d, s)                                                    \
  if (args.key.dst_dtype == DType::d && args.key.src_dtype == DType::s)     \
    return launch_one<Cast<base::Storage<DType::d>, base::Storage<DType::s>>>(a, dst, src, stream);
    RESTRIDE_CUDA_CASTS(RESTRIDE_X)
#undef RESTRIDE_X
    return static_cast<int>(cudaErrorInvalidValue);
  }
  switch (args.key.dst_unit) {
    case 1: return launch_one<Move<1>>(a, dst, src, stream);
    case 2: return launch_one<Move<2>>(a, dst, src, stream);
    case 4: return launch_one<Move<4>>(a, dst, src, stream);
    case 8: return launch_one<Move<8>>(a, dst, src, stream);
    default: return launch_one<Move<16>>(a, dst, src, stream);
  }
}

}  // namespace restride::cuda
