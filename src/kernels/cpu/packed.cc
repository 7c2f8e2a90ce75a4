#include "src/kernels/cpu/packed.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/cpu/packed.cc"
#include <hwy/foreach_target.h>
#include "src/kernels/cpu/transpose-inl.h"
#include "src/kernels/cpu/writer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

/// A tile's inside: how many points each mode has here, and everything that follows from that.
class TileTable {
 public:
  /// Points of each mode for the tile at this cursor; true when they differ from the last tile's.
  bool update_points(const CpuArgs& a, const NestCursor& at) noexcept {
    bool changed = false;
    for (int i = 0; i < a.packed.rank; ++i) {
      const PackedMode& m = a.packed.modes[i];
      const std::int64_t n = m.outer < 0 ? m.extent : std::min(m.block, m.extent - at.index(m.outer) * m.block);
      changed |= n != points_[i];
      points_[i] = n;
    }
    return changed;
  }

  /// Rebuilds runs, offsets and the table.
  void build(const CpuArgs& a) noexcept {
    const Packed& p = a.packed;
    // Source runs lie in the stage one behind the other, in the source's order.
    std::int64_t stage_stride[Packed::kCapacity];
    std::int64_t stage_units = 1;
    src_run_ = 1;
    for (int k = 0; k < p.rank; ++k) {
      const int m = p.src_order[k];
      stage_stride[m] = stage_units * a.dst_unit;
      stage_units *= points_[m];
      if (k < p.src_run_modes) src_run_ = stage_units;
    }
    src_runs_ = stage_units / src_run_;
    fill(p, p.src_order, p.src_run_modes, p.rank, [&](int m) { return p.modes[m].src_stride; }, src_offsets_);
    dst_run_ = 1;
    for (int k = 0; k < p.dst_run_modes; ++k) dst_run_ *= points_[k];
    dst_runs_ = stage_units / dst_run_;
    std::uint8_t dst_order[Packed::kCapacity];
    for (int k = 0; k < p.rank; ++k) dst_order[k] = static_cast<std::uint8_t>(k);
    fill(p, dst_order, p.dst_run_modes, p.rank, [&](int m) { return p.modes[m].dst_stride; }, dst_offsets_);
    fill(p, dst_order, 0, p.rank, [&](int m) { return stage_stride[m]; }, table_);
  }

  std::int64_t src_run() const noexcept { return src_run_; }
  std::int64_t src_runs() const noexcept { return src_runs_; }
  std::int64_t dst_run() const noexcept { return dst_run_; }
  std::int64_t dst_runs() const noexcept { return dst_runs_; }
  std::int64_t src_offset(std::int64_t run) const noexcept { return src_offsets_[run]; }
  std::int64_t dst_offset(std::int64_t run) const noexcept { return dst_offsets_[run]; }
  /// Byte offsets into the stage of dst's units, run after run.
  const std::int32_t* table() const noexcept { return table_; }

 private:
  /// Offsets of all points of the modes order[from..to), the first fastest.
  template <class Stride, class Out>
  void fill(const Packed&, const std::uint8_t* order, int from, int to, Stride stride, Out* out) noexcept {
    std::int64_t n = 1;
    out[0] = 0;
    for (int k = from; k < to; ++k) {
      const int m = order[k];
      for (std::int64_t i = 1; i < points_[m]; ++i) {
        const auto shift = static_cast<Out>(i * stride(m));
        for (std::int64_t j = 0; j < n; ++j) out[i * n + j] = out[j] + shift;
      }
      n *= points_[m];
    }
  }

  std::int64_t points_[Packed::kCapacity] = {};
  std::int64_t src_run_ = 0;
  std::int64_t src_runs_ = 0;
  std::int64_t dst_run_ = 0;
  std::int64_t dst_runs_ = 0;
  std::int64_t src_offsets_[kMaxPackedUnits];
  std::int64_t dst_offsets_[kMaxPackedUnits];
  alignas(64) std::int32_t table_[kMaxPackedUnits];
};

/// n units of the stage, picked by the table, densely into `to` (which has room for a whole vector more).
template <std::size_t kUnit>
HWY_INLINE void pick_by_table(std::uint8_t* HWY_RESTRICT to, const std::uint8_t* HWY_RESTRICT stage, const std::int32_t* HWY_RESTRICT table,
                              std::int64_t n) {
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kUnit == 4) {
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
      hn::StoreU(hn::GatherOffset(d, reinterpret_cast<const std::uint64_t*>(stage), hn::PromoteTo(di, hn::LoadU(d32, table + i))), d,
                 reinterpret_cast<std::uint64_t*>(to) + i);
  }
#endif
  for (; i < n; ++i) std::memcpy(to + i * static_cast<std::int64_t>(kUnit), stage + table[i], kUnit);
}

template <std::size_t kUnit>
void packed(const CpuArgs& a, std::byte* dst_base, const std::byte* src_base, std::int64_t begin, std::int64_t end) noexcept {
  auto* dst = reinterpret_cast<std::uint8_t*>(dst_base);
  const auto* src = reinterpret_cast<const std::uint8_t*>(src_base);
  alignas(64) std::uint8_t stage[kMaxPackedBytes + 64];
  alignas(64) std::uint8_t piece[2048 + 64];
  constexpr auto kUnitBytes = static_cast<std::int64_t>(kUnit);
  constexpr std::int64_t kPieceUnits = 2048 / kUnitBytes;
  TileTable t;
  Writer out(a.stream);
  NestCursor at(a.nest, begin);
  NestCursor ahead(a.nest, std::min(begin + 1, end - 1));
  for (std::int64_t task = begin; task < end; ++task) {
    if (t.update_points(a, at)) t.build(a);
    const std::int64_t run_bytes = t.src_run() * kUnitBytes;
    const std::int64_t ahead_bytes = t.src_run() * a.src_unit;
    for (std::int64_t r = 0; r < t.src_runs(); ++r) {
      const std::uint8_t* from = src + at.src() + t.src_offset(r);
      if (a.cast_run == nullptr) copy_bytes(stage + r * run_bytes, from, static_cast<std::size_t>(run_bytes));
      else a.cast_run(stage + r * run_bytes, from, static_cast<std::size_t>(t.src_run()));
    }
    std::int64_t asked = 0;
    std::int64_t owed = 0;
    for (std::int64_t r = 0; r < t.dst_runs(); ++r) {
      std::uint8_t* to = dst + at.dst() + t.dst_offset(r);
      const std::int32_t* table = t.table() + r * t.dst_run();
      for (std::int64_t u = 0; u < t.dst_run(); u += kPieceUnits) {
        const std::int64_t n = std::min(kPieceUnits, t.dst_run() - u);
        // Ask for the next tile's runs at the pace at which this one leaves.
        for (owed += n * t.src_runs(); owed > 0 && asked < t.src_runs(); owed -= t.src_runs() * t.src_run(), ++asked) {
          const std::uint8_t* p = src + ahead.src() + t.src_offset(asked);
          for (std::int64_t k = 0; k < ahead_bytes; k += 64) prefetch_to_l2(p + k);
        }
        pick_by_table<kUnit>(piece, stage, table + u, n);
        out.write(to + u * kUnitBytes, piece, static_cast<std::size_t>(n * kUnitBytes));
      }
    }
    at.next();
    ahead.next();
  }
  out.finish();
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
