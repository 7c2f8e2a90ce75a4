// What follows from the inside of a packed tile, worked out once for all tiles of one shape: where runs start on both
// sides, how they lie in the stage, and how dst's units are found there. Included once per instruction set.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_PACKED_TABLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_PACKED_TABLES_INL_H_
#undef RESTRIDE_CPU_PACKED_TABLES_INL_H_
#else
#define RESTRIDE_CPU_PACKED_TABLES_INL_H_
#endif

#include "src/cpu/packed/inside.h"
#include "src/cpu/packed/kernel.h"
#include "src/cpu/packed/planes-inl.h"
#include "src/cpu/packed/repeats-inl.h"
#include "src/cpu/packed/shuffles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {

/// Room for a tile, and for the rows that the last block of a narrow plane reads past it.
constexpr std::int64_t kStageBytes = 3 * kPackedBytes;

/// A tile's inside, and how it is permuted.
template <std::size_t kUnit>
class TileTable : public TileRuns {
 public:
  /// Lays the tile out anew, and permutes it in the way that the plan says, or else in the one that takes least. Where
  /// the plan's way cannot take tiles of this shape, it is the table.
  HWY_NOINLINE void build(const PackedArgs& a, const Points& points) noexcept {
    lay_out(a, points);
    const Packed& p = a.packed;
    read_bytes_ = stage_bytes() + 64;
    // The table of places is made for picking, and for working shuffles out.
    const bool free = a.way == PackedWay::kByShape;
    shuffle_ = planes_way_ = grouped_ = false;
    if (kRepeats && repeats().bytes != 0) return;
    const double picking = pick_cycles(kUnit) * static_cast<double>(units());
    bool planes = false;
    if constexpr (kUnit <= kWidestPlaneUnit)
      planes = (free || a.way == PackedWay::kPlanes || a.way == PackedWay::kGrouped) && find_planes(p, a.way);
    // Of several runs nothing leaves before all is transposed: that eats up what groups save.
    const double by_planes_cycles =
        planes ? static_cast<double>(planes_) *
                         (grouped_ && dst_runs() == 1 ? groups_.cycles() : cycles_of_plane<kUnit>(plane_)) +
                     (planes_ == 1 && !grouped_ ? one_plane_cycles(units() * static_cast<std::int64_t>(kUnit)) : 0)
               : picking;
    if constexpr (kPermutes<kUnit>) {
      if (free ? a.stream && few_shapes(p) : a.way == PackedWay::kShuffles) {  // so large a copy makes up for the work
        place_units(p, table_);
        shuffle_ = shuffles_.build(table_, dst_runs(), dst_run()) &&
                   (!free || shuffles_.cycles() <= std::min(by_planes_cycles, picking));
        if (shuffle_) return;
      }
    }
    planes_way_ = planes && (!free || by_planes_cycles <= picking);
    if (planes_way_) {
      place_planes(p, 0, p.src_order[0], table_);
      order_ = order_of_planes(p, 0, p.src_order[0], table_, plane_.cols * plane_.to_pitch);
      plane_.from_step = order_.from_step;
      plane_.to_step = order_.to_step;
      constexpr std::int64_t kSliceBytes = 1024;
      slice_planes_ = ceil_div(kSliceBytes, plane_.rows * plane_.cols * static_cast<std::int64_t>(kUnit));
      stream_planes_ = a.stream && order_.in_order && (grouped_ ? groups_.streams() : streams_columns<kUnit>(plane_));
    } else {
      place_units(p, table_);
    }
  }

  /// From the stage's first byte to the last that vectors may read, be it used or not.
  std::int64_t read_bytes() const noexcept { return read_bytes_; }
  const Shuffles<kUnit>& shuffles() const noexcept { return shuffles_; }
  /// True when the tile is permuted by shuffles worked out beforehand.
  bool shuffled() const noexcept { return shuffle_; }
  /// True when the tile is permuted plane by plane; else by the table.
  bool by_planes() const noexcept { return planes_way_; }
  const Plane& plane() const noexcept { return plane_; }
  /// Bytes of a plane, all of which its first columns need.
  std::int64_t reach() const noexcept { return planes_way_ ? plane_.rows * plane_.from_pitch : 0; }
  /// Transposes one of the planes, or some.
  HWY_INLINE void move(const Plane& plane) const {
    if (grouped_)
      groups_.move(plane);
    else
      move_planes<kUnit>(plane);
  }
  /// True when the planes' columns may go straight to a dst that is on a line, one plane behind the other.
  bool streams_planes() const noexcept { return stream_planes_; }
  /// True when planes lie one behind the other in dst.
  bool planes_in_order() const noexcept { return order_.in_order; }
  std::int64_t planes() const noexcept { return planes_; }
  /// What is transposed before some of it leaves: columns of a plane, or planes that lie evenly on both sides.
  std::int64_t slice_cols() const noexcept { return grouped_ ? groups_.slice_cols() : plane_.cols; }
  std::int64_t slice_planes(std::int64_t first) const noexcept {
    return std::min(slice_planes_, order_.even - first % order_.even);
  }
  std::int64_t plane_from(std::int64_t i) const noexcept { return table_[2 * i]; }
  std::int64_t plane_to(std::int64_t i) const noexcept { return table_[2 * i + 1]; }
  /// Byte offsets into the stage of dst's units, run after run.
  const std::int32_t* table() const noexcept { return table_; }

 private:
  /// Planes of the fastest mode of dst and the fastest of src; false when they are one mode, when one of them is
  /// reversed or has gaps, or when reading whole blocks would leave the stage.
  bool find_planes(const Packed& p, PackedWay way) noexcept {
    const int col = p.src_order[0];
    if (col == 0 || stage_stride(0) < 0 || stage_stride(col) != static_cast<std::int64_t>(kUnit)) return false;
    std::int64_t to_pitch = kUnit;
    planes_ = 1;
    for (int m = 0; m < p.rank; ++m) {
      if (m < col) to_pitch *= points(m);
      if (m != 0 && m != col) planes_ *= points(m);
    }
    plane_ = {nullptr, nullptr, points(0), points(col), stage_stride(0), to_pitch};
    grouped_ = way != PackedWay::kPlanes && groups_.make(plane_, kUnit) &&
               (way == PackedWay::kGrouped || groups_.cycles() <= cycles_of_plane<kUnit>(plane_));
    const std::int64_t own_bytes =
        (plane_.rows - 1) * plane_.from_pitch + plane_.cols * static_cast<std::int64_t>(kUnit);
    const std::int64_t behind = grouped_ ? std::max<std::int64_t>(groups_.read_bytes() - own_bytes, 0)
                                         : (plane_rows_read<kUnit>(plane_.rows) - plane_.rows) * plane_.from_pitch + 64;
    if (stage_bytes() + behind > kStageBytes || planes_ * 2 > kPackedUnits) return false;
    read_bytes_ = stage_bytes() + behind;
    return true;
  }

  bool shuffle_ = false;
  Shuffles<kUnit> shuffles_;
  bool planes_way_ = false;
  bool grouped_ = false;  ///< planes are taken in groups of rows
  GroupedPlane groups_;
  PlaneOrder order_;
  std::int64_t slice_planes_ = 1;
  bool stream_planes_ = false;
  Plane plane_{};
  std::int64_t planes_ = 0;
  std::int64_t read_bytes_ = 0;
  alignas(64) std::int32_t table_[kPackedUnits];
};

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
