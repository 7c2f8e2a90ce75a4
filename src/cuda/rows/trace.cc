// What rows' kernels do (and run's, which are rows' for one row), told by their maps.
#include <algorithm>

#include "src/cuda/trace.h"

namespace restride::cuda {
namespace {

constexpr int kRowWordBytes = 16;

/// The units [first, last) of a word, one by one.
void by_units(plan::Trace& t, std::int32_t step, std::int32_t thread, std::int64_t dst, std::int64_t src,
              std::int64_t src_step, int first, int last, int units) {
  for (int j = first; j < last; ++j) {
    t.load(step * units + j, thread, src + j * src_step, t.src_unit);
    t.store(step * units + j, thread, dst + j * t.dst_unit, t.dst_unit);
    t.unit(thread, dst + j * t.dst_unit, src + j * src_step);
  }
}

/// A thread's word of rows/words.
void trace_word(const RowsArgs& a, plan::Trace& t, std::int32_t step, std::int32_t thread, const RowsItem& item) {
  const Offsets at = row_offsets(a.rows, item.row);
  const std::int64_t row = a.dst_offset + at.dst, from = a.src_offset + at.src;
  // rows/words moves bytes where both sides run forwards, units elsewhere; what is told is units.
  const int unit = t.dst_unit, units = a.kind == RowsKind::kUnit ? 1 : kRowWordBytes / unit;
  const bool forward = a.kind == RowsKind::kForward;
  const int skew_bytes = a.kind == RowsKind::kUnit ? 0 : static_cast<int>(row & (kRowWordBytes - 1));
  const std::int64_t row_bytes = forward ? a.row_units : a.row_units * unit;
  const std::int64_t step_bytes = forward ? unit : a.src_step;
  const std::int64_t byte = rows_first_unit(item.word, units * unit, skew_bytes);
  const std::int64_t begin = std::max<std::int64_t>(byte, 0), end = std::min(byte + units * unit, row_bytes);
  if (begin >= end) return;
  const auto source = [&](std::int64_t b) { return from + b / unit * step_bytes; };
  const auto first = static_cast<int>((begin - byte) / unit), last = static_cast<int>((end - byte) / unit);
  if (forward || a.kind == RowsKind::kReverse) {
    const std::int64_t lowest = forward ? from + byte : from + (byte / unit + units - 1) * step_bytes;
    const std::int64_t word = lowest - (lowest & 15);
    if (word < a.src_first || word + 32 > a.src_last)
      return by_units(t, step, thread, row + byte, source(0) + byte / unit * step_bytes, step_bytes, first, last,
                      units);
    t.load(2 * step, thread, word, 16);
    if (lowest != word) t.load(2 * step + 1, thread, word + 16, 16);
  } else if (first != 0 || last != units) {
    return by_units(t, step, thread, row + byte, source(0) + byte / unit * step_bytes, step_bytes, first, last, units);
  } else if (a.kind == RowsKind::kRepeat) {
    t.load(step, thread, source(byte), unit);
  } else {
    for (int j = 0; j < units; ++j) t.load(step * units + j, thread, source(byte + j * unit), unit);
  }
  t.store(step, thread, row + begin, end - begin);
  for (std::int64_t b = begin; b < end; b += unit) t.unit(thread, row + b, source(b));
}

/// A thread's word of rows/cast.
void trace_cast(const RowsArgs& a, plan::Trace& t, std::int32_t step, std::int32_t thread, const RowsItem& item) {
  const Offsets at = row_offsets(a.rows, item.row);
  const std::int64_t row = a.dst_offset + at.dst, from = a.src_offset + at.src;
  const int units = kRowWordBytes / std::max(t.dst_unit, t.src_unit);
  const bool dense = a.kind == RowsKind::kDense;
  const int skew = dense ? 0 : static_cast<int>(row & (units * t.dst_unit - 1)) / t.dst_unit;
  const std::int64_t unit = rows_first_unit(item.word, units, skew);
  const auto first = static_cast<int>(std::max<std::int64_t>(-unit, 0));
  const auto last = static_cast<int>(std::min<std::int64_t>(units, a.row_units - unit));
  const std::int64_t src = from + unit * a.src_step, dst = row + unit * t.dst_unit;
  if (first >= last) return;
  const bool whole = first == 0 && last == units;
  if (dense && whole) {
    t.load(step * units, thread, src, units * t.src_unit);
  } else {
    for (int j = first; j < last; ++j) t.load(step * units + j, thread, src + j * a.src_step, t.src_unit);
  }
  if (whole) t.store(step * units, thread, dst, units * t.dst_unit);
  for (int j = first; j < last; ++j) {
    if (!whole) t.store(step * units + j, thread, dst + j * t.dst_unit, t.dst_unit);
    t.unit(thread, dst + j * t.dst_unit, src + j * a.src_step);
  }
}

}  // namespace

void trace_kernel(const RowsArgs& a, const CudaArgs& args, plan::Trace& t) {
  t.piece_is = "block";
  const std::int32_t threads = a.threads;
  set_pieces(t, a.blocks, a.blocks, threads);
  for (std::int32_t step = 0; step < static_cast<std::int32_t>(a.block_words) / threads; ++step)
    for (std::int32_t thread = 0; thread < threads; ++thread) {
      const RowsItem item =
          rows_item(a, static_cast<std::uint32_t>(t.piece), static_cast<std::uint32_t>(step * threads + thread));
      if (item.row >= a.row_count) continue;
      if (args.units.cast)
        trace_cast(a, t, step, thread, item);
      else
        trace_word(a, t, step, thread, item);
    }
}

void trace_kernel(const PixelsArgs& a, const CudaArgs&, plan::Trace& t) {
  t.piece_is = "block";
  set_pieces(t, a.blocks, a.blocks, a.threads);
  const int unit = t.dst_unit, units = unit < 4 ? 4 / unit : 1;
  const PixelChunk chunk = pixel_chunk(a, static_cast<std::uint32_t>(t.piece));
  const Offsets at = row_offsets(a.rows, chunk.row);
  const std::int64_t row = a.dst_offset + at.dst, block = a.src_offset + at.src + chunk.pixel * a.pixel_step;
  const auto skew = static_cast<std::int32_t>(row & (units * unit - 1)) / unit;
  const bool inside = a.window && block + a.reach_first >= a.src_first && block + a.reach_last <= a.src_last;
  for (std::int32_t step = 0; step < a.steps; ++step)
    for (std::int32_t thread = 0; thread < a.threads; ++thread) {
      const PixelPlace place = pixel_place(a, thread, units, skew);
      const std::int64_t here = block + (place.pixel + std::int64_t{step} * a.step_pixels) * a.pixel_step;
      const std::int64_t unit0 =
          chunk.pixel * a.pixel.divisor - skew + (std::int64_t{step} * a.threads + thread) * units;
      const auto first = static_cast<int>(std::max<std::int64_t>(-unit0, 0));
      const auto last = static_cast<int>(std::min<std::int64_t>(units, a.row_units - unit0));
      if (first >= last) continue;
      const bool whole = first == 0 && last == units;
      if (inside && whole) {
        const std::int64_t word = (here + a.low[place.phase]) & ~std::int64_t{3};
        for (int i = 0; i < 3; ++i) t.load(step * 4 + i, thread, word + 4 * i, 4);
      }
      if (whole) t.store(step * 4, thread, row + unit0 * unit, std::int64_t{units} * unit);
      for (int j = first; j < last; ++j) {
        const std::int64_t src = here + a.offset[place.phase][j], dst = row + (unit0 + j) * unit;
        if (!inside || !whole) t.load(step * 4 + j, thread, src, unit);
        if (!whole) t.store(step * 4 + j, thread, dst, unit);
        t.unit(thread, dst, src);
      }
    }
}

void trace_kernel(const ShortRowsArgs& a, const CudaArgs&, plan::Trace& t) {
  t.piece_is = "block";
  set_pieces(t, a.blocks, a.blocks, a.threads);
  const int unit = t.dst_unit;
  for (std::int32_t step = 0; step < a.steps; ++step)
    for (std::int32_t thread = 0; thread < a.threads; ++thread) {
      const ShortRowsPlace place =
          short_rows_place(a, static_cast<std::uint32_t>(t.piece), static_cast<std::uint32_t>(thread));
      const Offsets at = row_offsets(a.outer, place.item);
      const std::int64_t row = place.row + std::int64_t{step} * a.step_rows;
      if (row >= a.rows) continue;
      for (int j = 0; j < a.lane_units; ++j) {
        const int of_row = place.unit + j;
        const std::int64_t dst = a.dst_offset + at.dst + row * a.dst_step + of_row * unit;
        const std::int64_t src = a.src_offset + at.src + row * a.src_step + of_row * a.src_inside;
        t.load(step * a.lane_units + j, thread, src, unit);
        t.store(step * a.lane_units + j, thread, dst, unit);
        t.unit(thread, dst, src);
      }
    }
}

}  // namespace restride::cuda
