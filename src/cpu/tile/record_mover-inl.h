// What moves records by tiles has in common. Included once per instruction set.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_TILE_RECORD_MOVER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_TILE_RECORD_MOVER_INL_H_
#undef RESTRIDE_CPU_TILE_RECORD_MOVER_INL_H_
#else
#define RESTRIDE_CPU_TILE_RECORD_MOVER_INL_H_
#endif

#include "src/cpu/simd/stream-inl.h"
#include "src/cpu/tile/columns-inl.h"
#include "src/cpu/tile/walk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

/// Moves the columns of tiles, some at a time.
class RecordMover {
 public:
  virtual ~RecordMover() = default;
  /// Columns [c, c + cols) of tile t, no more than group_cols of them; their cells start `at` bytes into `rows`, of
  /// which whole blocks of block_rows are read. The prefetcher is told of every record.
  virtual void move(const TilePlace& t, std::int64_t c, std::int64_t cols, const std::uint8_t* const* rows,
                    std::int64_t at, TilePrefetcher* prefetcher) = 0;

  std::int64_t group_cols = 0;
  std::int64_t block_rows = 0;
  std::int64_t read_bytes = 0;  ///< of each row by a whole group
  bool in_place = false;        ///< can read rows where they are

 protected:
  explicit RecordMover(const TileArgs& a, const Columns& all) : a_(a), all_(all) {}

  std::uint8_t* column(const TilePlace& t, std::int64_t c) const {
    return all_.at[t.first_col + c] + (t.first_row - all_.first_row) * a_.dst_unit;
  }
  /// Whole lines of a column that starts `fill` bytes into its first, past the caches; the ragged end waits in `carry`
  /// unless it is the last. Outputs that stay in cache leave as they are.
  void leave(const TilePlace& t, std::uint8_t* line, const std::uint8_t* from, std::size_t fill,
             std::uint8_t* carry) const {
    const std::size_t total = fill + static_cast<std::size_t>(t.rows * a_.dst_unit);
    if (!a_.stream) return copy_bytes(line, from, total);
    std::size_t i = 0;
    if (HWY_UNLIKELY(t.first_rows && fill != 0)) {
      std::memcpy(line + fill, from + fill, std::min(total, kLine) - fill);
      i = kLine;
    }
    for (; i + kLine <= total; i += kLine) stream_line(line + i, from + i);
    if (i >= total) return;
    if (t.last_rows)
      std::memcpy(line + i, from + i, total - i);
    else
      std::memcpy(carry, from + i, kLine);
  }

  const TileArgs& a_;
  const Columns& all_;
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
