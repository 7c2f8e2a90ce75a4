// Moves         the copies of tile/unaligned_chains whose units become other dtypes on their way.
// Applies when  as there, units have 1 to 8 bytes on both sides; also where rows lie on words.
// Thread map    load, 16 bytes a lane along lines of src; store, 16 bytes a lane along dst's chain, whose units it
//               collects from as many rows of src and converts.
// Shared memory rows of src as they lie there; tables of where rows lie; see src/cuda/tile/unaligned_chains_map.h.
// Traffic       that of tile/unaligned_chains; words that the ends of a row or a run fill in part leave unit by unit.
// Source        unaligned_chains.cu. One place in a kernel converts, for windows and runs, for whole words and ends: it
//               takes the code of up to 20 pairs of dtypes. Measured rows in bench/results/turns.
#include "src/cuda/dispatch.cuh"
#include "src/cuda/tile/tile.h"
#include "src/cuda/tile/unaligned_chains.cuh"

namespace restride::cuda {
namespace {

using namespace unaligned;

/// Where a word of dst goes, what of it is stored, and where the units lie that it is made of.
struct Word {
  char* to;
  CastWord part;
  std::uint32_t at;
  int s;
};

/// Word `word` of the tile's row number `line`, or of the run of that number.
template <class Op>
__device__ inline Word find_word(const UnalignedChainArgs& c, const Here& h, int line, int word) {
  const RowEntry row = h.rows[line];
  const int row_bytes = c.tile.d_extent * Op::kDst;
  if (c.run_rows == 0)
    return {row.to + word * 16, cast_row_word(row.first, row_bytes, word, Op::kDst),
            row.at + word * (16 / Op::kDst * 2), line};
  const int bytes = unaligned_run_rows(c, h.s_count, line) * row_bytes;
  const CastWord part = cast_run_word(nibble(row.to), bytes, word, Op::kDst);
  const RunPlace place = run_place(c, part.byte / Op::kDst);
  return {row.to + part.byte, part, found_at<Op>(c, h, place.d), run_row(c, line, place.s)};
}

template <class Op>
__device__ inline void store_converted(const UnalignedChainArgs& c, const Here& h) {
  constexpr int kUnits = 16 / Op::kDst;
  const int words = static_cast<int>(c.store_words.divisor);
  const int items = (c.run_rows == 0 ? h.s_count : unaligned_runs(c, h.s_count)) * words;
#pragma unroll 1
  for (int item = threadIdx.x; item < items; item += blockDim.x) {
    const auto line = static_cast<int>(c.store_words.quotient(item));
    const Word w = find_word<Op>(c, h, line, item - line * words);
    if (w.part.first >= w.part.last) continue;
    Bits<Op::kSrc> in[kUnits];
    Bits<16> value;
    collect_units<Op>(h, w.at, w.s, 0, in);
    with_each<Op::kDst, Op::kSrc>(c.tile.dst_dtype, c.tile.src_dtype,
                                  [&]<class Dst, class Src>() { value = convert_part<Dst, Src, kUnits>(in); });
    if (w.part.first == 0 && w.part.last == kUnits) {
      store<16>(w.to, value);
      continue;
    }
    Bits<Op::kDst> out[kUnits];
    split<Op::kDst, kUnits>(value, out);
#pragma unroll
    for (int j = 0; j < kUnits; ++j)
      if (j >= w.part.first && j < w.part.last) store<Op::kDst>(w.to + j * Op::kDst, out[j]);
  }
}

template <class Op>
__global__ void __launch_bounds__(kMostUnalignedThreads,
                                  resident_blocks(kMostUnalignedThreads, unaligned_cast_blocks(Op::kDst, Op::kSrc)))
    tile_unaligned_chains_kernel(const __grid_constant__ UnalignedChainArgs c, char* dst, const char* src) {
  extern __shared__ __align__(128) char shared[];
  const Here h = load_tile<Op>(c, shared, dst, src);
  if (c.run_rows == 0)
    fill_rows<Op>(c, h);
  else
    fill_runs(c, h);
  wait_copies();
  __syncthreads();
  store_converted<Op>(c, h);
}

}  // namespace

int launch_unaligned_chains_cast(const UnalignedChainArgs& c, const Units& units, const Launch& on) noexcept {
  return with_cast_sizes(units, [&]<int kSrc, int kDst>() {
    if constexpr (kSrc > 8 || kDst > 8)
      return static_cast<int>(cudaErrorInvalidValue);
    else
      return enqueue(tile_unaligned_chains_kernel<Convert<kSrc, kDst>>, c, on, c.tile.tiles,
                     static_cast<unsigned>(c.threads), static_cast<unsigned>(unaligned_tables(c, kDst, true).end));
  });
}

}  // namespace restride::cuda
