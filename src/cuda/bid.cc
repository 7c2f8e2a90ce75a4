#include "src/cuda/bid.h"

#include <algorithm>

#include "src/base/checked.h"
#include "src/base/saturated.h"

namespace restride::cuda {

using layout::Canonical;
using layout::CopyMode;

ByteRange source_range(const Canonical& c) {
  ByteRange range{c.src_offset, c.src_offset + c.src_unit};
  for (const CopyMode& m : c.modes) {
    const std::int64_t reach = (m.extent - 1) * m.src_stride;
    (reach < 0 ? range.first : range.last) += reach;
  }
  return range;
}

bool units_aligned(const Canonical& c) {
  if (c.dst_align < c.dst_unit || c.src_align < c.src_unit) return false;
  for (const CopyMode& m : c.modes)
    if (m.dst_stride % c.dst_unit != 0 || m.src_stride % c.src_unit != 0) return false;
  return true;
}

bool moves_or_converts(const Canonical& c) { return !c.cast || has_cast_sizes(c.dst_unit, c.src_unit); }

std::int64_t row_alignment(const Canonical& c, std::uint64_t inside) {
  std::int64_t bits = c.dst_align | 128;
  for (std::size_t i = 0; i < c.modes.size(); ++i)
    if (i >= 64 || (inside >> i & 1) == 0) bits |= c.modes[i].dst_stride;
  return bits & -bits;
}

std::int64_t src_row_alignment(const Canonical& c, std::size_t s) {
  std::int64_t bits = c.src_align >= 128 ? 256 : c.src_align;
  for (std::size_t i = 0; i < c.modes.size(); ++i)
    if (i != s) bits |= c.modes[i].src_stride;
  if (c.modes[s].src_stride < 0) bits |= (c.modes[s].extent - 1) * c.modes[s].src_stride;
  return bits & -bits;
}

bool outer_walk(const Canonical& c, std::uint64_t inside, Walk* walk, std::int64_t* count) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;
  *count = 1;
  int rank = 0;
  for (std::size_t i = 0; i < c.modes.size(); ++i) {
    if (i < 64 && (inside >> i & 1) != 0) continue;
    const CopyMode& m = c.modes[i];
    if (rank == kMaxWalk || m.extent >= kLimit || (m.extent + 1) * *count > kLimit) return false;
    if (walk != nullptr) {
      walk->extent[rank] = base::FastDiv(m.extent);
      walk->dst_stride[rank] = m.dst_stride;
      walk->src_stride[rank] = m.src_stride;
      walk->rank = rank + 1;
    }
    ++rank;
    *count *= m.extent;
  }
  return true;
}

TileOrder order_of_tiles(std::int64_t tiles_d, std::int64_t tiles_s, std::int64_t most_apart) {
  return tiles_d > most_apart && tiles_s < tiles_d ? TileOrder::kSrc : TileOrder::kDst;
}

std::int64_t sectors(std::int64_t runs, std::int64_t bytes, std::int64_t alignment) {
  // A run that starts anywhere touches, on average, (bytes - 1) / 32 + 1 sectors.
  return alignment % kSectorBytes == 0 ? saturated_mul(runs, (bytes - 1) / kSectorBytes + 1)
                                       : saturated_mul(runs, bytes - 1) / kSectorBytes + runs;
}

double used_by(std::int64_t extent, std::int64_t tile) {
  return static_cast<double>(extent) / static_cast<double>(ceil_div(extent, tile) * tile);
}

void predict(Candidate& bid, const CudaMachine& machine, std::int64_t read_sectors, std::int64_t written_sectors,
             double efficiency) {
  constexpr double kLeast = 1e-9;  // whatever a file says of the machine
  efficiency = std::max(efficiency, kLeast);
  bid.applies = true;
  const double sectors = static_cast<double>(read_sectors) + static_cast<double>(written_sectors);
  bid.predicted.time_ns = machine.costs->launch_ns + 32.0 * sectors / (machine.copy_bytes_per_ns * efficiency);
  bid.predicted.sectors_ns = 32.0 * sectors / machine.copy_bytes_per_ns;
}

}  // namespace restride::cuda
