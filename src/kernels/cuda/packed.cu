// Moves         tensors whose innermost modes are short on a side or both; the tile is a set of modes.
// Applies when  leading modes of dst and leading modes of src each make up a dense run worth moving whole.
// Thread map    256 threads a tile: load, aligned 16-byte words of src's pieces; store, words of dst's runs collected
//               from shared memory. A thread keeps its word of the run, so its units' places stay in registers.
// Shared memory pieces as they lie in src, congruent to their addresses modulo 16; tables of 2 bytes a unit of a run.
// Traffic       every byte once each way; partly used sectors at the ends of pieces and runs only.
// Source        structs to arrays, pixel and qubit kernels, generalised. Measured on H200 with counters: bound by
//               instructions at 250 a 512 bytes and warp, 0.64-0.90 of a copy on small matrices; at half, 0.93-0.99.
#include "src/kernels/cuda/casts.cuh"
#include "src/kernels/cuda/device.cuh"
#include "src/kernels/cuda/families.h"
#include "src/kernels/cuda/packed_tile.cuh"

namespace restride::cuda {
namespace {

/// Bytes [first, last) of a 16-byte word at `to`, as few accesses: up to 4 bytes at either end are less than words.
template <int kUnit>
__device__ inline void store_ends(char* to, const uint4& v, int first, int last) {
  const std::uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int w = 0; w < 4; ++w)
    if (first <= 4 * w && 4 * w + 4 <= last) store<4>(to + 4 * w, words[w]);
  if constexpr (kUnit < 4) {
    const auto word_of = [&](int byte) {
      const std::uint32_t low = (byte & 4) != 0 ? v.y : v.x, high = (byte & 4) != 0 ? v.w : v.z;
      return (byte & 8) != 0 ? high : low;
    };
    const bool one_word = first >> 2 == last >> 2;
    const auto rest = [&](int begin, int end) {  // inside one word
      const std::uint32_t word = word_of(begin);
#pragma unroll
      for (int b = 0; b < 4; b += kUnit) {
        const int byte = (begin & ~3) + b;
        if (byte >= begin && byte < end) store<kUnit>(to + byte, static_cast<Bits<kUnit>>(word >> (8 * b)));
      }
    };
    if ((first & 3) != 0) rest(first, one_word ? last : (first | 3) + 1);
    if ((last & 3) != 0 && !(one_word && (first & 3) != 0)) rest(last & ~3, last);
  }
}

/// Units of a word of dst, and how they are collected: in steps, each of which makes up to 4 bytes at once.
template <class Op>
struct Shape {
  static constexpr int kUnits = 16 / Op::kDst;
  static constexpr int kSteps = Op::kDst <= 4 ? 4 : kUnits;
  static constexpr int kPart = kUnits / kSteps;
};

/// The places of a word's units, in the order in which this lane collects them.
template <class Op, bool copies>
__device__ inline void look_up(const PackedArgs& a, const Tables& tables, int unit, const maps::PackedTurn& turn_by,
                               std::uint32_t (&places)[Shape<Op>::kUnits]) {
  using S = Shape<Op>;
#pragma unroll
  for (int i = 0; i < S::kSteps; ++i) {
    const int turn = maps::packed_turn(threadIdx.x & 31, i, S::kSteps, turn_by);
    std::uint32_t part[S::kPart];
    tables.entries<S::kPart, copies && (S::kPart > 1)>(a, unit + turn * S::kPart, part);
#pragma unroll
    for (int j = 0; j < S::kPart; ++j) places[i * S::kPart + j] = part[j];
  }
}

/// The parts of a word back into order, after `packed_turn`.
template <class Part, int kSteps>
__device__ inline void turn_back(const maps::PackedTurn& turn_by, Part (&parts)[kSteps]) {
  if (turn_by.shift == maps::PackedTurn{}.shift) return;
  const int by = maps::packed_ahead(threadIdx.x & 31, turn_by) & (kSteps - 1);
  if constexpr (kSteps == 4) {
    rotate_words(parts, by);
  } else if constexpr (kSteps == 2) {
    const auto first = parts[0], second = parts[1];
    parts[0] = by != 0 ? second : first;
    parts[1] = by != 0 ? first : second;
  }
}

/// One word of dst, collected unit by unit; `base` is where entry 0 of the run lies.
template <class Op, bool swizzled>
__device__ inline Bits<16> collect(const PackedArgs& a, std::uint32_t base, const maps::PackedTurn& turn_by,
                                   const std::uint32_t (&places)[Shape<Op>::kUnits]) {
  using S = Shape<Op>;
  Bits<Op::kDst * S::kPart> parts[S::kSteps];
#pragma unroll
  for (int i = 0; i < S::kSteps; ++i) {
    Bits<Op::kDst> units[S::kPart];
#pragma unroll
    for (int j = 0; j < S::kPart; ++j) {
      const std::uint32_t at = base + places[i * S::kPart + j];
      units[j] = Op::apply(load_shared<Op::kSrc>(swizzled ? maps::packed_swizzle(at, a.swizzle_shift) : at));
    }
    parts[i] = join<Op::kDst, S::kPart>(units);
  }
  turn_back(turn_by, parts);
  return join<Op::kDst * S::kPart, S::kSteps>(parts);
}

template <class Op>
__device__ inline void store_word(char* at, const Bits<16>& value, int unit, int units) {
  constexpr int kUnits = Shape<Op>::kUnits;
  if (unit >= 0 && unit + kUnits <= units)
    store<16>(at, value);
  else
    store_ends<Op::kDst>(at, value, max(0, -unit) * Op::kDst, min(kUnits, units - unit) * Op::kDst);
}

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
#define RESTRIDE_X(d, s)                                                \
  if (args.key.dst_dtype == DType::d && args.key.src_dtype == DType::s) \
    return launch_cast<Cast<base::Storage<DType::d>, base::Storage<DType::s>>>(a, dst, src, stream);
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
