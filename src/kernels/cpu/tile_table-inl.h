// What follows from the inside of a packed tile, worked out once for all tiles of one shape: where runs start on both
// sides, how they lie in the stage, and how dst's units are found there. Included once per instruction set.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#if defined(RESTRIDE_KERNELS_CPU_TILE_TABLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_KERNELS_CPU_TILE_TABLE_INL_H_
#undef RESTRIDE_KERNELS_CPU_TILE_TABLE_INL_H_
#else
#define RESTRIDE_KERNELS_CPU_TILE_TABLE_INL_H_
#endif

#include "src/kernels/cpu/packed.h"
#include "src/kernels/cpu/shuffles-inl.h"
#include "src/kernels/cpu/weave-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::kernels::cpu {
namespace HWY_NAMESPACE {

/// Room for a tile, and for the rows that the last block of a narrow plane reads past it.
constexpr std::int64_t kStageBytes = 3 * kMaxPackedBytes;

/// A tile's inside: how many points each mode has here, and everything that follows from that.
template <std::size_t kUnit>
class TileTable {
 public:
  /// Points of each mode for the tile at a cursor.
  struct Points {
    std::int64_t n[Packed::kCapacity] = {};
    bool operator==(const Points&) const = default;
  };
  static Points points_at(const CpuArgs& a, const NestCursor& at) noexcept {
    Points points;
    for (int i = 0; i < a.packed.rank; ++i) {
      const PackedMode& m = a.packed.modes[i];
      points.n[i] = m.outer < 0 ? m.extent : std::min(m.block, m.extent - at.index(m.outer) * m.block);
    }
    return points;
  }
  bool is_for(const Points& points) const noexcept { return built_ && points == points_; }

  /// Rebuilds runs, offsets and the table (or, where planes are woven, their places).
  HWY_NOINLINE void build(const CpuArgs& a, const Points& points) noexcept {
    points_ = points;
    built_ = true;
    const Packed& p = a.packed;
    // Source runs lie in the stage one behind the other, in the source's order, with what gaps they have.
    std::int64_t stage_stride[Packed::kCapacity];
    std::int64_t stage_units = 1;
    src_run_bytes_ = a.src_unit;
    for (int k = 0; k < p.src_run_modes; ++k) {
      const int m = p.src_order[k];
      stage_stride[m] = p.modes[m].src_stride * a.dst_unit / a.src_unit;
      stage_units *= points_.n[m];
      src_run_bytes_ += (points_.n[m] - 1) * p.modes[m].src_stride;
    }
    stage_run_bytes_ = src_run_bytes_ * a.dst_unit / a.src_unit;
    src_runs_ = 1;
    for (int k = p.src_run_modes; k < p.rank; ++k) {
      const int m = p.src_order[k];
      stage_stride[m] = stage_run_bytes_ * src_runs_;
      src_runs_ *= points_.n[m];
    }
    stage_units *= src_runs_;
    read_bytes_ = stage_run_bytes_ * src_runs_ + 64;
    fill(
        p.src_order, p.src_run_modes, p.rank, 0, [&](int m) { return p.modes[m].src_stride; }, src_offsets_);
    // A mode that dst's run walks downwards leaves last unit first.
    std::int64_t first_dst = 0;
    std::int64_t first_staged = 0;
    dst_run_ = 1;
    for (int k = 0; k < p.dst_run_modes; ++k) {
      dst_run_ *= points_.n[k];
      if (p.modes[k].dst_stride > 0) continue;
      first_dst += (points_.n[k] - 1) * p.modes[k].dst_stride;
      first_staged += (points_.n[k] - 1) * stage_stride[k];
      stage_stride[k] = -stage_stride[k];
    }
    dst_runs_ = stage_units / dst_run_;
    std::uint8_t dst_order[Packed::kCapacity];
    for (int k = 0; k < p.rank; ++k) dst_order[k] = static_cast<std::uint8_t>(k);
    fill(
        dst_order, p.dst_run_modes, p.rank, first_dst, [&](int m) { return p.modes[m].dst_stride; }, dst_offsets_);
    const auto fill_table = [&] {
      fill(
          dst_order, 0, p.rank, first_staged, [&](int m) { return stage_stride[m]; }, table_);
    };
    // The way that takes least; the table of places is made for picking, and for working shuffles out.
    shuffle_ = weave_ = false;
    const double picking = plan::pick_cycles(kUnit) * static_cast<double>(stage_units);
    const bool planes = kUnit <= 8 && find_planes(p, stage_stride, stage_run_bytes_ * src_runs_);
    const double weaving =
        planes ? static_cast<double>(planes_) * weave_cycles<kUnit>(plane_) +
                     (planes_ == 1 ? plan::one_plane_cycles(stage_units * static_cast<std::int64_t>(kUnit)) : 0)
               : picking;
    if constexpr (kPermutes<kUnit>) {
      if (a.stream) {  // so large a copy makes up for working them out
        fill_table();
        shuffle_ = shuffles_.build(table_, dst_runs_, dst_run_) && shuffles_.cycles() <= std::min(weaving, picking);
        if (shuffle_) return;
      }
    }
    weave_ = planes && weaving <= picking;
    if (weave_) {
      place_planes(p, stage_stride, first_staged);
      stream_planes_ = a.stream && dst_runs_ == 1 && streams_columns<kUnit>(plane_);
      const std::int64_t plane_bytes = plane_.cols * plane_.to_pitch;
      for (std::int64_t i = 0; i < planes_; ++i) stream_planes_ &= plane_to(i) == i * plane_bytes;
    } else {
      fill_table();
    }
  }

  std::int64_t src_run_bytes() const noexcept { return src_run_bytes_; }      ///< as read
  std::int64_t stage_run_bytes() const noexcept { return stage_run_bytes_; }  ///< as staged, converted
  std::int64_t src_runs() const noexcept { return src_runs_; }
  /// From the stage's first byte to the last that vectors may read, be it used or not.
  std::int64_t read_bytes() const noexcept { return read_bytes_; }
  std::int64_t dst_run() const noexcept { return dst_run_; }
  std::int64_t dst_runs() const noexcept { return dst_runs_; }
  std::int64_t units() const noexcept { return dst_runs_ * dst_run_; }
  std::int64_t src_offset(std::int64_t run) const noexcept { return src_offsets_[run]; }
  const std::int64_t* src_offsets() const noexcept { return src_offsets_; }
  std::int64_t dst_offset(std::int64_t run) const noexcept { return dst_offsets_[run]; }
  const Shuffles<kUnit>& shuffles() const noexcept { return shuffles_; }
  /// True when the tile is permuted by shuffles worked out beforehand.
  bool shuffled() const noexcept { return shuffle_; }
  /// True when the tile is permuted plane by plane; else by the table.
  bool weaves() const noexcept { return weave_; }
  const Plane& plane() const noexcept { return plane_; }
  /// True when the planes' columns may go straight to a dst that is on a line, one plane behind the other.
  bool streams_planes() const noexcept { return stream_planes_; }
  std::int64_t planes() const noexcept { return planes_; }
  std::int64_t plane_from(std::int64_t i) const noexcept { return table_[2 * i]; }
  std::int64_t plane_to(std::int64_t i) const noexcept { return table_[2 * i + 1]; }
  /// Byte offsets into the stage of dst's units, run after run.
  const std::int32_t* table() const noexcept { return table_; }

 private:
  /// Offsets of all points of the modes order[from..to), the first fastest, beginning with `first`.
  template <class Stride, class Out>
  void fill(const std::uint8_t* order, int from, int to, std::int64_t first, Stride stride, Out* out) noexcept {
    std::int64_t n = 1;
    out[0] = static_cast<Out>(first);
    for (int k = from; k < to; ++k) {
      const int m = order[k];
      for (std::int64_t i = 1; i < points_.n[m]; ++i) {
        const auto shift = static_cast<Out>(i * stride(m));
        for (std::int64_t j = 0; j < n; ++j) out[i * n + j] = out[j] + shift;
      }
      n *= points_.n[m];
    }
  }

  /// Planes of the fastest mode of dst and the fastest of src; false when they are one mode, when one of them is
  /// turned or has gaps, or when reading whole blocks would leave the stage.
  bool find_planes(const Packed& p, const std::int64_t* stage_stride, std::int64_t stage_bytes) noexcept {
    const int col = p.src_order[0];
    if (col == 0 || stage_stride[0] < 0 || stage_stride[col] != static_cast<std::int64_t>(kUnit)) return false;
    const std::int64_t read_rows = plane_rows_read<kUnit>(points_.n[0]);
    const std::int64_t read_bytes = stage_bytes + (read_rows - points_.n[0]) * stage_stride[0] + 64;
    if (read_bytes > kStageBytes) return false;
    read_bytes_ = read_bytes;
    std::int64_t to_pitch = kUnit;
    planes_ = 1;
    for (int m = 0; m < p.rank; ++m) {
      if (m < col) to_pitch *= points_.n[m];
      if (m != 0 && m != col) planes_ *= points_.n[m];
    }
    plane_ = {nullptr, nullptr, points_.n[0], points_.n[col], stage_stride[0], to_pitch};
    return planes_ * 2 <= kMaxPackedUnits;
  }

  /// Where planes start: pairs of bytes into the stage and into the tile as it leaves.
  void place_planes(const Packed& p, const std::int64_t* stage_stride, std::int64_t first_staged) noexcept {
    table_[0] = static_cast<std::int32_t>(first_staged);
    table_[1] = 0;
    std::int64_t n = 1;
    std::int64_t to_stride = kUnit;
    for (int m = 0; m < p.rank; to_stride *= points_.n[m++]) {
      if (m == 0 || m == p.src_order[0]) continue;
      for (std::int64_t i = 1; i < points_.n[m]; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          table_[2 * (i * n + j)] = static_cast<std::int32_t>(table_[2 * j] + i * stage_stride[m]);
          table_[2 * (i * n + j) + 1] = static_cast<std::int32_t>(table_[2 * j + 1] + i * to_stride);
        }
      n *= points_.n[m];
    }
  }

  Points points_;
  bool built_ = false;
  bool shuffle_ = false;
  Shuffles<kUnit> shuffles_;
  bool weave_ = false;
  bool stream_planes_ = false;
  Plane plane_{};
  std::int64_t planes_ = 0;
  std::int64_t src_run_bytes_ = 0;
  std::int64_t stage_run_bytes_ = 0;
  std::int64_t src_runs_ = 0;
  std::int64_t read_bytes_ = 0;
  std::int64_t dst_run_ = 0;
  std::int64_t dst_runs_ = 0;
  std::int64_t src_offsets_[kMaxPackedRuns];
  std::int64_t dst_offsets_[kMaxPackedRuns];
  alignas(64) std::int32_t table_[kMaxPackedUnits];
};

}  // namespace HWY_NAMESPACE
}  // namespace restride::kernels::cpu
HWY_AFTER_NAMESPACE();

#endif
