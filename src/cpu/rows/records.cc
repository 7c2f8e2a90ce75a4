#include "src/cpu/rows/records.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/cpu/rows/records.cc"
#include <hwy/foreach_target.h>
#include "src/cpu/rows/record_pick-inl.h"
#include "src/cpu/rows/record_spread-inl.h"
#include "src/cpu/simd/writer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace {

/// Bytes of dst that are put together before they are written.
constexpr std::int64_t kPieceBytes = 2048;
/// Bytes of source that are prefetched ahead of the pick: enough to cover memory's latency, and still in the second
/// level when their turn comes.
constexpr std::int64_t kAheadBytes = 4096;

/// The rows, or pieces of rows, of a walk, one after the other.
class RowWalk {
 public:
  RowWalk(const RowsArgs& a, std::int64_t begin, std::int64_t end) noexcept
      : a_(a), at_(a.nest, begin), left_(end - begin) {}
  bool more() const noexcept { return left_ > 0; }
  std::int64_t units() const noexcept {
    return a_.last_units != 0 && at_.index(0) == a_.last_piece ? a_.last_units : a_.units;
  }
  std::int64_t dst() const noexcept { return at_.dst(); }
  std::int64_t src() const noexcept { return at_.src(); }
  void next() noexcept {
    if (--left_ > 0) at_.next();
  }

 private:
  const RowsArgs& a_;
  NestCursor at_;
  std::int64_t left_;
};

/// Prefetches the source of records to come, at the pace at which records leave.
class RecordPrefetcher {
 public:
  RecordPrefetcher(const RowsArgs& a, const std::uint8_t* src, const RowWalk& walk) noexcept
      : a_(a), src_(src), walk_(walk) {
    skip(kAheadBytes / a.src_unit);
  }
  HWY_INLINE void units_left(std::int64_t n) noexcept {
    if (!a_.ahead) return;
    while (n > 0 && walk_.more()) {
      const std::int64_t k = std::min(n, walk_.units() - unit_);
      const std::int64_t last = a_.row_src_stride < 0 ? unit_ + k - 1 : unit_;
      const std::uint8_t* lowest = src_ + walk_.src() + last * a_.row_src_stride;
      for (std::int64_t i = 0; i < k * a_.src_unit; i += 64) prefetch_line(a_, lowest + i);
      n -= k;
      skip(k);
    }
  }

 private:
  void skip(std::int64_t units) noexcept {
    unit_ += units;
    for (; walk_.more() && unit_ >= walk_.units(); walk_.next()) unit_ -= walk_.units();
  }

  const RowsArgs& a_;
  const std::uint8_t* src_;
  RowWalk walk_;
  std::int64_t unit_ = 0;
};

/// Into dense rows.
void pick_rows(const RowsArgs& a, std::uint8_t* dst, const std::uint8_t* src, RowWalk walk) {
  const RecordPick pick(a);
  if (!a.stream) {
    for (; walk.more(); walk.next()) pick.take_exactly(dst + walk.dst(), src + walk.src(), walk.units());
    return;
  }
  alignas(kPage) std::uint8_t piece[kPieceBytes + RecordPick::kRoom];
  const std::int64_t piece_units = kPieceBytes / a.dst_unit;
  Writer out;
  RecordPrefetcher prefetcher(a, src, walk);
  for (; walk.more(); walk.next()) {
    std::uint8_t* to = dst + walk.dst();
    const std::uint8_t* from = src + walk.src();
    for (std::int64_t left = walk.units(); left > 0; left -= piece_units) {
      const std::int64_t n = std::min(piece_units, left);
      prefetcher.units_left(n);
      pick.take(piece, from, n);
      out.write(to, piece, static_cast<std::size_t>(n * a.dst_unit));
      to += n * a.dst_unit;
      from += n * a.row_src_stride;
    }
  }
  out.finish();
}

/// Into rows of cells. No line is ours alone, so none goes past the caches.
void spread_rows(const RowsArgs& a, std::uint8_t* dst, const std::uint8_t* src, RowWalk walk) {
  const RecordSpread spread(a);
  const std::int64_t piece_units = kPieceBytes / a.dst_unit;
  RecordPrefetcher prefetcher(a, src, walk);
  for (; walk.more(); walk.next()) {
    std::uint8_t* to = dst + walk.dst();
    const std::uint8_t* from = src + walk.src();
    for (std::int64_t left = walk.units(); left > 0; left -= piece_units) {
      const std::int64_t n = std::min(piece_units, left);
      if (a.stream) prefetcher.units_left(n);
      spread.put(to, from, n);
      to += n * a.row_dst_stride;
      from += n * a.row_src_stride;
    }
  }
}

void record_rows(const RowsArgs& a, std::byte* dst_base, const std::byte* src_base, std::int64_t begin,
                 std::int64_t end) noexcept {
  auto* dst = reinterpret_cast<std::uint8_t*>(dst_base);
  const auto* src = reinterpret_cast<const std::uint8_t*>(src_base);
  const RowWalk walk(a, begin, end);
  if (a.row_dst_stride == a.dst_unit)
    pick_rows(a, dst, src, walk);
  else
    spread_rows(a, dst, src, walk);
}

}  // namespace

KernelCode<RowsArgs> pick_record_rows() { return record_rows; }

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace restride::cpu {
HWY_EXPORT(pick_record_rows);
KernelCode<RowsArgs> record_rows_kernel() noexcept { return HWY_DYNAMIC_DISPATCH(pick_record_rows)(); }
}  // namespace restride::cpu
#endif
