// The bid of rows' kernel for pixels on CUDA, and its arguments.
#include <algorithm>
#include <numeric>

#include "src/base/checked.h"
#include "src/cuda/bid.h"
#include "src/cuda/rows/rows.h"

namespace restride::cuda {

using layout::Canonical;

namespace {

/// A row: its modes, units of a pixel, and the steps in src from unit to unit of a pixel and from pixel to pixel.
struct Row {
  std::uint64_t mask = 0;
  std::int64_t units = 1, pixel = 1, inside = 0, step = 0;
};

/// The row of a copy; mask 0 where dst's innermost mode is not dense.
Row row_of(const Canonical& c) {
  Row r;
  if (c.modes.empty() || c.modes[0].dst_stride != c.dst_unit) return r;
  const layout::CopyMode& first = c.modes[0];
  if (first.extent <= kMostPhases && c.modes.size() > 1 && c.modes[1].dst_stride == first.extent * c.dst_unit) {
    return {3, first.extent * c.modes[1].extent, first.extent, first.src_stride, c.modes[1].src_stride};
  }
  return {1, first.extent, 1, 0, first.src_stride};
}

int units_of_word(const Canonical& c) { return c.dst_unit < 4 ? 4 / c.dst_unit : 1; }

/// Fills the tables by phase; true when every word's bytes lie within 8 of src.
bool fill_phases(const Canonical& c, const Row& row, PixelsArgs& a) {
  const int units = units_of_word(c);
  bool window = c.dst_unit < 4;
  for (std::int64_t phase = 0; phase < row.pixel; ++phase) {
    const auto at = static_cast<std::size_t>(phase);
    std::int64_t low = 0, high = 0;
    for (int j = 0; j < units; ++j) {
      const std::int64_t unit = phase + j;
      const std::int64_t offset = unit % row.pixel * row.inside + unit / row.pixel * row.step;
      a.offset[at][j] = narrowed<std::int32_t>(offset);
      low = j == 0 ? offset : std::min(low, offset);
      high = j == 0 ? offset : std::max(high, offset);
    }
    a.low[at] = static_cast<std::int32_t>(low);
    if (high - low + c.dst_unit > 8) {
      window = false;
      continue;
    }
    unsigned select = 0;
    for (int byte = 0; byte < 4 && units > 1; ++byte) {
      const std::int64_t from = a.offset[at][byte / c.dst_unit] - low + byte % c.dst_unit;
      select |= static_cast<unsigned>(from) << (4 * byte);
    }
    a.select[at] = static_cast<std::uint16_t>(select);
  }
  return window;
}

/// Words of a row, wherever it starts.
std::int64_t words_of(const Canonical& c, const Row& row) {
  const std::int64_t units = units_of_word(c), aligned = row_alignment(c, row.mask) / c.dst_unit;
  return rows_words(row.units, static_cast<int>(units), static_cast<int>(aligned >= units ? 0 : units - aligned));
}

/// A block: its threads make up whole pixels whose steps in src are whole words, and as few idle ones as can be.
struct Block {
  std::int64_t threads = 0, steps = 1, chunks = 0;
};
Block block_of(const Canonical& c, const Row& row) {
  constexpr std::int64_t kMostThreads = kMostPixelsThreads;
  const std::int64_t units = units_of_word(c), words = words_of(c, row);
  std::int64_t quantum = row.pixel / std::gcd(row.pixel, units);
  while (c.dst_unit < 4 && quantum * units / row.pixel * row.step % 4 != 0) quantum *= 2;
  if (std::lcm(quantum, std::int64_t{32}) <= kMostThreads) quantum = std::lcm(quantum, std::int64_t{32});
  Block best;
  best.threads = std::min(ceil_div(words, quantum), kMostThreads / quantum) * quantum;
  double least = 0;
  for (const std::int64_t steps : {4, 2, 1}) {
    const std::int64_t chunks = (words + best.threads * steps - 1) / (best.threads * steps);
    const auto cost = static_cast<double>(chunks * (steps + 1));  // finding its pixel takes a thread a step's time
    if (best.chunks != 0 && cost >= least) continue;
    least = cost;
    best.steps = steps;
    best.chunks = chunks;
  }
  return best;
}

/// Sectors of src that one walk over all rows touches.
std::int64_t sectors_read(const Canonical& c, const Row& row) {
  const std::int64_t pixels = c.units / row.pixel;
  const std::int64_t apart = std::abs(row.step);
  const bool spread = std::abs(row.inside) * row.pixel > 32;  // a pixel's units lie in sectors of their own
  const std::int64_t lines = spread ? row.pixel : 1;
  const std::int64_t bytes = spread ? c.src_unit : row.pixel * c.src_unit;
  if (apart <= 32) return std::max<std::int64_t>(pixels * std::max<std::int64_t>(apart, 1) * lines / 32, 1);
  return sectors(pixels * lines, bytes, row.step & -row.step);
}

}  // namespace

void bid_pixels(const Request& request, std::span<Candidate> bids) {
  const Canonical& c = request.c;
  Candidate& bid = bids[0];
  if (c.two_sided) return refuse(bid, "the sides share no modes");
  if (c.cast) return refuse(bid, "pixels are moved, not converted");
  const Row row = row_of(c);
  if (row.mask == 0) return refuse(bid, "dst has no dense mode");
  if (row.mask == 1 && (c.dst_unit >= 4 || std::abs(row.step) == c.src_unit || row.step == 0))
    return refuse(bid, "rows' other kernels move such rows");
  constexpr std::int64_t kMostOffset = std::int64_t{1} << 30;
  if (std::abs(row.step) >= kMostOffset / 4 || std::abs(row.inside) >= kMostOffset / 16)
    return refuse(bid, "pixels lie too far apart");
  std::int64_t rows = 0;
  if (!outer_walk(c, row.mask, nullptr, &rows)) return refuse(bid, "too many rows or outer modes");
  const Block block = block_of(c, row);
  if (too_many(block.chunks, rows)) return refuse(bid, "too many blocks");
  bid.params = {{ParamId::kDstSet, static_cast<std::int64_t>(row.mask)},
                {ParamId::kVectorBytes, std::max(4, c.dst_unit)},
                {ParamId::kThreads, block.threads},
                {ParamId::kStages, block.steps},
                {ParamId::kBlocks, block.chunks * rows}};
  const Costs& costs = *request.machine.costs;
  const auto words = static_cast<double>(block.threads * block.steps);
  const double used = static_cast<double>(row.units) /
                      (static_cast<double>(block.chunks * units_of_word(c)) * (words + costs.pixels_lost_words));
  const bool spread = std::abs(row.inside) * row.pixel > 32;  // a warp's loads then touch many lines
  const double efficiency = (spread ? costs.pixels_spread : costs.pixels_near) * used;
  predict(bid, request.machine, sectors_read(c, row), sectors(rows, row.units * c.dst_unit, row_alignment(c, row.mask)),
          efficiency);
}

void prepare_pixels(const Canonical& c, const Candidate&, CudaArgs& out) {
  const Row row = row_of(c);
  auto& a = out.args.emplace<PixelsArgs>();
  a.window = fill_phases(c, row, a);
  std::int64_t rows = 0;
  outer_walk(c, row.mask, &a.rows, &rows);
  set_sides(a, c);
  a.pixel_step = row.step;
  a.row_units = row.units;
  a.pixel = base::FastDiv(row.pixel);
  const Block block = block_of(c, row);
  a.threads = narrowed<std::int32_t>(block.threads);
  a.steps = narrowed<std::int32_t>(block.steps);
  a.step_pixels = narrowed<std::int32_t>(a.threads * units_of_word(c) / row.pixel);
  a.chunks = base::FastDiv(block.chunks);
  a.blocks = narrowed<std::uint32_t>(block.chunks * rows);
  // A skew starts words up to four pixels earlier; a word is read as three aligned ones.
  const std::int64_t span = (block.steps * a.step_pixels + 4) * row.step;
  const std::int64_t pixel = std::abs(row.inside) * row.pixel + 4 * std::abs(row.step);
  a.reach_first = std::min<std::int64_t>(0, span) - pixel - 16;
  a.reach_last = std::max<std::int64_t>(0, span) + pixel + 16;
}

}  // namespace restride::cuda
