// The inside of a packed tile, worked out once for all tiles of one shape: how many points each mode has there, where
// runs start on both sides, and how they lie in the stage.
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/cpu/packed/args.h"
#include "src/cpu/packed/kernel.h"

namespace restride::cpu {

/// How the planes of a tile follow each other.
struct PlaneOrder {
  std::int64_t even = 1;       ///< number of planes at a constant step on both sides; the next group has as many
  std::int64_t from_step = 0;  ///< between them, in the stage and in the tile as it leaves
  std::int64_t to_step = 0;
  bool in_order = false;  ///< all are one run of dst, one behind the other
};

/// What a tile repeats that is one dense run on both sides: the bytes of its first modes.
struct Repeat {
  std::int64_t bytes = 0;
  int modes = 0;
};
/// Of a tile of so many bytes: modes, from the last one on, that lie behind each other on both sides repeat those
/// before them. `stride(m)`: bytes between points of a mode in src; modes are in dst's order.
template <class Points, class Stride>
Repeat repeat_of(std::int64_t tile_bytes, int modes, const Points& points, const Stride& stride) noexcept {
  Repeat r{tile_bytes, modes};
  for (; r.modes > 0; --r.modes) {
    const std::int64_t n = points(r.modes - 1);
    if (n != 1 && n * stride(r.modes - 1) != r.bytes) break;
    r.bytes /= n;
  }
  return r;
}

/// How vectors permute repeats, the small matrices of a batch: one vector as many as it holds, up to four a longer one.
/// Of several none reaches beyond the repeat: they start early rather than short, in src as in dst.
struct VectorRepeats {
  static constexpr std::int64_t kVectorBytes = 64;
  static constexpr std::int64_t kMostVectors = 4;
  static constexpr std::int64_t kMostBytes = kMostVectors * kVectorBytes;
  static constexpr std::int64_t kMostPieceBytes = 1024;
  /// Of repeats of so many bytes: those that are permuted at once, and by how many vectors.
  static constexpr std::int64_t bytes_at_once(std::int64_t repeat) noexcept {
    return std::max(repeat, kVectorBytes / repeat * repeat);
  }
  static constexpr int vectors_at_once(std::int64_t repeat) noexcept {
    return static_cast<int>((bytes_at_once(repeat) + kVectorBytes - 1) / kVectorBytes);
  }

  /// Of repeats of so many bytes at once: what is put together before it leaves past the caches.
  static constexpr std::int64_t piece_bytes(std::int64_t at_once) noexcept {
    return kMostPieceBytes / at_once * at_once;
  }

  std::int64_t bytes = 0;  ///< of the repeats that are permuted at once; 0: there are none
  int vectors = 0;
  /// Where each byte of a vector of dst comes from: its place in one of src's, 64 more of every second one. Bytes
  /// behind the repeats of a single vector come from anywhere.
  alignas(64) std::uint8_t index[kMostVectors][kVectorBytes] = {};
  std::uint64_t high[kMostVectors] = {};  ///< bytes that come from src's third or fourth vector, as bits

  std::int64_t start(std::int64_t vector) const noexcept {
    return std::min(vector * kVectorBytes, std::max<std::int64_t>(bytes - kVectorBytes, 0));
  }
  /// Of repeats of so many bytes; offsets[i]: where the i-th of their units in dst's order lies in src.
  void lay_out(std::int64_t repeat, std::int64_t unit, const std::int32_t* offsets) noexcept;
  /// The byte of src's repeats that byte `to` of dst's comes from.
  std::int64_t source(std::int64_t to) const noexcept;
};

class TileRuns {
 public:
  /// Points of each mode for the tile at a cursor.
  struct Points {
    std::int64_t n[Packed::kCapacity] = {};
    bool operator==(const Points&) const = default;
  };
  static Points points_at(const PackedArgs& a, const NestCursor& at) noexcept {
    Points points;
    for (int i = 0; i < a.packed.rank; ++i) {
      const PackedMode& m = a.packed.modes[i];
      points.n[i] = m.outer < 0 ? m.extent : std::min(m.block, m.extent - at.index(m.outer) * m.block);
    }
    return points;
  }
  bool is_for(const Points& points) const noexcept { return laid_out_ && points == points_; }
  /// True of tiles of one or two shapes: at most one mode is cut unevenly. Those of more are laid out again and again.
  static bool few_shapes(const Packed& p) noexcept {
    int uneven = 0;
    for (int i = 0; i < p.rank; ++i) uneven += p.modes[i].extent % p.modes[i].block != 0 ? 1 : 0;
    return uneven <= 1;
  }

  void lay_out(const PackedArgs& a, const Points& points) noexcept;
  /// Byte offsets into the stage of all units, in dst's order.
  void place_units(const Packed& p, std::int32_t* offsets) const noexcept;
  /// The same of the planes that modes `row` and `col` make, as pairs with their offsets in the tile as it leaves.
  void place_planes(const Packed& p, int row, int col, std::int32_t* offsets) const noexcept;

  /// Of the planes that place_planes has put into `offsets`, each of which takes plane_bytes where it leaves.
  PlaneOrder order_of_planes(const Packed& p, int row, int col, const std::int32_t* offsets,
                             std::int64_t plane_bytes) const noexcept;

  std::int64_t points(int mode) const noexcept { return points_.n[mode]; }
  std::int64_t stage_stride(int mode) const noexcept { return stage_stride_[mode]; }  ///< bytes
  std::int64_t stage_bytes() const noexcept { return stage_run_bytes_ * src_runs_; }
  std::int64_t src_run_bytes() const noexcept { return src_run_bytes_; }      ///< as read
  std::int64_t stage_run_bytes() const noexcept { return stage_run_bytes_; }  ///< as staged, converted
  std::int64_t src_runs() const noexcept { return src_runs_; }
  std::int64_t dst_run() const noexcept { return dst_run_; }
  std::int64_t dst_runs() const noexcept { return dst_runs_; }
  std::int64_t units() const noexcept { return dst_runs_ * dst_run_; }
  std::int64_t src_offset(std::int64_t run) const noexcept { return src_offsets_[run]; }
  /// Where the tile may go by PackedWay::kRepeats: one run on both sides whose order repeats within a vector.
  const VectorRepeats& repeats() const noexcept { return repeats_; }
  const std::int64_t* src_offsets() const noexcept { return src_offsets_; }
  std::int64_t dst_offset(std::int64_t run) const noexcept { return dst_offsets_[run]; }

 private:
  Points points_;
  bool laid_out_ = false;
  std::int64_t unit_ = 0;
  VectorRepeats repeats_;
  std::int64_t stage_stride_[Packed::kCapacity];
  std::int64_t first_staged_ = 0;
  std::int64_t src_run_bytes_ = 0;
  std::int64_t stage_run_bytes_ = 0;
  std::int64_t src_runs_ = 0;
  std::int64_t dst_run_ = 0;
  std::int64_t dst_runs_ = 0;
  std::int64_t src_offsets_[kPackedRuns];
  std::int64_t dst_offsets_[kPackedRuns];
};

}  // namespace restride::cpu
