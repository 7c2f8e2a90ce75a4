// Short rows, a batch at a time: brought together first, dense ones converted at once, written as one piece where they
// follow each other in dst. Included once per instruction set.
//
// A row of a few dozen bytes that is moved by itself costs a call or two, and the line it shares with its neighbours is
// read back from parts that have hardly been written. A batch has none of that: rows are two overlapping moves each,
// and the conversion and the stores meet runs of some hundred bytes that were complete long before.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_ROWS_SHORT_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_ROWS_SHORT_ROWS_INL_H_
#undef RESTRIDE_CPU_ROWS_SHORT_ROWS_INL_H_
#else
#define RESTRIDE_CPU_ROWS_SHORT_ROWS_INL_H_
#endif

#include "src/cpu/rows/batch.h"
#include "src/cpu/rows/kernel.h"
#include "src/cpu/rows/prefetch-inl.h"
#include "src/cpu/simd/pick-inl.h"
#include "src/cpu/simd/stream-inl.h"
#include "src/cpu/simd/transpose-inl.h"
#include "src/cpu/simd/writer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {

/// Rows of kPart to kPart + kLast bytes, each as two moves that may overlap; of 64 and more as any number of 64, the
/// last overlapping. to(i) and from(i) are row i's places.
template <std::size_t kPart, std::size_t kLast = kPart, class To, class From>
HWY_INLINE void move_parts(std::int64_t rows, std::size_t bytes, const To& to, const From& from) {
  for (std::int64_t i = 0; i < rows; ++i) {
    std::uint8_t* HWY_RESTRICT t = to(i);
    const std::uint8_t* HWY_RESTRICT f = from(i);
    if constexpr (kPart == 64) {
      for (std::size_t k = 0; k + kPart < bytes; k += kPart) std::memcpy(t + k, f + k, kPart);
    } else {
      std::memcpy(t, f, kPart);
    }
    std::memcpy(t + bytes - kLast, f + bytes - kLast, kLast);
  }
}

template <class To, class From>
HWY_INLINE void move_short_rows(std::int64_t rows, std::size_t bytes, const To& to, const From& from) {
  if (bytes >= 64) return move_parts<64>(rows, bytes, to, from);
  if (bytes > 32) return move_parts<32>(rows, bytes, to, from);
  if (bytes == 24) return move_parts<16, 8>(rows, bytes, to, from);  // units of 8 cross fewer lines
  if (bytes > 16) return move_parts<16>(rows, bytes, to, from);
  if (bytes > 8) return move_parts<8>(rows, bytes, to, from);
  if (bytes > 4) return move_parts<4>(rows, bytes, to, from);
  if (bytes > 2) return move_parts<2>(rows, bytes, to, from);
  return move_parts<1>(rows, bytes, to, from);
}

/// Tasks [begin, end), each of them a row.
inline void short_rows(const RowsArgs& a, std::uint8_t* dst, const std::uint8_t* src, std::int64_t begin,
                       std::int64_t end) {
  const auto src_bytes = static_cast<std::size_t>(a.units * a.src_unit);
  const std::int64_t dst_bytes = a.units * a.dst_unit;
  const bool dense = a.row_src_stride == a.src_unit;
  const bool straight = !dense && a.cast_run == nullptr && !a.stream;
  alignas(kPage) std::uint8_t staged[RowBatch::kMost * kShortRowBytes];
  alignas(kPage) std::uint8_t converted[RowBatch::kMost * kShortRowBytes];
  std::int64_t in_stage[RowBatch::kMost];
  for (std::int64_t i = 0; i < RowBatch::kMost; ++i) in_stage[i] = i * static_cast<std::int64_t>(src_bytes);
  Writer out(a.stream);
  const RowPrefetcher prefetcher(a, dst, src);
  for (RowBatch rows(a, begin, end); rows.next();) {
    const std::uint8_t* leaving = staged;
    if (dense) {
      move_short_rows(
          rows.size(), src_bytes, [&](std::int64_t i) RESTRIDE_INLINE_LAMBDA { return staged + in_stage[i]; },
          [&](std::int64_t i) RESTRIDE_INLINE_LAMBDA {
            prefetcher.at(rows, i);
            return src + rows.src(i);
          });
    } else {
      for (std::int64_t i = 0; i < rows.size(); ++i) {
        prefetcher.at(rows, i);
        pick_units(a, straight ? dst + rows.dst(i) : staged + i * dst_bytes, src + rows.src(i), a.units);
      }
      if (straight) continue;
    }
    if (dense && a.cast_run != nullptr) {
      a.cast_run(converted, staged, static_cast<std::size_t>(rows.size() * a.units));
      leaving = converted;
    }
    for (std::int64_t i = 0, next; i < rows.size(); i = next) {
      for (next = i + 1; next < rows.size() && rows.joined(next - 1);) ++next;
      out.write(dst + rows.dst(i), leaving + i * dst_bytes, static_cast<std::size_t>((next - i) * dst_bytes));
    }
  }
  out.finish();
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
