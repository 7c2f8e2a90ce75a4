// Moves         tensors whose innermost modes are short on a side or both; the tile is a set of modes.
// Applies when  leading modes of dst and leading modes of src each make up a dense run worth moving whole.
// Thread map    256 threads a tile: load, aligned 16-byte words of src's pieces; store, words of dst's runs collected
//               from shared memory. A thread keeps its word of the run, so its units' places stay in registers.
// Shared memory pieces as they lie in src, congruent to their addresses modulo 16; tables of 2 bytes a unit of a run.
// Traffic       every byte once each way; partly used sectors at the ends of pieces and runs only.
// Source        structs to arrays, pixel and qubit kernels, generalised. Bound by instructions and by the banks in
// which
//               lanes meet while they collect units one by one; measured rows in bench/results.
#include "src/kernels/cuda/families.h"
#include "src/kernels/cuda/packed_collect.cuh"
#include "src/kernels/cuda/packed_tile.cuh"

namespace restride::cuda {
namespace {

/// A tile whose runs all start alike: a lane's places in its run serve all its rows.
template <class Op, bool swizzled>
__device__ inline void store_fixed(const PackedArgs& a, const Tables& tables, const maps::PackedPlace& place,
                                   std::uint32_t buffer, char* dst, const char* src) {
  constexpr int kUnits = Shape<Op>::kUnits;
  const std::uint32_t base = buffer + nibble(src + place.src);
  char* const to = settled(dst + place.dst);
  const int run_units = place.run_units, rows = place.rows;
  const maps::PackedTurn turn_by = swizzled ? a.turn : maps::PackedTurn{};
  int unit = 0;
  char* mine = to;
  std::uint32_t places[kUnits];
  walk(
      a.store,
      [&](int word) {
        unit = word * kUnits - nibble(to) / Op::kDst;
        mine = settled(to + unit * Op::kDst);
        if (unit < run_units) look_up<Op, false>(a, tables, unit, turn_by, places);
      },
      [&](int row) {
        if (row >= rows || unit >= run_units) return;
        const RowEntry entry = look(tables.rows, row);
        const Bits<16> value = collect<Op, swizzled>(a, base + entry.shared, turn_by, places);
        store_word<Op>(mine + entry.dst, value, unit, run_units);
      });
}

/// A tile whose runs start anywhere.
template <class Op>
__device__ inline void store_loose(const PackedArgs& a, const Tables& tables, const maps::PackedPlace& place,
                                   std::uint32_t buffer, char* dst, const char* src) {
  constexpr int kUnits = Shape<Op>::kUnits;
  const std::uint32_t base = buffer + nibble(src + place.src);
  char* const to = settled(dst + place.dst);
  const int run_units = place.run_units, rows = place.rows;
  int start = 0;
  walk(
      a.store, [&](int word) { start = word * kUnits; },
      [&](int row) {
        if (row >= rows) return;
        const RowEntry entry = look(tables.rows, row);
        const int unit = start - nibble(to + entry.dst) / Op::kDst;
        if (unit >= run_units) return;
        std::uint32_t places[kUnits];
        look_up<Op, true>(a, tables, unit, a.turn, places);
        const Bits<16> value = collect<Op, true>(a, base + entry.shared, a.turn, places);
        store_word<Op>(to + (entry.dst + unit * Op::kDst), value, unit, run_units);
      });
}

/// A tile whose runs follow each other.
template <class Op>
__device__ inline void store_flat(const PackedArgs& a, const Tables& tables, const maps::PackedPlace& place,
                                  std::uint32_t buffer, char* dst, const char* src) {
  constexpr int kUnits = Shape<Op>::kUnits;
  const std::uint32_t base = buffer + nibble(src + place.src);
  char* const to = settled(dst + place.dst);
  const int units = place.rows * a.run_units;
#pragma unroll 2
  for (int unit = static_cast<int>(threadIdx.x) * kUnits - nibble(to) / Op::kDst; unit < units;
       unit += maps::kPackedThreads * kUnits) {
    const int run = static_cast<int>(a.flat_run.quotient(max(unit, 0)));
    std::uint32_t places[kUnits];
    look_up<Op, true>(a, tables, unit - run * static_cast<int>(a.flat_run.divisor), a.turn, places);
    const Bits<16> value = collect<Op, false>(a, base + run * a.flat_step, a.turn, places);
    store_word<Op>(to + unit * Op::kDst, value, unit, units);
  }
}

/// 4 / kUnit rows at once, which lie side by side in every piece and start alike in dst.
template <int kUnit>
__device__ inline void store_blocks(const PackedArgs& a, const Tables& tables, const maps::PackedPlace& place,
                                    std::uint32_t buffer, char* dst, const char* src) {
  constexpr int kUnits = 16 / kUnit;
  constexpr int kAcross = 4 / kUnit;
  const std::uint32_t base = buffer + nibble(src + place.src);
  char* const to = settled(dst + place.dst);
  const int run_units = place.run_units, rows = place.rows;
  int unit = 0;
  char* mine = to;
  std::uint32_t places[kUnits];
  walk(
      a.store,
      [&](int word) {
        unit = word * kUnits - nibble(to) / kUnit;
        mine = settled(to + unit * kUnit);
        if (unit < run_units) look_up<Move<kUnit>, false>(a, tables, unit, a.turn, places);
      },
      [&](int line) {
        const int r = line * kAcross;
        if (r >= rows || unit >= run_units) return;
        const std::uint32_t row_base = base + tables.rows[r].shared;
        std::uint32_t out[kAcross][4];
#pragma unroll
        for (int w = 0; w < 4; ++w) {
          std::uint32_t in[kAcross], column[kAcross];
#pragma unroll
          for (int j = 0; j < kAcross; ++j)
            in[j] = load_shared<4>(maps::packed_swizzle(row_base + places[w * kAcross + j], a.swizzle_shift));
          transpose_words<kUnit>(in, column);
#pragma unroll
          for (int i = 0; i < kAcross; ++i) out[i][w] = column[i];
        }
#pragma unroll
        for (int i = 0; i < kAcross; ++i) {
          if (r + i >= rows) break;
          turn_back(a.turn, out[i]);
          const uint4 value = make_uint4(out[i][0], out[i][1], out[i][2], out[i][3]);
          store_word<Move<kUnit>>(mine + tables.rows[r + i].dst, value, unit, run_units);
        }
      });
}

/// Blocks of a multiprocessor: lanes that keep 16 places in registers leave room for 4.
template <class Op>
constexpr int kPackedResident = Op::kDst < 4 ? 4 : 6;

template <class Op, PackedKind kind>
__global__ void __launch_bounds__(maps::kPackedThreads, kPackedResident<Op>)
    packed_kernel(const __grid_constant__ PackedArgs a, char* dst, const char* src) {
  extern __shared__ __align__(128) char shared[];
  __shared__ maps::PackedPlace places[2];
  const Tables tables(a, shared);
  const std::uint32_t buffer = shared_address(shared);
  if (threadIdx.x == 0) places[0] = maps::packed_place(a, blockIdx.x);
  tables.fill_pieces(a);
  __syncthreads();

  constexpr bool kSwizzled = kind != PackedKind::kFixed && kind != PackedKind::kFlat;
  int current = 0;
#pragma unroll 1
  for (std::uint32_t tile = blockIdx.x; tile < a.tiles; tile += gridDim.x, current ^= 1) {
    const maps::PackedPlace place = places[current];
    load_tile<kSwizzled>(a, tables, place, buffer, src);
    // While the copies are under way, one thread works out where the block's next tile lies.
    if (threadIdx.x == 0 && tile + gridDim.x < a.tiles) places[current ^ 1] = maps::packed_place(a, tile + gridDim.x);
    if (tile == blockIdx.x) tables.template fill_runs<kind>(a);
    wait_copies();
    __syncthreads();
    if constexpr (kind == PackedKind::kFlat)
      store_flat<Op>(a, tables, place, buffer, dst, src);
    else if constexpr (kind == PackedKind::kLoose)
      store_loose<Op>(a, tables, place, buffer, dst, src);
    else if constexpr (kind == PackedKind::kBlock)
      store_blocks<Op::kDst>(a, tables, place, buffer, dst, src);
    else
      store_fixed<Op, kSwizzled>(a, tables, place, buffer, dst, src);
    __syncthreads();
  }
}

template <class Op, PackedKind kind>
int launch_kind(const PackedArgs& a, void* dst, const void* src, CUstream_st* stream) noexcept {
  return enqueue(packed_kernel<Op, kind>, a, dst, src, a.blocks, maps::kPackedThreads, a.shared_bytes, stream);
}

template <class Op>
int launch_one(const PackedArgs& a, void* dst, const void* src, CUstream_st* stream) noexcept {
  switch (a.kind) {
    case PackedKind::kFixed: return launch_kind<Op, PackedKind::kFixed>(a, dst, src, stream);
    case PackedKind::kSpread: return launch_kind<Op, PackedKind::kSpread>(a, dst, src, stream);
    case PackedKind::kFlat: return launch_kind<Op, PackedKind::kFlat>(a, dst, src, stream);
    default: return launch_kind<Op, PackedKind::kLoose>(a, dst, src, stream);
  }
}

/// Casts have kernels for half of the kinds; loose runs cover the others.
template <class Op>
int launch_cast(const PackedArgs& a, void* dst, const void* src, CUstream_st* stream) noexcept {
  return a.kind == PackedKind::kFlat ? launch_kind<Op, PackedKind::kFlat>(a, dst, src, stream)
                                     : launch_kind<Op, PackedKind::kLoose>(a, dst, src, stream);
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
#define RESTRIDE_X(kSrc, kDst)                                \
  if (args.key.src_unit == kSrc && args.key.dst_unit == kDst) \
    return launch_cast<Convert<kSrc, kDst>>(a, dst, src, stream);
    RESTRIDE_CAST_SIZES(RESTRIDE_X)
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
