// The bids of rows' kernels for words and for casts on CUDA, which are run's as well, and their arguments.
#include <algorithm>

#include "src/base/checked.h"
#include "src/base/saturated.h"
#include "src/cuda/bid.h"
#include "src/cuda/rows/rows.h"

namespace restride::cuda {

using layout::Canonical;

namespace {

constexpr std::uint64_t kRow = 1;  // mode 0 is inside the row

std::int64_t row_units(const Canonical& c) { return c.modes.empty() ? 1 : c.modes[0].extent; }
std::int64_t src_step(const Canonical& c) { return c.modes.empty() ? c.src_unit : c.modes[0].src_stride; }

int units_of_word(const Canonical& c, RowsKind kind) {
  if (kind == RowsKind::kUnit) return 1;
  return kind == RowsKind::kCollect || kind == RowsKind::kDense ? 16 / std::max(c.src_unit, c.dst_unit)
                                                                : 16 / c.dst_unit;
}

/// How the kernel reads with words of so many bytes.
RowsKind rows_kind(const Canonical& c, std::int64_t vector_bytes) {
  if (c.cast) {
    const std::int64_t units = units_of_word(c, RowsKind::kCollect);
    std::int64_t src_bits = c.src_align;
    for (std::size_t i = 1; i < c.modes.size(); ++i) src_bits |= c.modes[i].src_stride;
    const bool dense = src_step(c) == c.src_unit && row_alignment(c, kRow) >= units * c.dst_unit &&
                       (src_bits & (units * c.src_unit - 1)) == 0;
    return dense ? RowsKind::kDense : RowsKind::kCollect;
  }
  if (vector_bytes == c.dst_unit) return RowsKind::kUnit;
  if (src_step(c) == c.src_unit) return RowsKind::kForward;
  if (src_step(c) == 0) return RowsKind::kRepeat;
  return src_step(c) == -c.src_unit ? RowsKind::kReverse : RowsKind::kCollect;
}

/// Words a row takes at most, by how far off a word's boundary rows may start.
std::int64_t words_of_row(const Canonical& c, RowsKind kind) {
  const int units = units_of_word(c, kind);
  const std::int64_t alignment = std::min<std::int64_t>(row_alignment(c, kRow), units * c.dst_unit);
  return rows_words(row_units(c), units, units - static_cast<int>(alignment / c.dst_unit));
}

bool units_are_words(const Canonical& c, RowsKind kind) { return kind == RowsKind::kUnit && c.dst_unit == kWordBytes; }

/// Words of a row a thread moves, as measured on H200 and H100.
int words_a_thread(const Canonical& c, const Costs& k, RowsKind kind) {
  if (kind == RowsKind::kDense) {
    // Where less is written than read, or a lane reads less than a bank's word, another load should be on its way.
    return c.dst_unit < c.src_unit || 4 * c.src_unit < c.dst_unit ? 2 : 1;
  }
  if (c.cast) return 1;
  // Words that take two loads are best in pairs, as those of a broadcast, long rows of whole words one by one.
  if (kind == RowsKind::kForward || kind == RowsKind::kReverse || kind == RowsKind::kRepeat) return 2;
  const std::int64_t row_bytes = row_units(c) * c.dst_unit;
  if (kind == RowsKind::kCollect || (kind == RowsKind::kUnit && row_bytes >= kSizes.rows_long_bytes)) return 1;
  if (units_are_words(c, kind) && row_bytes >= kSizes.rows_short_bytes) return k.rows_wide_steps > 1 ? 2 : 1;
  return kSizes.rows_steps;
}

/// Sectors of dst that rows fill in part and share with gaps; those between rows that follow each other are filled by
/// both.
std::int64_t sectors_in_part(const Canonical& c) {
  const std::int64_t rows = c.units / row_units(c), row_bytes = row_units(c) * c.dst_unit;
  if (c.cast || c.modes.size() < 2 || c.modes[1].dst_stride <= row_bytes) return 0;
  const std::int64_t aligned = row_alignment(c, kRow);
  return (aligned | row_bytes) % kSectorBytes == 0 ? 0 : std::min(2 * rows, sectors(rows, row_bytes, aligned));
}

/// Threads of a block, and the words that each has under way.
struct WordsBlock {
  std::int64_t threads = 0, steps = 0;
};
WordsBlock block_of(const Canonical& c, const Costs& k, RowsKind kind, bool small) {
  // A block of the kernel that converts waits for its slowest load before another can start: small ones wait less.
  if (c.cast) return {kCastThreads, small ? 1 : words_a_thread(c, k, kind)};
  if (small) return {kRowsThreads, 1};
  const std::int64_t row_bytes = row_units(c) * c.dst_unit;
  const bool wide = units_are_words(c, kind) && k.rows_wide_steps > 1 && sectors_in_part(c) == 0 &&
                    row_bytes >= kSizes.rows_wide_bytes && row_bytes < kSizes.rows_long_bytes;
  return wide ? WordsBlock{kWideThreads, kWideSteps} : WordsBlock{kRowsThreads, words_a_thread(c, k, kind)};
}

/// How blocks share `words` words of each of `rows` rows, `block_words` a block: numbered through, or, where 31 bits do
/// not count them all, each within one row.
struct Share {
  bool chunked = false;
  std::int64_t pieces = 1;  ///< words a row, or blocks
  std::int64_t blocks = 0;
};
Share share_of(std::int64_t rows, std::int64_t words, std::int64_t block_words) {
  // Block numbers times the words of a block must stay below 2^31, the last block's included.
  if (words < ((std::int64_t{1} << 31) - block_words) / rows)
    return {false, words, ceil_div(words * rows, block_words)};
  const std::int64_t chunks = ceil_div(words, block_words);
  return {true, chunks, saturated_mul(chunks, rows)};
}

std::int64_t source_sectors(const Canonical& c) {
  std::int64_t rows = c.units / row_units(c);
  const std::int64_t step = std::abs(src_step(c));
  if (step == c.src_unit) {
    std::int64_t bits = c.src_align | 128, fresh = rows;
    for (std::size_t i = 1; i < c.modes.size(); ++i) {
      bits |= c.modes[i].src_stride;
      if (c.modes[i].src_stride == 0) fresh /= c.modes[i].extent;  // a repeated row is read from a cache
    }
    return sectors(fresh, row_units(c) * c.src_unit, bits & -bits);
  }
  if (step == 0) return rows;
  return std::max<std::int64_t>(saturated_mul(c.units, std::min<std::int64_t>(step, 32)) / 32, rows);
}

/// The share of a copy's speed that rows reach. `whole`: they are whole words of dst.
double reach_of(const Canonical& c, const Costs& k, RowsKind kind, bool whole) {
  const std::int64_t step = src_step(c), row_bytes = row_units(c) * c.dst_unit;
  const bool dense = std::abs(step) == c.src_unit || step == 0, forward = kind == RowsKind::kForward;
  // Short rows: memory likes long runs, the more where lines are shared, and partly filled words cost as whole ones.
  const auto size = static_cast<double>(row_bytes);
  const bool lines = dense && row_bytes % kLineBytes == 0 && row_alignment(c, kRow) >= kLineBytes &&
                     src_row_alignment(c, 0) >= kLineBytes;
  double reach =
      (dense ? k.rows_dense : k.rows_strided) * size / (size + (lines ? k.rows_lost_on_lines : k.rows_lost_bytes));
  if (kind != RowsKind::kUnit && !(forward && whole)) reach *= size / (size + k.rows_lost_wide);
  if (forward && !whole) reach /= 1 + k.rows_lost_parts * std::min(1.0, 2.0 / c.dst_unit) / (size + k.rows_parts_bytes);
  if (kind == RowsKind::kUnit && c.dst_unit < kWordBytes) reach = std::min(reach, c.dst_unit / k.rows_lane_bytes);
  if (c.cast && !dense) reach *= k.rows_cast_strided;  // a load a unit
  if (c.cast && dense && kind == RowsKind::kCollect) {
    const double moved = c.src_unit + c.dst_unit;
    reach = std::min(reach, moved / (moved + k.rows_cast_lost));
  }
  if (!c.cast && !dense && c.dst_unit == 1) reach *= k.rows_bytes_strided;  // sixteen loads a word, each of many lines
  return reach;
}

/// What run and rows offer alike.
void lines(const Canonical& c, const CudaMachine& machine, Candidate& bid) {
  if (c.two_sided) return refuse(bid, "the sides share no modes");
  if (!c.modes.empty() && c.modes[0].dst_stride != c.dst_unit) return refuse(bid, "dst has no dense mode");
  if (!units_aligned(c)) return refuse(bid, "elements lie off their own alignment");
  std::int64_t rows = 0;
  if (!outer_walk(c, kRow, nullptr, &rows)) return refuse(bid, "too many rows or outer modes");

  const std::int64_t step = src_step(c);
  const std::int64_t row_bytes = row_units(c) * c.dst_unit;
  const bool whole = row_bytes % kWordBytes == 0 && row_alignment(c, kRow) >= kWordBytes;
  const std::int64_t least =
      whole && step == c.src_unit ? kSizes.rows_least_whole_bytes : kSizes.rows_least_words_bytes;
  const bool wide = c.cast || (c.dst_unit < 16 && row_bytes >= least);
  const std::int64_t vector = wide ? 16 : c.dst_unit;
  const RowsKind kind = rows_kind(c, vector);
  const std::int64_t words = words_of_row(c, kind);
  // A small copy gives every multiprocessor a block before it gives a thread a second word.
  const bool small = rows * words < static_cast<std::int64_t>(machine.sm_count) * kRowsThreads * kSizes.rows_steps * 2;
  WordsBlock block = block_of(c, *machine.costs, kind, small);
  // Wide blocks are of a kernel that numbers all words.
  if (block.threads == kWideThreads && share_of(rows, words, kWideThreads * block.steps).chunked)
    block = {kRowsThreads, words_a_thread(c, *machine.costs, kind)};
  if (too_many(share_of(rows, words, block.threads * block.steps).blocks)) return refuse(bid, "too many blocks");
  bid.params = {{ParamId::kKind, static_cast<std::int64_t>(kind)},
                {ParamId::kVectorBytes, vector},
                {ParamId::kThreads, block.threads},
                {ParamId::kStages, block.steps}};
  if (units_are_words(c, kind)) bid.params.push_back({ParamId::kKeep, machine.costs->keeps > 0 ? 1 : 0});
  const std::int64_t read = source_sectors(c);
  const std::int64_t written = sectors(rows, row_bytes, row_alignment(c, kRow));
  predict(bid, machine, read + sectors_in_part(c), written, reach_of(c, *machine.costs, kind, whole));
}

/// True of one contiguous run on both sides.
bool one_run(const Canonical& c) {
  if (c.two_sided || c.modes.size() > 1) return false;
  return c.modes.empty() || (c.modes[0].dst_stride == c.dst_unit && c.modes[0].src_stride == c.src_unit);
}

}  // namespace

void bid_lines(const Request& request, std::span<Candidate> bids) {
  const Canonical& c = request.c;
  const std::size_t ours = c.cast ? 1 : 0;
  Candidate &run = bids[0 + ours], &rows = bids[2 + ours];
  bids[1 - ours].reason = bids[3 - ours].reason = c.cast ? "units are converted" : "nothing is converted";
  lines(c, request.machine, rows);
  if (one_run(c))
    run = rows;
  else
    run.reason = "not one contiguous run";
  rows.predicted.time_ns *= request.machine.costs->rows_behind_run;  // run, where it is one
}

void prepare_lines(const Canonical& c, const Candidate& chosen, CudaArgs& out) {
  const auto kind = static_cast<RowsKind>(chosen.get(ParamId::kKind));
  auto& a = out.args.emplace<RowsArgs>();
  a.kind = kind;
  std::int64_t rows = 0;
  outer_walk(c, kRow, &a.rows, &rows);
  set_sides(a, c);
  a.src_step = src_step(c);
  a.keep = chosen.get(ParamId::kKeep) == 1;
  a.fetch_ends = sectors_in_part(c) != 0;
  // The forward kernel moves bytes: shifting a word does not depend on the unit.
  a.row_units = kind == RowsKind::kForward ? row_units(c) * c.dst_unit : row_units(c);
  if (kind == RowsKind::kForward) a.src_step = 1;
  set_dtypes(a, c);
  a.row_count = narrowed<std::uint32_t>(rows);
  a.threads = narrowed<std::int32_t>(chosen.get(ParamId::kThreads, c.cast ? kCastThreads : kRowsThreads));
  a.block_words = narrowed<std::uint32_t>(a.threads * chosen.get(ParamId::kStages, 1));
  std::int64_t words = words_of_row(c, kind);
  if (kind == RowsKind::kForward)
    words = rows_words(a.row_units, 16, 16 - static_cast<int>(std::min<std::int64_t>(row_alignment(c, kRow), 16)));
  const Share share = share_of(rows, words, a.block_words);
  a.chunked = share.chunked;
  a.whole = units_are_words(c, kind) && !c.cast && !a.fetch_ends && !a.chunked;
  a.pieces = base::FastDiv(share.pieces);
  a.blocks = narrowed<std::uint32_t>(share.blocks);
}

}  // namespace restride::cuda
