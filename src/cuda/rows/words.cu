// Moves         rows: the innermost mode is contiguous in dst and walked at a constant step in src; run is one row.
// Applies when  always for dst's innermost mode dense; fast when src's step is one unit forwards or backwards.
// Thread map    consecutive threads, consecutive words of a row; a block has a chunk of a long row or several short.
//               Rows of whole words have a kernel of their own, on some GPUs with blocks of 512 threads.
// Shared memory none.
// Traffic       every byte once each way; 16-byte stores on dst's boundaries, two aligned loads a word where src is
//               aligned otherwise (the second hits L1). Where gaps lie between rows, their ends share sectors with
//               them; L2 has to read those, and is asked to beforehand.
// Source        copy kernels on sizes and byte strides, as ggml's cpy; measured rows in bench/results.
#include "src/cuda/device.cuh"
#include "src/cuda/dispatch.cuh"
#include "src/cuda/pairs.cuh"
#include "src/cuda/rows/rows.h"
#include "src/cuda/rows/words_map.h"
#include "src/cuda/shift.cuh"

namespace restride::cuda {
namespace {

constexpr int kThreads = kRowsThreads;

/// The units of a word in opposite order.
template <int kUnit>
__device__ inline uint4 reversed(const uint4& v) {
  if constexpr (kUnit == 8) return make_uint4(v.z, v.w, v.x, v.y);
  uint4 r = make_uint4(v.w, v.z, v.y, v.x);
  if constexpr (kUnit < 4) {
    constexpr unsigned kOrder = kUnit == 2 ? 0x1032 : 0x0123;
    r = make_uint4(__byte_perm(r.x, 0, kOrder), __byte_perm(r.y, 0, kOrder), __byte_perm(r.z, 0, kOrder),
                   __byte_perm(r.w, 0, kOrder));
  }
  return r;
}

/// One word on its way: where its units lie, what was loaded for it, and whether it is whole.
template <int kUnit, RowsKind kind>
struct Word {
  static constexpr bool kShift = kind == RowsKind::kForward || kind == RowsKind::kReverse;
  static constexpr int kUnits = kind == RowsKind::kUnit ? 1 : 16 / kUnit;
  static constexpr int kBytes = kUnits * kUnit;
  static constexpr int kSkewMask = kind == RowsKind::kUnit ? 0 : kBytes - 1;

  char* to;  // the word's first unit, which may lie before the row
  const char* from;
  std::int64_t unit;  // its number in the row
  bool whole;
  bool readable;                                            // forward and reverse: both aligned words are the source's
  uint4 low, high;                                          // forward and reverse: the aligned words that hold it
  Bits<kUnit> in[kind == RowsKind::kCollect ? kUnits : 1];  // repeat: the one unit of the row

  __device__ void find(const RowsArgs& a, const RowsItem& item, char* dst, const char* src) {
    const Offsets at = row_offsets(a.rows, item.row);
    char* const row = dst + a.dst_offset + at.dst;
    const int skew = static_cast<int>(reinterpret_cast<std::uintptr_t>(row) & kSkewMask) / kUnit;
    unit = item.row < a.row_count ? rows_first_unit(item.word, kUnits, skew) : a.row_units;
    to = row + unit * kUnit;
    from = src + a.src_offset + at.src + unit * a.src_step;
    whole = unit >= 0 && unit + kUnits <= a.row_units;
    if constexpr (kShift) {
      const char* const word = lowest() - nibble(lowest());
      // A word that reaches beyond the source is read unit by unit.
      readable =
          word >= src + a.src_first && word + 32 <= src + a.src_last && item.row < a.row_count && unit < a.row_units;
    }
  }

  /// Asks for the word's sector of dst where the row does not fill it.
  __device__ void fetch_end(const RowsArgs& a) const {
    const std::int64_t sector = unit * kUnit - static_cast<int>(reinterpret_cast<std::uintptr_t>(to) & 31);
    if (unit < a.row_units && (sector < 0 || sector + 32 > a.row_units * kUnit)) fetch_sector(to);
  }

  __device__ const char* lowest() const { return kind == RowsKind::kReverse ? from - (kUnits - 1) * kUnit : from; }

  __device__ void fetch(const RowsArgs& a) {
    if constexpr (kShift) {
      if (!readable) return;
      const char* const word = lowest() - nibble(lowest());
      low = load<16>(word);
      high = load<16>(word + 16);
      return;
    }
    if (!whole) return;
    if constexpr (kShift) {
    } else if constexpr (kind != RowsKind::kCollect) {
      if constexpr (kUnit == 16)
        in[0] = load_under(source_policy(a.keep), from);
      else
        in[0] = load<kUnit>(from);
    } else {
#pragma unroll
      for (int j = 0; j < kUnits; ++j) in[j] = load<kUnit>(from + j * a.src_step);
    }
  }

  __device__ void write(const RowsArgs& a) const {
    if constexpr (kShift) {
      if (readable) {
        uint4 bytes = shifted(low, high, nibble(lowest()));
        if constexpr (kind == RowsKind::kReverse) bytes = reversed<kUnit>(bytes);
        if (whole)
          store<16>(to, bytes);
        else
          store_part<kUnit>(to, bytes, unit < 0 ? static_cast<int>(-unit) * kUnit : 0,
                            a.row_units - unit < kUnits ? static_cast<int>(a.row_units - unit) * kUnit : 16);
        return;
      }
    } else if (whole) {
      Bits<kUnit> out[kUnits];
#pragma unroll
      for (int j = 0; j < kUnits; ++j) out[j] = in[kind == RowsKind::kCollect ? j : 0];
      store<kBytes>(to, join<kUnit, kUnits>(out));
      return;
    }
    for (int j = 0; j < kUnits; ++j)
      if (unit + j >= 0 && unit + j < a.row_units) store<kUnit>(to + j * kUnit, load<kUnit>(from + j * a.src_step));
  }
};

template <int kUnit, RowsKind kind, int kSteps>
__device__ __forceinline__ void move_words(const RowsArgs& a, char* dst, const char* src) {
  Word<kUnit, kind> words[kSteps];
#pragma unroll
  for (int step = 0; step < kSteps; ++step)
    words[step].find(a, rows_item(a, blockIdx.x, step * kThreads + threadIdx.x), dst, src);
  if (a.fetch_ends) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) words[step].fetch_end(a);
  }
  // All loads before the first use of one.
#pragma unroll
  for (int step = 0; step < kSteps; ++step) words[step].fetch(a);
#pragma unroll
  for (int step = 0; step < kSteps; ++step) words[step].write(a);
}

template <int kUnit, RowsKind kind, int kSteps>
__global__ void __launch_bounds__(kThreads)
    rows_words_kernel(const __grid_constant__ RowsArgs a, char* dst, const char* src) {
  move_words<kUnit, kind, kSteps>(a, dst, src);
}

/// Units that are words, in rows that share no sector with gaps: all that a thread needs is where its words lie.
/// (It has the name that plans give all of these kernels.)
template <int kBlockThreads, int kSteps>
__global__ void __launch_bounds__(kBlockThreads)
    rows_words_kernel(const __grid_constant__ RowsArgs a, char* dst, const char* src) {
  char* to[kSteps];
  bool inside[kSteps];
  uint4 words[kSteps];
  const std::uint64_t policy = source_policy(a.keep);
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const RowsItem item = rows_numbered(a, blockIdx.x * (kBlockThreads * kSteps) + step * kBlockThreads + threadIdx.x);
    inside[step] = item.row < a.row_count;
    if (!inside[step]) continue;
    const Offsets at = row_offsets(a.rows, item.row);
    to[step] = dst + a.dst_offset + at.dst + item.word * kWordBytes;
    words[step] = load_under(policy, src + a.src_offset + at.src + item.word * a.src_step);
  }
#pragma unroll
  for (int step = 0; step < kSteps; ++step)
    if (inside[step]) store<16>(to[step], words[step]);
}

/// Many pairs of memory, one word a thread.
template <int kUnit, RowsKind kind, class Memory>
__global__ void __launch_bounds__(kThreads)
    rows_words_pairs_kernel(const __grid_constant__ RowsArgs a, const __grid_constant__ Memory memory) {
  char* dst;
  const char* src;
  memory.find(blockIdx.y, &dst, &src);
  move_words<kUnit, kind, 1>(a, dst, src);
}

template <int kUnit, RowsKind kind>
int launch_kind(const RowsArgs& a, const Launch& on) noexcept {
  return with_size<1, 2, 4>(static_cast<int>(a.block_words / kThreads), [&]<int kSteps>() {
    return enqueue(rows_words_kernel<kUnit, kind, kSteps>, a, on, a.blocks, kThreads);
  });
}

template <int kUnit, RowsKind kind>
int launch_kind(const RowsArgs& a, const PairsLaunch& on) noexcept {
  const auto kernel_of = [&]<class Memory>() { return rows_words_pairs_kernel<kUnit, kind, Memory>; };
  using Few = FewPairs<RowsArgs>;
  using Most = MostPairs<RowsArgs>;
  if constexpr (kind == RowsKind::kForward || kUnit == 16)  // others are not worth the room in the library
    return enqueue_pairs<Few, SomePairs<RowsArgs>, ManyPairs<RowsArgs>, Most>(kernel_of, a, on, a.blocks, kThreads);
  else
    return enqueue_pairs<Few, Most>(kernel_of, a, on, a.blocks, kThreads);
}

int launch_whole(const RowsArgs& a, const Launch& on) noexcept {
  if (a.threads == kWideThreads) {
    if (a.block_words != kWideThreads * kWideSteps) return static_cast<int>(cudaErrorInvalidValue);
    return enqueue(rows_words_kernel<kWideThreads, kWideSteps>, a, on, a.blocks, kWideThreads);
  }
  return with_size<1, 2, 4>(static_cast<int>(a.block_words / kThreads), [&]<int kSteps>() {
    return enqueue(rows_words_kernel<kThreads, kSteps>, a, on, a.blocks, kThreads);
  });
}

template <class On>
int launch_words(const RowsArgs& a, const Units& units, const On& on) noexcept {
  if (a.kind == RowsKind::kForward) return launch_kind<1, RowsKind::kForward>(a, on);
  if (units.dst == 16) return launch_kind<16, RowsKind::kUnit>(a, on);  // a unit is a word, whatever the kind
  return with_size<1, 2, 4, 8>(units.dst, [&]<int kUnit>() {
    switch (a.kind) {
      case RowsKind::kUnit: return launch_kind<kUnit, RowsKind::kUnit>(a, on);
      case RowsKind::kReverse: return launch_kind<kUnit, RowsKind::kReverse>(a, on);
      case RowsKind::kRepeat: return launch_kind<kUnit, RowsKind::kRepeat>(a, on);
      default: return launch_kind<kUnit, RowsKind::kCollect>(a, on);
    }
  });
}

}  // namespace

int launch_rows_words(const CudaArgs& args, const Launch& on) noexcept {
  const auto& a = std::get<RowsArgs>(args.args);
  return a.whole ? launch_whole(a, on) : launch_words(a, args.units, on);
}

int launch_rows_words_pairs(const CudaArgs& args, const PairsLaunch& on) noexcept {
  RowsArgs a = std::get<RowsArgs>(args.args);
  if (a.chunked) return kOneByOne;  // 2^31 words a pair
  a.blocks = (a.row_count * a.pieces.divisor + kThreads - 1) / kThreads;
  a.block_words = kThreads;
  a.threads = kThreads;
  a.whole = false;
  return launch_words(a, args.units, on);
}

}  // namespace restride::cuda
