#include "src/kernels/cpu/packed.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/cpu/packed.cc"
#include <hwy/foreach_target.h>
#include "src/kernels/cpu/shuffles-inl.h"
#include "src/kernels/cpu/weave-inl.h"
#include "src/kernels/cpu/writer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

/// Room for a tile, and for the rows that the last block of a narrow plane reads past it.
constexpr std::int64_t kStageBytes = 3 * kMaxPackedBytes;

/// Enough for the planes of an image or the members of a record.
constexpr std::int64_t kWriters = 16;

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
  bool is_for(const Points& points) const noexcept { return points == points_; }

  /// Rebuilds runs, offsets and the table (or, where planes are woven, their places).
  void build(const CpuArgs& a, const Points& points) noexcept {
    points_ = points;
    const Packed& p = a.packed;
    // Source runs lie in the stage one behind the other, in the source's order.
    std::int64_t stage_stride[Packed::kCapacity];
    std::int64_t stage_units = 1;
    src_run_ = 1;
    for (int k = 0; k < p.rank; ++k) {
      const int m = p.src_order[k];
      stage_stride[m] = stage_units * a.dst_unit;
      stage_units *= points_.n[m];
      if (k < p.src_run_modes) src_run_ = stage_units;
    }
    src_runs_ = stage_units / src_run_;
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
    shuffle_ = weave_ = false;
    if constexpr (kShuffles<kUnit>) {
      if (a.stream) {  // so large a copy makes up for working them out
        fill_table();
        shuffle_ = shuffles_.build(table_, dst_runs_, dst_run_);
        if (shuffle_) return;
      }
    }
    weave_ = kUnit <= 2 && find_planes(p, stage_stride, first_staged, stage_units * a.dst_unit);
    if (!weave_) fill_table();
  }

  std::int64_t src_run() const noexcept { return src_run_; }
  std::int64_t src_runs() const noexcept { return src_runs_; }
  std::int64_t dst_run() const noexcept { return dst_run_; }
  std::int64_t dst_runs() const noexcept { return dst_runs_; }
  std::int64_t src_offset(std::int64_t run) const noexcept { return src_offsets_[run]; }
  std::int64_t dst_offset(std::int64_t run) const noexcept { return dst_offsets_[run]; }
  const Shuffles<kUnit>& shuffles() const noexcept { return shuffles_; }
  /// True when the tile is permuted by shuffles worked out beforehand.
  bool shuffled() const noexcept { return shuffle_; }
  /// True when the tile is permuted plane by plane; else by the table.
  bool weaves() const noexcept { return weave_; }
  const Plane& plane() const noexcept { return plane_; }
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
  /// turned, or when reading whole blocks would leave the stage.
  bool find_planes(const Packed& p, const std::int64_t* stage_stride, std::int64_t first_staged,
                   std::int64_t stage_bytes) noexcept {
    const int col = p.src_order[0];
    if (col == 0 || stage_stride[0] < 0 || stage_stride[col] < 0) return false;
    const std::int64_t read_rows = plane_rows_read<kUnit>(points_.n[0]);
    if (stage_bytes + (read_rows - points_.n[0]) * stage_stride[0] + 64 > kStageBytes) return false;
    std::int64_t to_stride[Packed::kCapacity] = {};
    std::int64_t bytes = kUnit;
    for (int m = 0; m < p.rank; ++m) {
      to_stride[m] = bytes;
      bytes *= points_.n[m];
    }
    plane_ = {nullptr, nullptr, points_.n[0], points_.n[col], stage_stride[0], to_stride[col]};
    planes_ = 1;
    table_[0] = static_cast<std::int32_t>(first_staged);
    table_[1] = 0;
    for (int m = 1; m < p.rank; ++m) {
      if (m == col) continue;
      if (planes_ * points_.n[m] * 2 > kMaxPackedUnits) return false;
      for (std::int64_t i = 1; i < points_.n[m]; ++i)
        for (std::int64_t j = 0; j < planes_; ++j) {
          table_[2 * (i * planes_ + j)] = static_cast<std::int32_t>(table_[2 * j] + i * stage_stride[m]);
          table_[2 * (i * planes_ + j) + 1] = static_cast<std::int32_t>(table_[2 * j + 1] + i * to_stride[m]);
        }
      planes_ *= points_.n[m];
    }
    return true;
  }

  Points points_;
  bool shuffle_ = false;
  Shuffles<kUnit> shuffles_;
  bool weave_ = false;
  Plane plane_{};
  std::int64_t planes_ = 0;
  std::int64_t src_run_ = 0;
  std::int64_t src_runs_ = 0;
  std::int64_t dst_run_ = 0;
  std::int64_t dst_runs_ = 0;
  std::int64_t src_offsets_[kMaxPackedRuns];
  std::int64_t dst_offsets_[kMaxPackedRuns];
  alignas(64) std::int32_t table_[kMaxPackedUnits];
};

/// n units of the stage, picked by the table, densely into `to` (which has room for a whole vector more).
template <std::size_t kUnit>
HWY_INLINE void pick_by_table(std::uint8_t* HWY_RESTRICT to, const std::uint8_t* HWY_RESTRICT stage,
                              const std::int32_t* HWY_RESTRICT table, std::int64_t n) {
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kUnit <= 2 && HWY_TARGET <= HWY_AVX2) {
    // Words gathered from each unit on, cut to it. The stage ends with more room than a word.
    using Lane = typename LaneOf<kUnit>::type;
    const hn::CappedTag<std::int32_t, 16> d32;
    const hn::Rebind<Lane, decltype(d32)> d;
    const auto low = hn::Set(d32, (1 << (8 * kUnit)) - 1);  // TruncateTo is wrong in Highway 1.0.3 on AVX3_DL
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d32));
    for (; i + lanes <= n; i += lanes) {
      const auto words = hn::GatherOffset(d32, reinterpret_cast<const std::int32_t*>(stage), hn::LoadU(d32, table + i));
      hn::StoreU(hn::DemoteTo(d, hn::And(words, low)), d, reinterpret_cast<Lane*>(to) + i);
    }
  } else if constexpr (kUnit == 4) {
    const hn::CappedTag<std::uint32_t, 16> d;
    const hn::RebindToSigned<decltype(d)> di;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (; i + lanes <= n; i += lanes)
      hn::StoreU(hn::GatherOffset(d, reinterpret_cast<const std::uint32_t*>(stage), hn::LoadU(di, table + i)), d,
                 reinterpret_cast<std::uint32_t*>(to) + i);
  } else if constexpr (kUnit == 8) {
    const hn::CappedTag<std::uint64_t, 8> d;
    const hn::RebindToSigned<decltype(d)> di;
    const hn::Rebind<std::int32_t, decltype(d)> d32;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (; i + lanes <= n; i += lanes)
      hn::StoreU(hn::GatherOffset(d, reinterpret_cast<const std::uint64_t*>(stage),
                                  hn::PromoteTo(di, hn::LoadU(d32, table + i))),
                 d, reinterpret_cast<std::uint64_t*>(to) + i);
  }
#endif
  for (; i < n; ++i) std::memcpy(to + i * static_cast<std::int64_t>(kUnit), stage + table[i], kUnit);
}

/// Asks for the next tile's source runs at the pace at which this tile's units leave.
template <std::size_t kUnit>
class Asker {
 public:
  Asker(const TileTable<kUnit>& t, const std::uint8_t* next_tile, std::int64_t src_unit) noexcept
      : t_(t), next_tile_(next_tile), src_unit_(src_unit), run_bytes_(t.src_run() * src_unit) {}
  HWY_INLINE void units_left(std::int64_t n) noexcept {
    for (owed_bytes_ += n * src_unit_; owed_bytes_ > 0 && run_ < t_.src_runs(); owed_bytes_ -= 64) {
      prefetch_to_l2(next_tile_ + t_.src_offset(run_) + at_);
      at_ += 64;
      if (at_ < run_bytes_) continue;
      owed_bytes_ += at_ - run_bytes_;
      at_ = 0;
      ++run_;
    }
  }

 private:
  const TileTable<kUnit>& t_;
  const std::uint8_t* next_tile_;
  std::int64_t src_unit_;
  std::int64_t run_bytes_;
  std::int64_t run_ = 0;
  std::int64_t at_ = 0;
  std::int64_t owed_bytes_ = 0;
};

template <std::size_t kUnit>
void packed(const CpuArgs& a, std::byte* dst_base, const std::byte* src_base, std::int64_t begin,
            std::int64_t end) noexcept {
  auto* dst = reinterpret_cast<std::uint8_t*>(dst_base);
  const auto* src = reinterpret_cast<const std::uint8_t*>(src_base);
  constexpr auto kUnitBytes = static_cast<std::int64_t>(kUnit);
  // Woven tiles leave from a buffer of their size, the others piece by piece.
  constexpr std::int64_t kOutBytes = kUnit <= 2 ? kMaxPackedBytes : 512;
  alignas(64) std::uint8_t stage[kStageBytes];
  alignas(64) std::uint8_t leaving[kOutBytes + 64];
  // Whole tiles, and those that a mode's end cuts short, come in turn: a table for the last two shapes.
  TileTable<kUnit> tables[2];
  int last = 0;
  // One a run of the tile, in turn: where the next tile's run goes on, so does its line.
  Writer writers[kWriters];
  std::fill(std::begin(writers), std::end(writers), Writer(a.stream));
  NestCursor at(a.nest, begin);
  NestCursor ahead(a.nest, std::min(begin + 1, end - 1));
  for (std::int64_t task = begin; task < end; ++task, at.next(), ahead.next()) {
    const auto points = TileTable<kUnit>::points_at(a, at);
    if (!tables[last].is_for(points)) {
      last = 1 - last;
      if (!tables[last].is_for(points)) tables[last].build(a, points);
    }
    const TileTable<kUnit>& t = tables[last];
    const std::int64_t src_run_bytes = t.src_run() * kUnitBytes;
    for (std::int64_t r = 0; r < t.src_runs(); ++r) {
      const std::uint8_t* from = src + at.src() + t.src_offset(r);
      if (a.cast_run == nullptr)
        copy_bytes(stage + r * src_run_bytes, from, static_cast<std::size_t>(src_run_bytes));
      else
        a.cast_run(stage + r * src_run_bytes, from, static_cast<std::size_t>(t.src_run()));
    }
    Asker<kUnit> asker(t, src + ahead.src(), a.src_unit);
    if (t.weaves()) {
      Plane plane = t.plane();
      for (std::int64_t i = 0; i < t.planes(); ++i) {
        plane.from = stage + t.plane_from(i);
        plane.to = leaving + t.plane_to(i);
        weave_plane<kUnit>(plane);
        asker.units_left(plane.rows * plane.cols);
      }
      for (std::int64_t r = 0; r < t.dst_runs(); ++r)
        writers[r % kWriters].write(dst + at.dst() + t.dst_offset(r), leaving + r * t.dst_run() * kUnitBytes,
                                    static_cast<std::size_t>(t.dst_run() * kUnitBytes));
      continue;
    }
    constexpr std::int64_t kPieceUnits = 512 / kUnitBytes;
    if constexpr (kShuffles<kUnit>) {
      if (t.shuffled()) {
        using Steps = Shuffles<kUnit>;
        for (std::int64_t r = 0, step = 0; r < t.dst_runs(); ++r) {
          std::uint8_t* to = dst + at.dst() + t.dst_offset(r);
          for (std::int64_t u = 0; u < t.dst_run(); u += kPieceUnits) {
            const std::int64_t n = std::min(kPieceUnits, t.dst_run() - u);
            asker.units_left(n);
            for (std::int64_t i = 0; i < n; i += Steps::kLanes)
              store(t.shuffles().take(step++, stage), typename Steps::D(), leaving + i * kUnitBytes);
            writers[r % kWriters].write(to + u * kUnitBytes, leaving, static_cast<std::size_t>(n * kUnitBytes));
          }
        }
        continue;
      }
    }
    for (std::int64_t r = 0; r < t.dst_runs(); ++r) {
      std::uint8_t* to = dst + at.dst() + t.dst_offset(r);
      const std::int32_t* table = t.table() + r * t.dst_run();
      for (std::int64_t u = 0; u < t.dst_run(); u += kPieceUnits) {
        const std::int64_t n = std::min(kPieceUnits, t.dst_run() - u);
        asker.units_left(n);
        pick_by_table<kUnit>(leaving, stage, table + u, n);
        writers[r % kWriters].write(to + u * kUnitBytes, leaving, static_cast<std::size_t>(n * kUnitBytes));
      }
    }
  }
  for (Writer& w : writers) w.leave();
  if (a.stream) hwy::FlushStream();
}

}  // namespace

CpuKernel pick_packed(int dst_unit) {
  switch (dst_unit) {
    case 1: return packed<1>;
    case 2: return packed<2>;
    case 4: return packed<4>;
    case 8: return packed<8>;
    default: return packed<16>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace restride::kernels::cpu {
HWY_EXPORT(pick_packed);
CpuKernel packed_kernel(int dst_unit) noexcept { return HWY_DYNAMIC_DISPATCH(pick_packed)(dst_unit); }
}  // namespace restride::kernels::cpu
#endif
