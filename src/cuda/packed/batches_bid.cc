// The bid of packed/batches on CUDA: tiles of dense blocks, whose modes have another order in dst than in src.
#include <algorithm>
#include <numeric>

#include "src/base/checked.h"
#include "src/cuda/packed/bids.h"
#include "src/cuda/packed/packed.h"

namespace restride::cuda {

using layout::Canonical;
using layout::CopyMode;

namespace {

static_assert(kBatchSector == kSectorBytes);

constexpr std::int64_t kMostMatrices = std::int64_t{1} << 30;  // that follow each other

/// The innermost modes of dst that are one run of bytes there and the same run in src.
struct Matrix {
  std::size_t rank = 0;
  std::int64_t bytes = 0;
};

/// The smallest such block in which modes change places.
Matrix matrix_of(const Canonical& c) {
  std::int64_t dense = c.dst_unit;
  for (std::size_t m = 0; m < std::min<std::size_t>(c.modes.size(), kMaxBatchModes); ++m) {
    if (c.modes[m].dst_stride != dense) break;
    dense *= c.modes[m].extent;
    if (dense > kSizes.batches_most_matrix_bytes) break;
    // src is dense when its strides, in some order, are the products of the extents before them.
    std::uint64_t seen = 0;
    std::int64_t run = c.src_unit;
    for (bool found = true; found && run < dense;) {
      found = false;
      for (std::size_t i = 0; i <= m && !found; ++i)
        if (c.modes[i].src_stride == run && (seen >> i & 1) == 0) {
          found = true;
          seen |= std::uint64_t{1} << i;
          run *= c.modes[i].extent;
        }
    }
    if (run == dense && m > 0) return {m + 1, dense};
  }
  return {};
}

/// The mode along which matrices follow each other in dst, or the number of modes.
std::size_t matrix_mode(const Canonical& c, const Matrix& matrix) {
  return matrix.rank < c.modes.size() && c.modes[matrix.rank].dst_stride == matrix.bytes ? matrix.rank : c.modes.size();
}

/// Walks the modes that are neither the matrix's nor the one along which matrices follow each other.
bool walk_outside(const Canonical& c, const Matrix& matrix, Walk* walk, std::int64_t* count) {
  std::uint64_t inside = (std::uint64_t{1} << matrix.rank) - 1;
  if (const std::size_t along = matrix_mode(c, matrix); along < c.modes.size()) inside |= std::uint64_t{1} << along;
  return outer_walk(c, inside, walk, count);
}

/// Everything of the arguments that does not depend on where tiles are.
BatchArgs shape_of(const Canonical& c, const Matrix& matrix, std::int64_t tile_matrices) {
  BatchArgs a;
  const std::size_t along = matrix_mode(c, matrix);
  const bool follow = along < c.modes.size();
  a.matrices = follow ? narrowed<std::int32_t>(c.modes[along].extent) : 1;
  a.tile_matrices = narrowed<std::int32_t>(tile_matrices);
  a.row_tiles = base::FastDiv(ceil_div(std::int64_t{a.matrices}, tile_matrices));
  a.src_pitch = follow ? c.modes[along].src_stride : 0;
  a.matrix_bytes = narrowed<std::int32_t>(matrix.bytes);
  a.pieces = a.src_pitch == matrix.bytes ? 1 : a.tile_matrices;
  const std::int64_t piece = batch_piece_bytes(a, a.tile_matrices);
  a.piece_words = base::FastDiv(ceil_div(piece + 15, std::int64_t{16}));
  a.piece_pitch = narrowed<std::int32_t>(std::int64_t{a.piece_words.divisor} * 16);
  a.line_units = base::FastDiv(c.modes[0].extent);
  a.unit_step = narrowed<std::int32_t>(c.modes[0].src_stride);
  a.matrix_lines = base::FastDiv(matrix.bytes / c.dst_unit / c.modes[0].extent);
  a.rank = narrowed<std::int32_t>(static_cast<std::int64_t>(matrix.rank) - 1);
  for (std::size_t m = 1; m < matrix.rank; ++m) {
    a.extent[m - 1] = base::FastDiv(c.modes[m].extent);
    a.step[m - 1] = narrowed<std::int32_t>(c.modes[m].src_stride);
    if (m > 1)
      a.again[m - 1] =
          narrowed<std::int32_t>(c.modes[m].src_stride - c.modes[m - 1].extent * c.modes[m - 1].src_stride);
  }
  return a;
}

/// Words of 16 bytes after which places repeat themselves, as many as a block has threads for; 0 where it has too few.
std::int64_t kept_words(const Matrix& matrix, std::int64_t threads) {
  const std::int64_t period = matrix.bytes / std::gcd(matrix.bytes, std::int64_t{16});
  return threads / period * period;
}

/// Cycles of shared memory for 512 bytes of dst, collected by words of so many: of loads from a tile's first words.
double cycles_of(const BatchArgs& a, int unit, int word) {
  constexpr int kLanes = 32, kBanks = 32;
  const int units = word / unit, lanes = unit > 4 ? kLanes / 2 : kLanes;  // that one cycle may serve
  int all = 0, tried = 0;
  for (int u = 0; u < units; u += std::max(units / 2, 1), ++tried) {
    std::int32_t words[kBanks][kLanes];
    int held[kBanks] = {}, most = 0;
    for (int lane = 0; lane < lanes; ++lane) {
      const BatchUnit at = batch_unit(a, lane * units + u);
      const std::int32_t place = (batch_line(a, static_cast<std::uint32_t>(at.line), 0) + at.at * a.unit_step) / 4;
      auto& bank = words[place % kBanks];
      int& count = held[place % kBanks];
      if (std::find(bank, bank + count, place) == bank + count) bank[count++] = place;
      most = std::max(most, count);
    }
    all += most * (kLanes / lanes);
  }
  return 16.0 / unit * all / tried + 16.0 / word * kLaneCosts.batches_look_up + kLaneCosts.batches_rest;
}

/// Matrices of a tile.
std::int64_t tile_matrices(const Canonical& c, const Matrix& matrix) {
  const std::size_t along = matrix_mode(c, matrix);
  if (along == c.modes.size()) return 1;
  const CopyMode& mode = c.modes[along];
  std::int64_t count = std::max<std::int64_t>((kSizes.batches_tile_bytes + matrix.bytes / 2) / matrix.bytes, 1);
  const std::int64_t step = 16 / std::gcd(matrix.bytes, std::int64_t{16});  // matrices that are whole words
  if (count >= step)
    count = count / step * step;
  else if (step * matrix.bytes <= kSizes.batches_most_tile_bytes)
    count = step;
  return count >= mode.extent ? mode.extent : count;
}

}  // namespace

void packed::bid_batches(const Request& request, Candidate& bid) {
  const Canonical& c = request.c;
  const CudaMachine& machine = request.machine;
  if (c.two_sided || c.cast || c.dst_unit > 8) return refuse(bid, "no units of 1 to 8 bytes that are moved");
  if (c.modes.size() < 2) return refuse(bid, "a single mode has no other order");
  const Matrix matrix = matrix_of(c);
  if (matrix.rank == 0) return refuse(bid, "no block that is dense on both sides, or one too large for shared memory");
  if (!units_aligned(c)) return refuse(bid, "a unit that is off its size");
  const std::size_t along = matrix_mode(c, matrix);
  std::int64_t outer = 0;
  if (!walk_outside(c, matrix, nullptr, &outer)) return refuse(bid, "too many outer modes");
  if (along < c.modes.size() && c.modes[along].extent >= kMostMatrices) return refuse(bid, "too many matrices");
  const std::int64_t matrices = tile_matrices(c, matrix);
  const BatchArgs a = shape_of(c, matrix, matrices);
  if (batch_shared(a) > kMostShared) return refuse(bid, "a matrix does not fit shared memory");
  if (too_many(a.row_tiles.divisor, outer)) return refuse(bid, "too many matrices");
  const std::int64_t tile_bytes = matrices * matrix.bytes, tiles = a.row_tiles.divisor * outer;
  const std::int64_t threads = tile_bytes < kSizes.batches_small_tile_bytes ? 128 : kMostBatchThreads;
  const int unit = c.dst_unit, narrow = std::max(unit, 4), turns = batch_turns(a.line_units.divisor, unit, 16);
  if (batch_turns(a.line_units.divisor, unit, narrow) > 1) return refuse(bid, "lines of dst are too short");
  if (c.dst_bytes() < machine.sm_count * kSizes.batches_small_share && !request.forces("packed/batches"))
    return refuse(bid, "too small for such tiles to pay");
  const bool kept =
      unit == 1 && turns > 1 && turns <= kMostBatchTurns && a.pieces == 1 && kept_words(matrix, threads) > 0;
  const cuda::Costs& k = *machine.costs;
  double cycles = cycles_of(a, unit, 16);
  int word = 16;
  if (!kept && (turns > 1 || cycles > k.batches_free))
    if (const double other = cycles_of(a, unit, narrow); turns > 1 || other < cycles) word = narrow, cycles = other;
  bid.params = {{ParamId::kDstSet, static_cast<std::int64_t>((std::uint64_t{1} << matrix.rank) - 1)},
                {ParamId::kTileRows, matrices},
                {ParamId::kThreads, threads},
                {ParamId::kVectorBytes, word},
                {ParamId::kKind, static_cast<std::int64_t>(kept ? BatchKind::kKept : BatchKind::kLines)}};
  const double least = unit >= 4 && cycles <= k.batches_free ? k.batches_wide : 1;
  // Lanes that collect less than 16 bytes find the next line more often, the shorter lines are.
  const double turned = word == 16 || word == unit ? 0 : k.batches_turn * word / (unit * a.line_units.divisor);
  const double time = (least + k.batches_cycle * std::max(0.0, cycles - k.batches_free)) * (1 + turned) *
                      (1 + k.batches_large * static_cast<double>(tile_bytes) / 1e3) *
                      std::max(1.0, k.batches_least_bytes / static_cast<double>(tile_bytes));
  predict(bid, machine, c.src_bytes() / kSectorBytes + tiles * a.pieces, c.dst_bytes() / kSectorBytes + tiles,
          k.batches_full / time);
}

void prepare_batches(const Canonical& c, const Candidate& chosen, CudaArgs& out) {
  const Matrix matrix = matrix_of(c);
  auto& a = out.args.emplace<BatchArgs>(shape_of(c, matrix, chosen.get(ParamId::kTileRows, 1)));
  set_sides(a, c);
  std::int64_t outer = 0;
  walk_outside(c, matrix, &a.batch, &outer);
  a.tiles = narrowed<std::uint32_t>(a.row_tiles.divisor * outer);
  a.threads = narrowed<std::int32_t>(chosen.get(ParamId::kThreads, 128));
  a.word_bytes = narrowed<std::int32_t>(chosen.get(ParamId::kVectorBytes, 16));
  if (static_cast<BatchKind>(chosen.get(ParamId::kKind)) == BatchKind::kKept)
    a.kept_words = narrowed<std::int32_t>(kept_words(matrix, a.threads));
}

}  // namespace restride::cuda
