// Moves         tensors whose innermost modes are short on a side or both; the tile is a set of modes.
// Applies when  leading modes of dst and leading modes of src each make up a dense run worth moving whole.
// Thread map    up to 256 threads a tile: load, aligned 16-byte words of src's pieces; store, words of dst's runs
//               collected from shared memory. A thread keeps its word of the run, or of a cycle of runs, or takes runs
//               that start alike, so its units' places stay in registers. Words that runs of units of 1 and 2 bytes
//               fill in part follow, 4 bytes a thread.
// Shared memory pieces as they lie in src, congruent to their addresses modulo 16; tables of 2 bytes a unit of a run.
// Traffic       every byte once each way; partly used sectors at the ends of pieces and runs only.
// Source        structs to arrays, pixel and qubit kernels, generalised. Bound by instructions and by the banks in
//               which lanes meet while they collect units one by one; measured rows in bench/results.
// `Op`, a kernel's template argument, says what becomes of a unit on its way: Move<bytes> (device.cuh) leaves it as it
// is, Convert<src bytes, dst bytes> (cast/pairs.cuh) converts it. Op::kSrc and Op::kDst are a unit's bytes on either
// side.
#include "src/cuda/dispatch.cuh"
#include "src/cuda/packed/packed.h"
#include "src/cuda/packed/store.cuh"

namespace restride::cuda {
namespace {

/// Blocks of a multiprocessor: lanes that keep 16 places in registers leave room for 4.
template <class Op>
constexpr int kPackedResident = Op::kDst < 4 ? 4 : 6;

template <class Op, PackedKind kind>
__global__ void __launch_bounds__(kPackedThreads, resident_blocks(kPackedThreads, kPackedResident<Op>))
    packed_staged_kernel(const __grid_constant__ PackedArgs a, char* dst, const char* src) {
  extern __shared__ __align__(128) char shared[];
  __shared__ PackedPlace places[2];
  __shared__ int starts[16];  // rows by where they start, for those that are sorted
  const Tables tables(a, shared);
  const std::uint32_t buffer = shared_address(shared);
  if (threadIdx.x == 0) places[0] = packed_place(a, blockIdx.x);
  if (kind == PackedKind::kSorted && threadIdx.x < 16) starts[threadIdx.x] = 0;
  tables.fill_pieces(a);
  __syncthreads();

  int current = 0;
#pragma unroll 1
  for (std::uint32_t tile = blockIdx.x; tile < a.tiles; tile += gridDim.x, current ^= 1) {
    const PackedPlace place = places[current];
    load_tile<packed_swizzles(kind)>(a, tables, place, buffer, src);
    // While the copies are under way, one thread works out where the block's next tile lies.
    if (threadIdx.x == 0 && tile + gridDim.x < a.tiles) places[current ^ 1] = packed_place(a, tile + gridDim.x);
    if (tile == blockIdx.x) {
      if constexpr (kind == PackedKind::kSorted) {
        tables.count_rows(a, starts);
        __syncthreads();
      }
      tables.template fill_runs<kind, Op::kDst>(a);
    }
    wait_copies();
    __syncthreads();
    const std::uint32_t base = buffer + nibble(src + place.src);
    char* const to = settled(dst + place.dst);
    if constexpr (kind == PackedKind::kFlat && kMoves<Op>)
      store_cycles<Op>(a, tables, place, base, to);
    else if constexpr (kind == PackedKind::kFlat)
      store_flat<Op>(a, tables, place, base, to);
    else if constexpr (kind == PackedKind::kLoose)
      store_loose<Op>(a, tables, place, base, to);
    else if constexpr (kind == PackedKind::kSorted)
      store_sorted<Op>(a, tables, place, base, to);
    else if constexpr (kind == PackedKind::kTransposed)
      store_transposed<Op::kDst>(a, tables, place, base, to);
    else
      store_fixed<Op, kind>(a, tables, place, base, to);
    if constexpr (packed_ends_apart(kind, Op::kDst, !kMoves<Op>))
      store_run_ends<Op::kDst, kind>(a, tables, place, base, to);
    __syncthreads();
  }
}

template <class Op, PackedKind kind>
int launch_kind(const PackedArgs& a, const Launch& on) noexcept {
  return enqueue(packed_staged_kernel<Op, kind>, a, on, a.blocks, static_cast<unsigned>(a.threads),
                 static_cast<unsigned>(a.shared_bytes));
}

template <int kUnit>
int launch_unit(const PackedArgs& a, const Launch& on) noexcept {
  using Op = Move<kUnit>;
  switch (a.kind) {
    case PackedKind::kFixed: return launch_kind<Op, PackedKind::kFixed>(a, on);
    case PackedKind::kSpread: return launch_kind<Op, PackedKind::kSpread>(a, on);
    case PackedKind::kFlat: return launch_kind<Op, PackedKind::kFlat>(a, on);
    case PackedKind::kTransposed:
      if constexpr (kUnit <= 2) return launch_kind<Op, PackedKind::kTransposed>(a, on);
      break;
    case PackedKind::kSorted:
      if constexpr (kUnit <= 2) return launch_kind<Op, PackedKind::kSorted>(a, on);
      break;
    case PackedKind::kLoose: break;
  }
  return launch_kind<Op, PackedKind::kLoose>(a, on);
}

}  // namespace

int launch_packed_staged(const CudaArgs& args, const Launch& on) noexcept {
  const auto& a = std::get<PackedArgs>(args.args);
  if (!args.units.cast)
    return with_size<1, 2, 4, 8, 16>(args.units.dst, [&]<int kUnit>() { return launch_unit<kUnit>(a, on); });
  // Casts have kernels for two of the six kinds; loose runs cover the others.
  return with_cast_sizes(args.units, [&]<int kSrc, int kDst>() {
    using Op = Convert<kSrc, kDst>;
    return a.kind == PackedKind::kFlat ? launch_kind<Op, PackedKind::kFlat>(a, on)
                                       : launch_kind<Op, PackedKind::kLoose>(a, on);
  });
}

}  // namespace restride::cuda
