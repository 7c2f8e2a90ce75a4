#include "src/cpu/buffered/kernel.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <variant>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/cpu/buffered/kernel.cc"
#include <hwy/foreach_target.h>
#include "src/base/checked.h"
#include "src/cpu/buffered/block_table.h"
#include "src/cpu/buffered/matrix-inl.h"
#include "src/cpu/costs.h"
#include "src/cpu/simd/column_writer-inl.h"
#include "src/cpu/simd/run_writers-inl.h"
#include "src/cpu/simd/tile_prefetch-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace {

/// A staged piece of source: rows of an odd number of lines, so that a column of blocks spreads over the cache's sets.
constexpr std::int64_t kPieceRows = 64;
constexpr std::int64_t kPieceRowBytes = 512;
constexpr std::int64_t kPiecePitch = kPieceRowBytes + 64;

/// Writes dst's runs out of padded columns. With vectors of 64 bytes a line that two columns share is put together in a
/// register.
#if HWY_TARGET <= HWY_AVX3
class ColumnWriters {
 public:
  explicit ColumnWriters(bool runs_go_on) : last_(runs_go_on ? kMostWriters - 1 : kWriters - 1) {}
  void write(std::int64_t run, std::uint8_t* to, const std::uint8_t* from, std::int64_t pitch, std::int64_t n,
             std::int64_t bytes) {
    writers_[run & last_].write(to, from, pitch, n, static_cast<std::size_t>(bytes));
  }
  void leave() {
    for (ColumnWriter& w : writers_) w.leave();
  }

 private:
  std::int64_t last_;
  ColumnWriter writers_[kMostWriters];
};
#else
class ColumnWriters {
 public:
  explicit ColumnWriters(bool runs_go_on) : runs_(true, runs_go_on) {}
  void write(std::int64_t run, std::uint8_t* to, const std::uint8_t* from, std::int64_t pitch, std::int64_t n,
             std::int64_t bytes) {
    for (; n > 0; --n, to += bytes, from += pitch) runs_.write(run, to, from, static_cast<std::size_t>(bytes));
  }
  void leave() { runs_.leave(); }

 private:
  RunWriters runs_;
};
#endif

/// A finished block on its way out, a few lines after each step of the next one.
class Leaving {
 public:
  Leaving(const BufferedArgs& a, const BlockTables& t, bool runs_go_on) noexcept
      : offsets_(t.dst_runs),
        run_pitch_(a.run_pitch),
        column_pitch_(a.column_pitch),
        writers_(writers_of(a, runs_go_on)) {}

  /// The next block, whose runs are made of columns of `column_bytes`.
  HWY_NOINLINE void enter(std::uint8_t* to, const std::uint8_t* block, std::int64_t runs, std::int64_t run_bytes,
                          std::int64_t column_bytes) {
    step(INT64_MAX);
    to_ = to;
    from_ = block;
    runs_ = runs;
    run_bytes_ = run_bytes;
    column_bytes_ = column_bytes;
    run_ = at_ = 0;
  }
  HWY_NOINLINE void step(std::int64_t bytes) {
    while (bytes > 0 && run_ < runs_) {
      const std::int64_t n = column_pitch_ == 0 ? write_run(bytes) : write_columns(bytes);
      bytes -= n;
      at_ += n;
      if (at_ < run_bytes_) continue;
      at_ = 0;
      ++run_;
    }
  }
  HWY_NOINLINE void finish() {
    step(INT64_MAX);
    if (column_pitch_ == 0)
      std::get_if<RunWriters>(&writers_)->leave();
    else
      std::get_if<ColumnWriters>(&writers_)->leave();
    hwy::FlushStream();
  }

 private:
  using Writers = std::variant<RunWriters, ColumnWriters>;
  static constexpr auto kLineBytes = static_cast<std::int64_t>(kLine);
  static constexpr std::int64_t kWholeColumnBytes = 512;  ///< up to so many columns leave whole

  static Writers writers_of(const BufferedArgs& a, bool runs_go_on) {
    if (a.column_pitch == 0) return Writers(std::in_place_type<RunWriters>, a.stream, runs_go_on);
    return Writers(std::in_place_type<ColumnWriters>, runs_go_on);
  }
  std::int64_t write_run(std::int64_t bytes) {
    const std::int64_t n = std::min(bytes, run_bytes_ - at_);
    std::get_if<RunWriters>(&writers_)->write(run_, to_ + offsets_[run_] + at_, from_ + run_ * run_pitch_ + at_,
                                              static_cast<std::size_t>(n));
    return n;
  }
  /// Some columns, or a part of one, which has a line at least.
  std::int64_t write_columns(std::int64_t bytes) {
    const std::int64_t column = at_ / column_bytes_, begun = at_ % column_bytes_;
    std::int64_t n = 1, part = column_bytes_ - begun;
    if (begun == 0 && column_bytes_ <= std::max(bytes, kWholeColumnBytes))
      n = std::clamp<std::int64_t>(bytes / column_bytes_, 1, run_bytes_ / column_bytes_ - column);
    else if (const std::int64_t least = std::max(bytes, kLineBytes); part - kLineBytes >= least)
      part = least;
    std::get_if<ColumnWriters>(&writers_)->write(run_, to_ + offsets_[run_] + at_,
                                                 from_ + run_ * run_pitch_ + column * column_pitch_ + begun,
                                                 column_pitch_, n, part);
    return n * part;
  }

  const std::int64_t* offsets_;
  std::int64_t run_pitch_;
  std::int64_t column_pitch_;
  Writers writers_;
  std::uint8_t* to_ = nullptr;
  const std::uint8_t* from_ = nullptr;
  std::int64_t runs_ = 0;
  std::int64_t run_bytes_ = 0;
  std::int64_t column_bytes_ = 0;
  std::int64_t run_ = 0;
  std::int64_t at_ = 0;
};

/// What goes on while a block is put together: each step prefetches as much as was made, some steps write at a time.
class WriteBehind {
 public:
  WriteBehind(const BufferedArgs& a, const BlockTables& t, bool runs_go_on, const std::uint8_t* src, std::int64_t begin,
              std::int64_t end) noexcept
      : leaving(a, t, runs_go_on),
        prefetcher(a, a.nest, src, begin, end),
        unit_(a.dst_unit),
        write_bytes_(a.write_bytes) {}
  HWY_INLINE void step(std::int64_t bytes) {
    made_ += bytes;
    if (made_ >= kPrefetchBytes) go_on();
  }

  Leaving leaving;
  RunPrefetcher prefetcher;

 private:
  static constexpr std::int64_t kPrefetchBytes = 512;

  // Not inlined: it is called from every size of block there is.
  HWY_NOINLINE void go_on() {
    prefetcher.units_left(made_ / unit_);
    owed_ += made_;
    made_ = 0;
    if (owed_ < write_bytes_) return;
    leaving.step(owed_);
    owed_ = 0;
  }

  std::int64_t made_ = 0;  ///< since the last prefetch
  std::int64_t owed_ = 0;  ///< to be written
  std::int64_t unit_;
  std::int64_t write_bytes_;
};

/// What the transposes call between their blocks.
struct Step {
  WriteBehind* behind;
  HWY_INLINE void operator()(std::int64_t bytes) const {
    if (behind != nullptr) behind->step(bytes);
  }
};

/// n cut evenly into pieces of at most `most`.
constexpr std::int64_t even_piece(std::int64_t n, std::int64_t most) { return ceil_div(n, ceil_div(n, most)); }

/// True when the lines of a block of rows at this pitch spread over the first cache: of 64 sets with 8 places or more.
bool spreads(std::int64_t pitch, std::int64_t rows) {
  const std::int64_t sets = 64 / std::gcd(magnitude(pitch) / kLine, std::uint64_t{64});
  return magnitude(pitch) % kLine != 0 || rows <= 8 * sets;
}

/// n rows, and those that fill the vector of the last ones.
constexpr std::int64_t filled_rows(std::int64_t n, std::int64_t unit) {
  const std::int64_t last = n * unit % 64;
  const std::int64_t vector = last > 32 ? 64 : last > 16 ? 32 : last > 0 ? 16 : 0;
  return n + (vector - last) / unit;
}

/// How rows are read: where they are, or by way of a stage.
struct Reading {
  bool staged;                ///< always
  std::int64_t last;          ///< a row that starts behind this offset in src must not be read as a whole vector
  std::int64_t within_block;  ///< from a block's first row to its last one
};

Reading reading_of(const BufferedArgs& a, std::int64_t block_rows) {
  const BufferedBlock& b = a.block;
  Reading r{a.cast_run != nullptr, a.src_end - kLeastVectorBytes, 0};
  if (b.rows.size > 0) {
    const BlockMode& inner = b.modes[b.rows.modes[0]];
    r.staged |= !spreads(inner.src_stride, std::min(block_rows, inner.points));
  }
  for (int i = 0; i < b.rank; ++i)
    if (b.modes[i].src_stride > 0) r.within_block += (b.modes[i].points - 1) * b.modes[i].src_stride;
  return r;
}

/// All but the transposes does without the unit's size as a constant: so there is one of it for all sizes.
using Move = void (*)(const Matrix&, const Step&);
Move move_of(std::int32_t unit) {
  switch (unit) {
    case 1: return move_matrix<1, Step>;
    case 2: return move_matrix<2, Step>;
    case 4: return move_matrix<4, Step>;
    case 8: return move_matrix<8, Step>;
    default: return move_matrix<16, Step>;
  }
}

/// A matrix of rows and columns by way of a stage.
HWY_NOINLINE void move_staged(const BufferedArgs& a, Move move, const Matrix& whole, const Step& step) {
  alignas(64) std::uint8_t stage[kPieceRows * kPiecePitch];
  std::int64_t pitches[kPieceRows];
  for (std::int64_t i = 0; i < kPieceRows; ++i) pitches[i] = i * kPiecePitch;
  // Rows of padded columns are cut at lines.
  const std::int64_t rows = a.column_pitch != 0 ? kPieceRows : even_piece(whole.rows, kPieceRows);
  const std::int64_t cols = even_piece(whole.cols, kPieceRowBytes / a.dst_unit);
  for (std::int64_t c = 0; c < whole.cols; c += cols)
    for (std::int64_t r = 0; r < whole.rows; r += rows) {
      const Matrix m{stage,
                     pitches,
                     std::min(rows, whole.rows - r),
                     whole.to + r * a.dst_unit,
                     whole.places + c,
                     std::min(cols, whole.cols - c)};
      for (std::int64_t i = 0; i < m.rows; ++i) {
        const std::uint8_t* from = whole.from + whole.row_offsets[r + i] + c * a.src_unit;
        if (a.cast_run == nullptr)
          copy_bytes(stage + pitches[i], from, static_cast<std::size_t>(m.cols * a.dst_unit));
        else
          a.cast_run(stage + pitches[i], from, static_cast<std::size_t>(m.cols));
      }
      move(m, step);
    }
}

/// A matrix of rows shorter than a vector. They are read as vectors up to the first one that starts behind `last`, in
/// bytes from the matrix's first row. That one and those after it go by way of a stage.
HWY_NOINLINE void move_up_to(const BufferedArgs& a, Move move, Matrix m, std::int64_t last, const Step& step) {
  std::int64_t rows = 0;
  if (const BlockMode& mode = a.block.modes[a.block.rows.modes[0]]; a.block.rows.size == 1 && mode.src_stride > 0)
    rows = last < 0 ? 0 : std::min(m.rows, last / mode.src_stride + 1);
  else
    while (rows < m.rows && m.row_offsets[rows] <= last) ++rows;
  if (a.column_pitch != 0) rows -= rows % (kLine / a.dst_unit);  // rows of padded columns are cut at lines
  Matrix staged = m;
  staged.row_offsets += rows;
  staged.rows -= rows;
  staged.to += rows * a.dst_unit;
  m.rows = rows;
  if (m.rows > 0) move(m, step);
  if (staged.rows > 0) move_staged(a, move, staged, step);
}

/// How a block's rows are read.
enum class From { kPlace, kPlaceUpToLast, kStage };

/// Puts one block together at `out` from the source at `src`. `last` is Reading's, in bytes from `src`.
HWY_NOINLINE void put_together(const BufferedArgs& a, Move move, const BlockTables& t, const BlockShape& shape,
                               From from, std::int64_t last, std::uint8_t* out, const std::uint8_t* src,
                               WriteBehind* behind) {
  const std::int64_t rows = shape.points(a.block.rows);
  const std::int64_t cols = shape.points(a.block.cols);
  const std::int64_t inner = shape.points(t.inner);
  const std::int64_t outer = t.outer < 0 ? 1 : shape.points(t.outer);
  const std::int64_t piece_cols = from != From::kPlace ? cols
                                  : a.band_cols != 0   ? a.band_cols
                                                       : even_piece(cols, kPieceRowBytes / a.dst_unit);
  // No piece is shorter, so that none reads on behind its rows.
  const auto cols_from = [&](std::int64_t c) { return cols - c < 2 * piece_cols ? cols - c : piece_cols; };
  const Step step{behind};
  // Whole vectors of rows fit padded columns, so none overlaps the one before it, which would split its stores.
  const bool fill = a.column_pitch != 0 && from == From::kPlace && rows == t.whole_rows;
  const std::int64_t filled = fill ? filled_rows(rows, a.dst_unit) : rows;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i)
      for (std::int64_t c = 0, n = 0; c < cols; c += n) {
        n = cols_from(c);
        const std::int64_t at = o * t.outer_src + t.others_src[i] + c * a.src_unit;
        const Matrix m{src + at, t.rows, filled, out + o * t.outer_put + t.others_put[i], t.cols + c, n};
        if (from == From::kPlace)
          move(m, step);
        else if (from == From::kPlaceUpToLast)
          move_up_to(a, move, m, last - at, step);
        else
          move_staged(a, move, m, step);
      }
}

void buffered(const BufferedArgs& a, std::byte* dst_base, const std::byte* src_base, std::int64_t begin,
              std::int64_t end) noexcept {
  auto* dst = reinterpret_cast<std::uint8_t*>(dst_base);
  const auto* src = reinterpret_cast<const std::uint8_t*>(src_base);
  const BufferedBlock& b = a.block;
  const BlockTables t(b, a.stream);
  constexpr std::int64_t kBlockBytes = Block<1>::kVectorBytes;
  const Move move = move_of(a.dst_unit);
  const Reading reading = reading_of(a, kBlockBytes / a.dst_unit);
  const auto put = [&](const BlockShape& shape, const NestCursor& at, std::uint8_t* out, WriteBehind* behind) {
    const std::int64_t last = reading.last - at.src();
    const bool whole = shape.points(b.cols) * a.dst_unit >= kLeastVectorBytes || reading.within_block <= last;
    const From from = reading.staged ? From::kStage : whole ? From::kPlace : From::kPlaceUpToLast;
    put_together(a, move, t, shape, from, last, out, src + at.src(), behind);
  };
  NestCursor at(a.nest, begin);
  if (!a.stream) {  // what stays in the caches is put together where it belongs
    for (std::int64_t task = begin; task < end; ++task, at.next()) {
      const BlockShape shape(a, at);
      if (shape.empty()) continue;
      put(shape, at, dst + at.dst(), nullptr);
    }
    return;
  }
  std::int64_t run_bytes = a.dst_unit;
  for (int i = 0; i < b.dst_run.size; ++i) run_bytes *= b.modes[b.dst_run.modes[i]].points;
  const bool runs_go_on = a.nest.rank() > 0 && a.nest[0].dst_stride == run_bytes;
  alignas(64) std::uint8_t room[2][kLine + kBufferedBytes + kLine];  // lines before and behind a block are read along
  WriteBehind behind(a, t, runs_go_on, src, begin, end);
  for (std::int64_t task = begin, now = 0; task < end; ++task, at.next()) {
    const BlockShape shape(a, at);
    if (shape.empty()) continue;
    std::uint8_t* block = room[now] + kLine;
    behind.prefetcher.enter(shape.points(b.src_runs), t.src_runs, shape.points(b.src_run) * a.src_unit, task);
    put(shape, at, block, &behind);
    behind.leaving.enter(dst + at.dst(), block, shape.points(b.dst_runs), shape.points(b.dst_run) * a.dst_unit,
                         shape.points(b.rows) * a.dst_unit);
    now ^= 1;
  }
  behind.leaving.finish();
}

}  // namespace

KernelCode<BufferedArgs> pick_buffered() { return buffered; }

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace restride::cpu {
HWY_EXPORT(pick_buffered);
KernelCode<BufferedArgs> buffered_kernel() noexcept { return HWY_DYNAMIC_DISPATCH(pick_buffered)(); }
}  // namespace restride::cpu
#endif
