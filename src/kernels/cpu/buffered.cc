#include "src/kernels/cpu/buffered.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/cpu/buffered.cc"
#include <hwy/foreach_target.h>
#include "src/base/checked.h"
#include "src/kernels/cpu/matrix-inl.h"
#include "src/kernels/cpu/stream-inl.h"
#include "src/kernels/cpu/writer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

/// A staged piece of source: rows of an odd number of lines, so that a column of blocks spreads over the cache's sets.
constexpr std::int64_t kPieceRows = 128;
constexpr std::int64_t kPieceRowBytes = 512;
constexpr std::int64_t kPiecePitch = kPieceRowBytes + 64;

/// Blocks that are read ahead together.
constexpr std::int64_t kGroup = 8;

/// What a block has of `whole` (columns, bytes), which is divided by the mode that may be cut.
std::int64_t inside(const CpuArgs& a, const NestCursor& at, std::int64_t whole) {
  if (a.cut.nest_mode < 0) return whole;
  return whole / a.cut.points * std::min(a.cut.points, a.cut.extent - at.index(a.cut.nest_mode) * a.cut.points);
}

/// Asks for source lines a group of blocks ahead, a few after each step. One stream of addresses is read at a fraction
/// of the speed of several: so the blocks of a group are asked for side by side.
class Ahead {
 public:
  Ahead(const CpuArgs& a, const std::uint8_t* src, std::int64_t begin, std::int64_t end) noexcept
      : src_(src), first_(begin), asked_(begin), end_(end), block_bytes_(a.block_bytes), cursor_(a.nest, begin) {
    Nest all = a.row_set;
    for (int i = 0; i < a.block_set.rank; ++i) all.push(a.block_set.modes[i]);
    rows_ = all.points();
    row_bytes_ = static_cast<std::uintptr_t>(a.cols * a.src_unit);
    if (rows_ > kMostRows) {
      rows_ = 0;  // short rows: the cache's own prefetchers must do
      return;
    }
    fill_offsets(all, Side::kSrc, 0, rows_, offsets_);
    for (; asked_ < std::min(end, begin + kGroup); ++asked_) cursor_.next();
  }

  /// Before each block.
  void enter(std::int64_t task) {
    const std::int64_t turn = (task - first_) % kGroup;
    if (turn == 0)
      for (blocks_ = 0; blocks_ < kGroup && asked_ < end_; ++asked_, cursor_.next())
        block_[blocks_++] = src_ + cursor_.src();
    at_ = rows_ * turn / kGroup;
    left_ = share_ = (rows_ * (turn + 1) / kGroup - at_) * blocks_;
    in_group_ = owed_ = 0;
  }

  /// `bytes` of the current block were made.
  void step(std::int64_t bytes) {
    for (owed_ += share_ * bytes; owed_ >= block_bytes_ && left_ > 0; owed_ -= block_bytes_, --left_) ask();
  }

 private:
  static constexpr std::int64_t kMostRows = 2048;

  /// One row of one block, less the line that the row in front of it shares.
  HWY_INLINE void ask() {
    const auto row = reinterpret_cast<std::uintptr_t>(block_[in_group_] + offsets_[at_]);
    std::uintptr_t line = row / kLine;
    const std::uintptr_t last = (row + row_bytes_ - 1) / kLine;
    if (line == last_[in_group_] || line == recent_) ++line;
    for (; line <= last; ++line) prefetch_to_l2(reinterpret_cast<const std::uint8_t*>(line * kLine));
    last_[in_group_] = recent_ = last;
    if (++in_group_ == blocks_) {
      in_group_ = 0;
      ++at_;
    }
  }

  const std::uint8_t* src_;
  std::int64_t first_;
  std::int64_t asked_;  ///< the first task of the group behind the next
  std::int64_t end_;
  std::int64_t block_bytes_;
  NestCursor cursor_;
  std::int64_t rows_ = 0;
  std::uintptr_t row_bytes_ = 0;
  std::int64_t blocks_ = 0;
  std::int64_t at_ = 0;
  std::int64_t in_group_ = 0;
  std::int64_t share_ = 0;  ///< rows to ask for during the current block
  std::int64_t left_ = 0;   ///< of them
  std::int64_t owed_ = 0;
  std::uintptr_t recent_ = 0;
  std::uintptr_t last_[kGroup] = {};
  const std::uint8_t* block_[kGroup] = {};
  std::int64_t offsets_[kMostRows];
};

/// A finished block on its way out, a few lines after each step of the next one.
class Leaving {
 public:
  void enter(std::uint8_t* to, const std::uint8_t* block, std::int64_t bytes) {
    step(left_);
    to_ = to;
    from_ = block;
    left_ = bytes;
  }
  void step(std::int64_t bytes) {
    bytes = std::min(bytes, left_);
    if (bytes == 0) return;
    writer_.write(to_, from_, static_cast<std::size_t>(bytes));
    to_ += bytes;
    from_ += bytes;
    left_ -= bytes;
  }
  void finish() {
    step(left_);
    writer_.finish();
  }

 private:
  Writer writer_;
  std::uint8_t* to_ = nullptr;
  const std::uint8_t* from_ = nullptr;
  std::int64_t left_ = 0;
};

/// What goes on while a block is put together.
struct Meanwhile {
  Leaving leaving;
  Ahead ahead;

  // Not inlined: it is called once a kilobyte, from every size of block there is.
  HWY_NOINLINE void step(std::int64_t bytes) {
    leaving.step(bytes);
    ahead.step(bytes);
  }
};

/// n cut evenly into pieces of at most `most`.
constexpr std::int64_t even_piece(std::int64_t n, std::int64_t most) {
  const std::int64_t pieces = (n + most - 1) / most;
  return (n + pieces - 1) / pieces;
}

/// True when the lines of a block of rows at this pitch spread over the first cache: of 64 sets with 8 places or more.
bool spreads(std::int64_t pitch, std::int64_t rows) {
  const std::int64_t sets = 64 / std::gcd(magnitude(pitch) / kLine, std::uint64_t{64});
  return magnitude(pitch) % kLine != 0 || rows <= 8 * sets;
}

/// Puts one block together at `out` from the source at `src`.
template <std::size_t kUnit>
void put_together(const CpuArgs& a, std::uint8_t* out, const std::uint8_t* src, std::int64_t block_cols,
                  Meanwhile* meanwhile) {
  constexpr auto kUnitBytes = static_cast<std::int64_t>(kUnit);
  constexpr std::int64_t kMostCols = kPieceRowBytes / kUnitBytes;
  alignas(64) std::uint8_t stage[kPieceRows * kPiecePitch];
  // Rows that lie one pitch apart are read where they are, the others are brought together first.
  const layout::CopyMode& inner = a.row_set.modes[0];
  const bool direct = a.cast_run == nullptr && inner.extent * kUnitBytes >= 32 && block_cols * kUnitBytes >= 16 &&
                      spreads(inner.src_stride, static_cast<std::int64_t>(Block<kUnit>::kRows));
  const std::int64_t piece_rows = direct ? inner.extent : even_piece(a.rows, kPieceRows);
  const std::int64_t piece_cols = even_piece(block_cols, kMostCols);
  NestCursor set(a.block_set, 0);
  for (std::int64_t s = a.block_set.points(); s > 0; --s, set.next())
    for (std::int64_t c = 0; c < block_cols; c += piece_cols) {
      const std::int64_t cols = std::min(piece_cols, block_cols - c);
      std::int64_t places[kMostCols];
      fill_offsets(a.col_set, Side::kDst, c, cols, places);
      const std::uint8_t* from = src + set.src() + c * a.src_unit;
      for (std::int64_t r = 0; r < a.rows; r += piece_rows) {
        const std::int64_t rows = std::min(piece_rows, a.rows - r);
        std::int64_t offsets[kPieceRows];
        fill_offsets(a.row_set, Side::kSrc, r, direct ? 1 : rows, offsets);
        Matrix m{from + offsets[0], rows, cols, inner.src_stride};
        if (!direct) {
          m = {stage, rows, cols, kPiecePitch};
          for (std::int64_t i = 0; i < rows; ++i) {
            if (a.cast_run == nullptr)
              copy_bytes(stage + i * kPiecePitch, from + offsets[i], static_cast<std::size_t>(cols) * kUnit);
            else
              a.cast_run(stage + i * kPiecePitch, from + offsets[i], static_cast<std::size_t>(cols));
          }
        }
        std::uint8_t* to = out + set.dst() + r * kUnitBytes;
        const auto place = [&](std::int64_t col) RESTRIDE_INLINE_LAMBDA { return to + places[col]; };
        const auto step = [&](std::int64_t bytes) RESTRIDE_INLINE_LAMBDA {
          if (meanwhile != nullptr) meanwhile->step(bytes);
        };
        if (std::min(rows, cols) * kUnitBytes >= 16) {
          move_matrix<kUnit>(m, place, step);
          continue;
        }
        for (std::int64_t col = 0; col < cols; ++col)
          for (std::int64_t i = 0; i < rows; ++i)
            std::memcpy(place(col) + i * kUnitBytes, m.from + i * m.from_pitch + col * kUnitBytes, kUnit);
        step(rows * cols * kUnitBytes);
      }
    }
}

template <std::size_t kUnit>
void buffered(const CpuArgs& a, std::byte* dst_base, const std::byte* src_base, std::int64_t begin,
              std::int64_t end) noexcept {
  auto* dst = reinterpret_cast<std::uint8_t*>(dst_base);
  const auto* src = reinterpret_cast<const std::uint8_t*>(src_base);
  NestCursor at(a.nest, begin);
  if (!a.stream) {  // what stays in the caches is put together where it belongs
    for (std::int64_t task = begin; task < end; ++task, at.next())
      put_together<kUnit>(a, dst + at.dst(), src + at.src(), inside(a, at, a.cols), nullptr);
    return;
  }
  alignas(64) std::uint8_t blocks[2][kMaxBufferedBytes];
  Meanwhile meanwhile{{}, Ahead(a, src, begin, end)};
  for (std::int64_t task = begin, now = 0; task < end; ++task, at.next(), now ^= 1) {
    meanwhile.ahead.enter(task);
    put_together<kUnit>(a, blocks[now], src + at.src(), inside(a, at, a.cols), &meanwhile);
    meanwhile.leaving.enter(dst + at.dst(), blocks[now], inside(a, at, a.block_bytes));
  }
  meanwhile.leaving.finish();
}

}  // namespace

CpuKernel pick_buffered(int dst_unit) {
  switch (dst_unit) {
    case 1: return buffered<1>;
    case 2: return buffered<2>;
    case 4: return buffered<4>;
    case 8: return buffered<8>;
    default: return buffered<16>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace restride::kernels::cpu {
HWY_EXPORT(pick_buffered);
CpuKernel buffered_kernel(int dst_unit) noexcept { return HWY_DYNAMIC_DISPATCH(pick_buffered)(dst_unit); }
}  // namespace restride::kernels::cpu
#endif
