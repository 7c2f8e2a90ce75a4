#include "src/cpu/no_byte_permutes.h"  // first

#include "src/cpu/rows/kernel.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/cpu/rows/kernel.cc"
#include <hwy/foreach_target.h>
#include "src/cpu/far_apart.h"
#include "src/cpu/rows/prefetch-inl.h"
#include "src/cpu/rows/short_rows-inl.h"
#include "src/cpu/simd/strands-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace {

/// Rows long enough to take in turns, where the prefetcher runs ahead on all.
void long_rows(const RowsArgs& a, std::uint8_t* dst, const std::uint8_t* src, std::int64_t begin, std::int64_t end) {
  for (RowBatch rows(a, begin, end); rows.next();)
    for (std::int64_t i = 0; i < rows.size(); i += strands_at_once(a)) {
      Strand strands[kStrands];
      const auto count = static_cast<int>(std::min<std::int64_t>(strands_at_once(a), rows.size() - i));
      for (int k = 0; k < count; ++k) strands[k] = {dst + rows.dst(i + k), src + rows.src(i + k), rows.units(i + k)};
      move_strands(a, strands, count);
    }
  hwy::FlushStream();
}

/// Dense whole rows that stay in the caches as they are: nothing to prefetch, nothing to join. Those of the innermost
/// mode go in a loop of its two strides and a few moves, so that a core has many rows under way.
void cached_rows(const RowsArgs& a, std::uint8_t* dst, const std::uint8_t* src, std::int64_t begin, std::int64_t end) {
  const auto bytes = static_cast<std::size_t>(a.units * a.dst_unit);
  NestCursor at(a.nest, begin);
  for (std::int64_t row = begin, n; row < end; row += n, at.next(n)) {
    const layout::CopyMode& m = a.nest[0];
    n = a.nest.rank() == 0 ? 1 : std::min(m.extent - at.index(0), end - row);
    std::uint8_t* HWY_RESTRICT to = dst + at.dst();
    const std::uint8_t* HWY_RESTRICT from = src + at.src();
    const auto to_row = [=, step = m.dst_stride](std::int64_t i) RESTRIDE_INLINE_LAMBDA { return to + i * step; };
    const bool apart = n > kFewPages && (is_far_apart(m.dst_stride) || is_far_apart(m.src_stride));
    const auto from_row = [=, step = m.src_stride](std::int64_t i) RESTRIDE_INLINE_LAMBDA {
      if (apart) wait_a_little();
      return from + i * step;
    };
    if (bytes <= static_cast<std::size_t>(kShortRowBytes))
      move_short_rows(n, bytes, to_row, from_row);
    else
      for (std::int64_t i = 0; i < n; ++i) copy_bytes(to_row(i), from_row(i), bytes);
  }
}

/// Dense whole rows of a few whole lines: nothing to put together, so a row takes two steps of the walk and its lines.
/// Rows that follow each other in src are left to the prefetcher, which is faster alone than with what is prefetched.
void line_rows(const RowsArgs& a, std::uint8_t* dst, const std::uint8_t* src, std::int64_t begin, std::int64_t end) {
  constexpr auto kLineBytes = static_cast<std::int64_t>(kLine);
  const std::int64_t bytes = a.units * a.dst_unit;
  const bool prefetches = a.nest.rank() > 0 && a.nest[0].src_stride != bytes;
  const std::int64_t distance = near_rows_ahead(bytes);
  NestCursor at(a.nest, begin);
  NestCursor ahead(a.nest, std::min(begin + distance, end - 1));
  for (std::int64_t row = begin; row < end; ++row, at.next()) {
    if (prefetches && row + distance < end) {
      const std::uint8_t* behind = src + ahead.src();
      for (std::int64_t k = 0; k < bytes; k += kLineBytes) prefetch_line(a, behind + k);
      prefetch_line(a, behind + bytes - 1);  // where src is off lines
      ahead.next();
    }
    std::uint8_t* to = dst + at.dst();
    const std::uint8_t* from = src + at.src();
    for (std::int64_t k = 0; k < bytes; k += kLineBytes) stream_line(to + k, from + k);
  }
  hwy::FlushStream();
}

/// One row after the other, through a buffer where units are picked or converted.
void rows_in_order(const RowsArgs& a, std::uint8_t* dst, const std::uint8_t* src, std::int64_t begin,
                   std::int64_t end) {
  const bool dense = a.row_src_stride == a.src_unit;
  alignas(64) std::uint8_t buffer[kStageBytes];
  constexpr std::int64_t kNearPicked = HWY_MAX_BYTES >= 64 ? kNearStageBytes : kNearStageBytesOfNarrow;
  const bool made = a.cast_run != nullptr || a.row_src_stride == 0;
  const std::int64_t near_bytes = made ? kNearMadeStageBytes : kNearPicked;
  const std::int64_t buffer_units = (a.near ? near_bytes : kStageBytes) / a.dst_unit;
  Writer out(a.stream);
  const RowPrefetcher prefetcher(a, dst, src);
  for (RowBatch rows(a, begin, end); rows.next();)
    for (std::int64_t i = 0; i < rows.size(); ++i) {
      prefetcher.at(rows, i);
      std::uint8_t* to = dst + rows.dst(i);
      const std::uint8_t* from = src + rows.src(i);
      const std::int64_t units = rows.units(i);
      if (dense && a.cast_run == nullptr) {
        out.write(to, from, static_cast<std::size_t>(units * a.dst_unit));
        continue;
      }
      if (!a.stream && a.cast_run == nullptr) {
        pick_units(a, to, from, units);
        continue;
      }
      for (std::int64_t u = 0; u < units; u += buffer_units) {
        const std::int64_t n = std::min(buffer_units, units - u);
        pick_units(a, buffer, from + u * a.row_src_stride, n);
        out.write(to + u * a.dst_unit, buffer, static_cast<std::size_t>(n * a.dst_unit));
      }
    }
  out.finish();
}

void rows(const RowsArgs& a, std::byte* dst_base, const std::byte* src_base, std::int64_t begin,
          std::int64_t end) noexcept {
  auto* dst = reinterpret_cast<std::uint8_t*>(dst_base);
  const auto* src = reinterpret_cast<const std::uint8_t*>(src_base);
  switch (a.loop) {
    case RowLoop::kInTurns: return long_rows(a, dst, src, begin, end);
    case RowLoop::kCached: return cached_rows(a, dst, src, begin, end);
    case RowLoop::kLines:
      if (dst_divides(dst, a.nest, kLine)) return line_rows(a, dst, src, begin, end);
      if (a.units * a.dst_unit > static_cast<std::int64_t>(kLine)) break;
      [[fallthrough]];
    case RowLoop::kShort: return short_rows(a, dst, src, begin, end);
    case RowLoop::kInOrder: break;
  }
  rows_in_order(a, dst, src, begin, end);
}

}  // namespace

KernelCode<RowsArgs> pick_rows() { return rows; }

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace restride::cpu {
HWY_EXPORT(pick_rows);
KernelCode<RowsArgs> rows_kernel() noexcept { return HWY_DYNAMIC_DISPATCH(pick_rows)(); }
}  // namespace restride::cpu
#endif
