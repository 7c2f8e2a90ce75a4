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
  std::uint16_t* run;
  RowEntry* rows;
  PieceEntry* pieces;

  __device__ Tables(const PackedArgs& a, char* shared) {
    char* at = shared + a.tile_bytes;
    rows = reinterpret_cast<RowEntry*>(at);
    at += a.rows * sizeof(RowEntry);
    pieces = reinterpret_cast<PieceEntry*>(at);
    at += a.pieces * sizeof(PieceEntry);
    run = reinterpret_cast<std::uint16_t*>(at);
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
    for (int i = threadIdx.x; i < a.run_units; i += maps::kPackedThreads)
      run[i] = static_cast<std::uint16_t>(maps::packed_run_entry(a, i));
  }
};

/// `count` entries of the run table; one access where they are known to be aligned.
template <int count>
__device__ inline void run_entries(const std::uint16_t* run, bool aligned, std::uint32_t (&entry)[count]) {
  if (aligned && count > 1) {
    constexpr int kAccess = count * 2 < 16 ? count * 2 : 16;
#pragma unroll
    for (int i = 0; i < count * 2 / kAccess; ++i) {
      Bits<2> part[kAccess / 2];
      split<2, kAccess / 2>(load<kAccess>(run + i * kAccess / 2), part);
#pragma unroll
      for (int j = 0; j < kAccess / 2; ++j) entry[i * kAccess / 2 + j] = part[j];
    }
  } else {
#pragma unroll
    for (int j = 0; j < count; ++j) entry[j] = run[j];
  }
}

template <class Op, int kVector>
__global__ void __launch_bounds__(maps::kPackedThreads) packed_kernel(const __grid_constant__ PackedArgs a, char* dst,
                                                                      const char* src) {
  constexpr int kUnits = kVector / Op::kDst;
  extern __shared__ __align__(128) char shared[];
  const Tables tables(a, shared);
  const char* const first = src + a.src_first;
  const char* const last = src + a.src_last;
  tables.fill(a);
  __syncthreads();

  for (std::uint32_t tile = blockIdx.x; tile < a.tiles; tile += gridDim.x) {
    const maps::PackedPlace place = maps::packed_place(a, tile);
    const char* const from = src + place.src;
    char* const to = dst + place.dst;
    const std::uint32_t base = shared_address(shared) + nibble(from);
    const int words = place.pieces * static_cast<int>(a.piece_words.divisor);
#pragma unroll 4
    for (int item = threadIdx.x; item < words; item += maps::kPackedThreads) {
      const int piece = static_cast<int>(a.piece_words.quotient(item));
      const int word = item - piece * static_cast<int>(a.piece_words.divisor);
      const PieceEntry entry = tables.pieces[piece];
      const char* const at = from + entry.src;
      const int off = word * 16 - nibble(at);
      if (off < place.piece_bytes) stage_word(base + entry.shared + off, at + off, first, last);
    }
    wait_copies();
    __syncthreads();

    const int stores = place.rows * static_cast<int>(a.run_words.divisor);
#pragma unroll 2
    for (int item = threadIdx.x; item < stores; item += maps::kPackedThreads) {
      const int r = static_cast<int>(a.run_words.quotient(item));
      const int word = item - r * static_cast<int>(a.run_words.divisor);
      const RowEntry entry = tables.rows[r];
      char* const row = to + entry.dst;
      const int skew = static_cast<int>(reinterpret_cast<std::uintptr_t>(row) & (kVector - 1)) / Op::kDst;
      const int unit = word * kUnits - skew;
      const std::uint32_t at = base + entry.shared;
      if (unit >= 0 && unit + kUnits <= place.run_units) {
        std::uint32_t offset[kUnits];
        run_entries<kUnits>(tables.run + unit, a.dst_aligned, offset);
        Bits<Op::kDst> units[kUnits];
#pragma unroll
        for (int j = 0; j < kUnits; ++j) units[j] = Op::apply(load_shared<Op::kSrc>(at + offset[j]));
        store<kVector>(row + unit * Op::kDst, join<Op::kDst, kUnits>(units));
      } else {
        for (int j = 0; j < kUnits; ++j)
          if (unit + j >= 0 && unit + j < place.run_units)
            store<Op::kDst>(row + (unit + j) * Op::kDst,
                            Op::apply(load_shared<Op::kSrc>(at + tables.run[unit + j])));
      }
    }
    __syncthreads();
  }
}

template <class Op, int kVector>
int launch_one(const PackedArgs& a, void* dst, const void* src, CUstream_st* stream) noexcept {
  return enqueue(packed_kernel<Op, kVector>, a, dst, src, a.blocks, maps::kPackedThreads, a.shared_bytes, stream);
}

template <int kUnit>
int launch_move(const PackedArgs& a, int vector, void* dst, const void* src, CUstream_st* stream) noexcept {
  if (kUnit <= 4 && vector == 4) return launch_one<Move<kUnit>, kUnit <= 4 ? 4 : 16>(a, dst, src, stream);
  if (kUnit <= 8 && vector == 8) return launch_one<Move<kUnit>, kUnit <= 8 ? 8 : 16>(a, dst, src, stream);
  return launch_one<Move<kUnit>, 16>(a, dst, src, stream);
}

}  // namespace

int launch_packed(const CudaArgs& args, void* dst, const void* src, CUstream_st* stream) noexcept {
  const auto& a = std::get<PackedArgs>(args.args);
  switch (args.key.dst_unit) {
    case 1: return launch_move<1>(a, args.key.variant, dst, src, stream);
    case 2: return launch_move<2>(a, args.key.variant, dst, src, stream);
    case 4: return launch_move<4>(a, args.key.variant, dst, src, stream);
    case 8: return launch_move<8>(a, args.key.variant, dst, src, stream);
    default: return launch_move<16>(a, args.key.variant, dst, src, stream);
  }
}

}  // namespace restride::cuda
