#include "src/cpu/packed/inside.h"

#include <algorithm>

namespace restride::cpu {

namespace {

/// Offsets of all points of the modes order[from..to), the first fastest, beginning with `first`; `strides` by mode.
template <class Out>
void fill(const TileRuns& t, const std::uint8_t* order, int from, int to, std::int64_t first,
          const std::int64_t* strides, Out* out) noexcept {
  std::int64_t n = 1;
  out[0] = static_cast<Out>(first);
  for (int k = from; k < to; ++k) {
    const int m = order[k];
    for (std::int64_t i = 1; i < t.points(m); ++i) {
      const auto shift = static_cast<Out>(i * strides[m]);
      for (std::int64_t j = 0; j < n; ++j) out[i * n + j] = out[j] + shift;
    }
    n *= t.points(m);
  }
}

/// The modes in dst's order, which is their own.
struct DstOrder {
  std::uint8_t modes[Packed::kCapacity];
  DstOrder() noexcept {
    for (int m = 0; m < Packed::kCapacity; ++m) modes[m] = static_cast<std::uint8_t>(m);
  }
};

}  // namespace

void TileRuns::lay_out(const PackedArgs& a, const Points& points) noexcept {
  points_ = points;
  laid_out_ = true;
  unit_ = a.dst_unit;
  const Packed& p = a.packed;
  std::int64_t src_strides[Packed::kCapacity];
  std::int64_t dst_strides[Packed::kCapacity];
  for (int m = 0; m < p.rank; ++m) {
    src_strides[m] = p.modes[m].src_stride;
    dst_strides[m] = p.modes[m].dst_stride;
  }
  // Source runs lie in the stage one behind the other, in the source's order, with what gaps they have.
  std::int64_t units = 1;
  src_run_bytes_ = a.src_unit;
  for (int k = 0; k < p.src_run_modes; ++k) {
    const int m = p.src_order[k];
    stage_stride_[m] = src_strides[m] * a.dst_unit / a.src_unit;
    units *= points_.n[m];
    src_run_bytes_ += (points_.n[m] - 1) * src_strides[m];
  }
  stage_run_bytes_ = src_run_bytes_ * a.dst_unit / a.src_unit;
  src_runs_ = 1;
  for (int k = p.src_run_modes; k < p.rank; ++k) {
    const int m = p.src_order[k];
    stage_stride_[m] = stage_run_bytes_ * src_runs_;
    src_runs_ *= points_.n[m];
  }
  units *= src_runs_;
  fill(*this, p.src_order, p.src_run_modes, p.rank, 0, src_strides, src_offsets_);
  // A mode that dst's run walks downwards leaves last unit first.
  std::int64_t first_dst = 0;
  first_staged_ = 0;
  dst_run_ = 1;
  for (int k = 0; k < p.dst_run_modes; ++k) {
    dst_run_ *= points_.n[k];
    if (dst_strides[k] > 0) continue;
    first_dst += (points_.n[k] - 1) * dst_strides[k];
    first_staged_ += (points_.n[k] - 1) * stage_stride_[k];
    stage_stride_[k] = -stage_stride_[k];
  }
  dst_runs_ = units / dst_run_;
  fill(*this, DstOrder().modes, p.dst_run_modes, p.rank, first_dst, dst_strides, dst_offsets_);
  repeats_.bytes = 0;
  const bool asked = a.way == PackedWay::kByShape || a.way == PackedWay::kRepeats;
  const bool dense = dst_runs_ == 1 && src_runs_ == 1 && first_staged_ == 0 && stage_run_bytes_ == units * unit_;
  if (!asked || !dense || a.cast_run != nullptr) return;
  const Repeat repeat = repeat_of(
      stage_run_bytes_, p.rank, [&](int m) { return points_.n[m]; }, [&](int m) { return stage_stride_[m]; });
  if (repeat.bytes > VectorRepeats::kMostBytes) return;
  std::int32_t offsets[VectorRepeats::kMostBytes];
  fill(*this, DstOrder().modes, 0, repeat.modes, 0, stage_stride_, offsets);
  repeats_.lay_out(repeat.bytes, unit_, offsets);
}

void VectorRepeats::lay_out(std::int64_t repeat, std::int64_t unit, const std::int32_t* offsets) noexcept {
  bytes = bytes_at_once(repeat);
  vectors = vectors_at_once(repeat);
  const std::int64_t n = bytes, last = vectors - 1, last_start = start(last);  // stores of bytes cannot change these
  // A piece lies in one vector. Units of powers of two do.
  const std::int64_t piece = (unit & (unit - 1)) == 0 ? unit : 1;
  std::uint64_t third[kMostVectors] = {};
  for (std::int64_t to = 0, in_repeat = 0; to < n; to += piece) {
    const std::int64_t from = to - in_repeat + offsets[in_repeat / unit] + in_repeat % unit;
    const std::int64_t in = std::min(from / kVectorBytes, last);
    const std::int64_t place = from - std::min(in * kVectorBytes, last_start) + in % 2 * kVectorBytes;
    const std::uint64_t ones = static_cast<std::uint64_t>(in / 2) * ((std::uint64_t{1} << piece) - 1);
    for (std::int64_t out = std::min(to / kVectorBytes, last); out <= last; ++out) {
      const std::int64_t at = to - std::min(out * kVectorBytes, last_start);
      if (at < 0) break;
      for (std::int64_t b = 0; b < piece; ++b) index[out][at + b] = static_cast<std::uint8_t>(place + b);
      third[out] |= ones << at;
    }
    in_repeat = in_repeat + piece < repeat ? in_repeat + piece : 0;
  }
  std::copy_n(third, kMostVectors, high);
}

std::int64_t VectorRepeats::source(std::int64_t to) const noexcept {
  const std::int64_t out = std::min<std::int64_t>(to / kVectorBytes, vectors - 1), at = to - start(out);
  const auto pair = static_cast<std::int64_t>(high[out] >> at & 1) * 2;
  return start(pair + index[out][at] / kVectorBytes) + index[out][at] % kVectorBytes;
}

void TileRuns::place_units(const Packed& p, std::int32_t* offsets) const noexcept {
  fill(*this, DstOrder().modes, 0, p.rank, first_staged_, stage_stride_, offsets);
}

void TileRuns::place_planes(const Packed& p, int row, int col, std::int32_t* offsets) const noexcept {
  offsets[0] = static_cast<std::int32_t>(first_staged_);
  offsets[1] = 0;
  std::int64_t n = 1;
  std::int64_t to_stride = unit_;
  for (int m = 0; m < p.rank; to_stride *= points_.n[m++]) {
    if (m == row || m == col) continue;
    for (std::int64_t i = 1; i < points_.n[m]; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        offsets[2 * (i * n + j)] = static_cast<std::int32_t>(offsets[2 * j] + i * stage_stride_[m]);
        offsets[2 * (i * n + j) + 1] = static_cast<std::int32_t>(offsets[2 * j + 1] + i * to_stride);
      }
    n *= points_.n[m];
  }
}

PlaneOrder TileRuns::order_of_planes(const Packed& p, int row, int col, const std::int32_t* offsets,
                                     std::int64_t plane_bytes) const noexcept {
  const std::int64_t planes = units() / (points_.n[row] * points_.n[col]);
  PlaneOrder order;
  order.in_order = dst_runs_ == 1;
  if (planes > 1) {
    order.from_step = offsets[2] - offsets[0];
    order.to_step = offsets[3] - offsets[1];
  }
  bool even = true;
  for (std::int64_t i = 0; i < planes; ++i) {
    order.in_order &= offsets[2 * i + 1] == i * plane_bytes;
    even &= offsets[2 * i] == offsets[0] + i * order.from_step && offsets[2 * i + 1] == i * order.to_step;
  }
  order.even = planes;
  for (int m = p.rank; m-- > 0 && !even;)  // those along the innermost mode are
    if (m != row && m != col && points_.n[m] > 1) order.even = points_.n[m];
  return order;
}

}  // namespace restride::cpu
