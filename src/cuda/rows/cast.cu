// Moves         rows, every element converted to another dtype; run is one row.
// Applies when  dst's innermost mode is dense, any pair of dtypes; fast when src's is too and rows start on vectors.
// Thread map    consecutive threads, consecutive words of a row: as many units as fill 16 bytes on the wider side.
// Shared memory none.
// Traffic       every byte once each way; 16 bytes a lane on the wider side, one or two words a thread.
// Source        copy kernels on sizes and byte strides with a cast, as ggml's cpy; measured rows in bench/results.
#include "src/cuda/cast/pairs.cuh"
#include "src/cuda/dispatch.cuh"
#include "src/cuda/rows/rows.h"
#include "src/cuda/rows/words_map.h"

namespace restride::cuda {
namespace {

constexpr int kThreads = kCastThreads;

/// What a kernel may take for granted.
enum class Rows {
  kAny,    ///< nothing: rows start anywhere, src has any step
  kDense,  ///< a row of src is dense, and rows of both sides start on vectors
  kOne,    ///< and there is one row
};

/// One word on its way: the units [first, last) of it are the row's.
template <int kSrc, int kDst, Rows kRows>
struct CastWord {
  static constexpr int kUnits = 16 / (kSrc > kDst ? kSrc : kDst);
  static constexpr bool kDense = kRows != Rows::kAny;
  char* to;
  int first, last;
  Bits<kUnits * kSrc> in;

  __device__ void fetch(const RowsArgs& a, std::uint32_t index, char* dst, const char* src) {
    RowsItem item{0, std::int64_t{blockIdx.x} * a.block_words + index};
    Offsets at;
    if constexpr (kRows != Rows::kOne) {
      item = rows_item(a, blockIdx.x, index);
      at = row_offsets(a.rows, item.row);
    }
    char* const row = dst + a.dst_offset + at.dst;
    const int skew = kDense ? 0 : static_cast<int>(reinterpret_cast<std::uintptr_t>(row) & (kUnits * kDst - 1)) / kDst;
    const std::int64_t unit = rows_first_unit(item.word, kUnits, skew);
    const std::int64_t left = kRows == Rows::kOne || item.row < a.row_count ? a.row_units - unit : 0;
    to = row + unit * kDst;
    const char* const from = src + a.src_offset + at.src + unit * (kDense ? kSrc : a.src_step);
    first = kDense ? 0 : unit < 0 ? static_cast<int>(-unit) : 0;
    last = left < kUnits ? static_cast<int>(left) : kUnits;
    if (kDense && whole()) {
      in = load_kept<kUnits * kSrc>(from);
      return;
    }
    Bits<kSrc> units[kUnits];
#pragma unroll
    for (int j = 0; j < kUnits; ++j) {
      units[j] = {};
      if (j >= first && j < last) units[j] = load<kSrc>(from + j * a.src_step);
    }
    in = join<kSrc, kUnits>(units);
  }

  __device__ bool whole() const { return (kDense || first == 0) && last == kUnits; }

  template <class Dst, class Src>
  __device__ void finish() const {
    const Bits<kUnits* kDst> vector = convert_vector<Dst, Src, kUnits>(in);
    if (whole()) {
      store<kUnits * kDst>(to, vector);
      return;
    }
    Bits<kDst> out[kUnits];
    split<kDst, kUnits>(vector, out);
#pragma unroll
    for (int j = 0; j < kUnits; ++j)
      if (j >= first && j < last) store<kDst>(to + j * kDst, out[j]);
  }
};

/// Sixteen blocks a multiprocessor: the words of its 2048 threads are what hides the latency of memory.
template <int kSrc, int kDst, Rows kRows, int kSteps>
__global__ void __launch_bounds__(kThreads, kRows == Rows::kAny ? 1 : resident_blocks(kThreads, 16))
    rows_cast_kernel(const __grid_constant__ RowsArgs a, char* dst, const char* src) {
  CastWord<kSrc, kDst, kRows> words[kSteps];
#pragma unroll
  for (int step = 0; step < kSteps; ++step) words[step].fetch(a, step * kThreads + threadIdx.x, dst, src);
  with_pair<kDst, kSrc>(a.dst_dtype, a.src_dtype, [&]<class Dst, class Src>() {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) words[step].template finish<Dst, Src>();
  });
}

template <int kSrc, int kDst>
int launch_sizes(const RowsArgs& a, const Launch& on) noexcept {
  const unsigned steps = a.block_words / kThreads;
  const bool dense = a.kind == RowsKind::kDense, one = a.row_count == 1 && a.rows.rank == 0;
  void (*kernel)(RowsArgs, char*, const char*) = nullptr;
  if (!dense) {
    if (steps == 1) kernel = rows_cast_kernel<kSrc, kDst, Rows::kAny, 1>;
  } else if (steps == 1) {
    kernel = one ? rows_cast_kernel<kSrc, kDst, Rows::kOne, 1> : rows_cast_kernel<kSrc, kDst, Rows::kDense, 1>;
  } else if (steps == 2) {
    if constexpr (16 / (kSrc > kDst ? kSrc : kDst) <= 8)  // more would not fit the registers
      kernel = one ? rows_cast_kernel<kSrc, kDst, Rows::kOne, 2> : rows_cast_kernel<kSrc, kDst, Rows::kDense, 2>;
  }
  if (kernel == nullptr) return static_cast<int>(cudaErrorInvalidValue);
  return enqueue(kernel, a, on, a.blocks, kThreads);
}

}  // namespace

int launch_rows_cast(const CudaArgs& args, const Launch& on) noexcept {
  const auto& a = std::get<RowsArgs>(args.args);
  // All pairs of sizes that dtypes have; those of complex numbers are among themselves.
  if (args.units.src == 16)
    return args.units.dst == 8 ? launch_sizes<16, 8>(a, on) : static_cast<int>(cudaErrorInvalidValue);
  return with_size<1, 2, 4, 8>(args.units.src, [&]<int kSrc>() {
    return with_size<1, 2, 4, 8, 16>(args.units.dst, [&]<int kDst>() { return launch_sizes<kSrc, kDst>(a, on); });
  });
}

}  // namespace restride::cuda
