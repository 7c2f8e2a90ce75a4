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
using maps::PackedKind;

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

  /// What loading needs.
  __device__ void fill_pieces(const PackedArgs& a) const {
    for (int i = threadIdx.x; i < a.pieces; i += maps::kPackedThreads) {
      const maps::PackedSum sum = maps::packed_sum(a.piece_modes, i);
      pieces[i] = {sum.src, maps::packed_piece_base(a, i, sum.src)};
    }
  }

  /// What storing needs.
  __device__ void fill_runs(const PackedArgs& a) const {
    for (int i = threadIdx.x; i < a.rows; i += maps::kPackedThreads) {
      const maps::PackedSum sum = maps::packed_row_entry(a, i);
      rows[i] = {sum.dst, sum.inside};
    }
    for (int i = threadIdx.x; i < run_size; i += maps::kPackedThreads) {
      const int unit = i - maps::kRunPad;
      const bool real = unit >= 0 && unit < a.run_units;
      const auto entry = static_cast<std::uint16_t>(real ? maps::packed_run_entry(a, unit) : 0);
      for (int copy = 0; copy < a.run_copies; ++copy)
        if (i >= copy) run[copy * run_size + i - copy] = entry;
    }
  }

  /// Entries of the units of an aligned word, as few accesses.
  template <int count>
  __device__ void word_entries(int unit, std::uint32_t (&entry)[count]) const {
    constexpr int kAtOnce = count < 8 ? count : 8;
#pragma unroll
    for (int i = 0; i < count; i += kAtOnce) {
      Bits<2> part[kAtOnce];
      split<2, kAtOnce>(load<2 * kAtOnce>(run + unit + maps::kRunPad + i), part);
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) entry[i + j] = part[j];
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

/// The tile's pieces on their way into shared memory at `base`, which is `from` modulo 16.
template <PackedKind kind>
__device__ inline void load_tile(const PackedArgs& a, const Tables& tables, const maps::PackedPlace& place,
                                 std::uint32_t buffer, const char* src) {
  const char* const from = src + place.src;
  const char* const first = src + a.src_first;
  const char* const last = src + a.src_last;
  const std::uint32_t base = buffer + nibble(from);
  const int piece_bytes = place.piece_bytes;
  const int words = place.pieces * static_cast<int>(a.piece_words.divisor);
#pragma unroll 2
  for (int item = threadIdx.x; item < words; item += maps::kPackedThreads) {
    const int piece = static_cast<int>(a.piece_words.quotient(item));
    const int word = item - piece * static_cast<int>(a.piece_words.divisor);
    const PieceEntry entry = tables.pieces[piece];
    const char* const at = from + entry.src;
    const int off = word * 16 - nibble(at);
    if (off >= piece_bytes) continue;
    const std::uint32_t to = base + entry.shared + off;
    stage_word<true>(kind == PackedKind::kPlain ? to : maps::packed_swizzle(to, a.swizzle_shift), at + off, first, last);
  }
}

/// One word of dst, collected unit by unit; `base` is where entry 0 of the run lies.
template <class Op, PackedKind kind>
__device__ inline Bits<16> collect(const PackedArgs& a, const Tables& tables, std::uint32_t base, int unit) {
  constexpr int kUnits = 16 / Op::kDst;
  constexpr int kSteps = Op::kDst <= 4 ? 4 : kUnits;  // pieces of a word, each collected at once
  constexpr int kPart = kUnits / kSteps;
  const int lane = threadIdx.x & 31;
  if constexpr (kind == PackedKind::kPlain) {
    if (a.on_words) {  // the word's entries are aligned, too
      std::uint32_t entry[kUnits];
      tables.word_entries<kUnits>(unit, entry);
      Bits<Op::kDst> units[kUnits];
#pragma unroll
      for (int j = 0; j < kUnits; ++j) units[j] = Op::apply(load_shared<Op::kSrc>(base + entry[j]));
      return join<Op::kDst, kUnits>(units);
    }
  }
  Bits<Op::kDst * kPart> parts[kSteps];
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const int turn = kind == PackedKind::kPlain ? i : maps::packed_turn(lane, i, kSteps, a.rotate);
    std::uint32_t entry[kPart];
    tables.entries<kPart>(a, unit + turn * kPart, entry);
    Bits<Op::kDst> units[kPart];
#pragma unroll
    for (int j = 0; j < kPart; ++j) {
      const std::uint32_t at = base + entry[j];
      units[j] = Op::apply(
          load_shared<Op::kSrc>(kind == PackedKind::kPlain ? at : maps::packed_swizzle(at, a.swizzle_shift)));
    }
    parts[i] = join<Op::kDst, kPart>(units);
  }
  if constexpr (kind != PackedKind::kPlain && kSteps > 1) {  // back into order: part i is number i + lane / 8
    const int by = a.rotate ? lane >> 3 & (kSteps - 1) : 0;
    if constexpr (kSteps == 4) {
      rotate_words(parts, by);
    } else if (by != 0) {
      const auto first = parts[0];
      parts[0] = parts[kSteps - 1];
      parts[kSteps - 1] = first;
    }
  }
  return join<Op::kDst * kPart, kSteps>(parts);
}

template <class Op, PackedKind kind>
__device__ inline void store_tile(const PackedArgs& a, const Tables& tables, const maps::PackedPlace& place,
                                  std::uint32_t buffer, char* dst, const char* src) {
  constexpr int kUnits = 16 / Op::kDst;
  const std::uint32_t base = buffer + nibble(src + place.src);
  char* const to = dst + place.dst;
  const int run_units = place.run_units;
  const int stores = maps::packed_stores(a, place.rows);
  for (int item = threadIdx.x; item < stores; item += maps::kPackedThreads) {
    const maps::PackedStore store_at = maps::packed_store(a, item);
    if (store_at.row >= place.rows) continue;
    const RowEntry entry = tables.rows[store_at.row];
    char* const row = to + entry.dst;
    const int unit = store_at.word * kUnits - nibble(row) / Op::kDst;
    if (unit >= run_units) continue;
    const Bits<16> value = collect<Op, kind>(a, tables, base + entry.shared, unit);
    char* const at = row + unit * Op::kDst;
    if (unit >= 0 && unit + kUnits <= run_units) store<16>(at, value);
    else store_part<Op::kDst>(at, value, max(0, -unit) * Op::kDst, min(kUnits, run_units - unit) * Op::kDst);
  }
}

/// The same for 4 / kUnit rows at once, which lie side by side in every piece and start alike in dst.
template <int kUnit>
__device__ inline void store_blocks(const PackedArgs& a, const Tables& tables, const maps::PackedPlace& place,
                                    std::uint32_t buffer, char* dst, const char* src) {
  constexpr int kUnits = 16 / kUnit;
  constexpr int kAcross = 4 / kUnit;
  const std::uint32_t base = buffer + nibble(src + place.src);
  char* const to = dst + place.dst;
  const int run_units = place.run_units;
  const int lane = threadIdx.x & 31;
  const int stores = maps::packed_stores(a, (place.rows + kAcross - 1) / kAcross);
  for (int item = threadIdx.x; item < stores; item += maps::kPackedThreads) {
    const maps::PackedStore store_at = maps::packed_store(a, item);
    const int r = store_at.row * kAcross;
    if (r >= place.rows) continue;
    const RowEntry entry = tables.rows[r];
    const int unit = store_at.word * kUnits - nibble(to + entry.dst) / kUnit;
    if (unit >= run_units) continue;
    std::uint32_t out[kAcross][4];
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      std::uint32_t offset[kAcross], in[kAcross], column[kAcross];
      tables.entries<kAcross>(a, unit + maps::packed_turn(lane, w, 4, a.rotate) * kAcross, offset);
#pragma unroll
      for (int j = 0; j < kAcross; ++j)
        in[j] = load_shared<4>(maps::packed_swizzle(base + entry.shared + offset[j], a.swizzle_shift));
      transpose_words<kUnit>(in, column);
#pragma unroll
      for (int i = 0; i < kAcross; ++i) out[i][w] = column[i];
    }
    const bool whole = unit >= 0 && unit + kUnits <= run_units;
    const int first = max(0, -unit) * kUnit, last = min(kUnits, run_units - unit) * kUnit;
#pragma unroll
    for (int i = 0; i < kAcross; ++i) {
      if (r + i >= place.rows) break;
      if (a.rotate) rotate_words(out[i], lane >> 3 & 3);
      char* const at = to + tables.rows[r + i].dst + unit * kUnit;
      const uint4 value = make_uint4(out[i][0], out[i][1], out[i][2], out[i][3]);
      if (whole) store<16>(at, value);
      else store_part<kUnit>(at, value, first, last);
    }
  }
}

template <class Op, PackedKind kind>
__global__ void __launch_bounds__(maps::kPackedThreads, kind == PackedKind::kBlock ? 4 : 6)
    packed_kernel(const __grid_constant__ PackedArgs a, char* dst, const char* src) {
  extern __shared__ __align__(128) char shared[];
  __shared__ maps::PackedPlace places[2];
  const Tables tables(a, shared);
  const std::uint32_t buffer = shared_address(shared);
  if (threadIdx.x == 0) places[0] = maps::packed_place(a, blockIdx.x);
  tables.fill_pieces(a);
  __syncthreads();

  int current = 0;
  for (std::uint32_t tile = blockIdx.x; tile < a.tiles; tile += gridDim.x, current ^= 1) {
    load_tile<kind>(a, tables, places[current], buffer, src);
    // While the copies are under way, one thread works out where the block's next tile lies.
    if (threadIdx.x == 0 && tile + gridDim.x < a.tiles)
      places[current ^ 1] = maps::packed_place(a, tile + gridDim.x);
    if (tile == blockIdx.x) tables.fill_runs(a);
    wait_copies();
    __syncthreads();
    if constexpr (kind == PackedKind::kBlock) store_blocks<Op::kDst>(a, tables, places[current], buffer, dst, src);
    else store_tile<Op, kind>(a, tables, places[current], buffer, dst, src);
    __syncthreads();
  }
}

template <class Op, PackedKind kind>
int launch_kind(const PackedArgs& a, void* dst, const void* src, CUstream_st* stream) noexcept {
  return enqueue(packed_kernel<Op, kind>, a, dst, src, a.blocks, maps::kPackedThreads, a.shared_bytes, stream);
}

template <class Op>
int launch_one(const PackedArgs& a, void* dst, const void* src, CUstream_st* stream) noexcept {
  return a.kind == PackedKind::kPlain ? launch_kind<Op, PackedKind::kPlain>(a, dst, src, stream)
                                      : launch_kind<Op, PackedKind::kSpread>(a, dst, src, stream);
}

template <int kUnit>
int launch_small(const PackedArgs& a, void* dst, const void* src, CUstream_st* stream) noexcept {
  if (a.kind != PackedKind::kBlock) return launch_one<Move<kUnit>>(a, dst, src, stream);
  return launch_kind<Move<kUnit>, PackedKind::kBlock>(a, dst, src, stream);
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
    case 1: return launch_small<1>(a, dst, src, stream);
    case 2: return launch_small<2>(a, dst, src, stream);
    case 4: return launch_one<Move<4>>(a, dst, src, stream);
    case 8: return launch_one<Move<8>>(a, dst, src, stream);
    default: return launch_one<Move<16>>(a, dst, src, stream);
  }
}

}  // namespace restride::cuda
