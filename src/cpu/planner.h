// The CPU planner: families bid for a canonical copy; the cheapest bid wins. Deterministic, allocates nothing.
#pragma once

#include <string_view>

#include "src/layout/canonical.h"
#include "src/plan/decision.h"

namespace restride::cpu {

using plan::Candidate;
using plan::Decision;
using plan::Family;
using plan::Param;
using plan::ParamId;
using plan::Params;
using plan::Prediction;
using plan::Traffic;

/// What the cost model knows of a CPU. The defaults describe a current server core; predictions are for
/// choosing among families, so only their ratios matter.
struct CpuMachine {
  std::int64_t line_bytes = 64;
  std::int64_t l2_bytes = 1 << 20;
  double stream_bytes_per_ns = 16.0;     ///< read + written, one thread, non-temporal stores
  double line_ns = 4.0;                  ///< a line that is touched in part, or out of order
  double shuffle_line_ns = 3.0;          ///< a line through the in-register transpose
  double pick_unit_ns = 0.25;            ///< a 4-byte unit picked by a vector gather
  std::int64_t least_shuffled_unit = 1;  ///< bytes of the least unit that a permute of two vectors takes
  /// A cycle of cpu_packed.h, as far as memory does not hide it. 0: not timed, so packed has flat prices.
  double packed_cycle_ns = 0;
  double record_ns = 0.15;  ///< a record of a row, several to a shuffle
  double row_ns = 6.0;      ///< starting a row or a run
  double unit_ns = 0.6;     ///< address arithmetic, load and store of one unit moved by itself
  /// Outputs from here on bypass the caches: with a source of their size they fill the second.
  std::int64_t stream_from_bytes = 768 << 10;
  /// Copies past the caches ask for all that they read, just before its turn; else most is left to the prefetcher.
  bool near = false;
  std::int64_t tile_read_bytes = 256;  ///< of a row of src that a tile holds
  double ragged_column_ns = 20;        ///< a tile's column that ends inside a line
  double on_lines_start = 1;           ///< of what tiles' starts take, where rows and columns are whole lines
  std::int64_t tile_least_rows = 1;    ///< rows of a tile, so that what is asked for is enough for memory's latency
};

/// A processor whose prefetcher follows few places at a time, and drops what is not asked for: AMD's. Measured on Zen 5
/// (bench/results/cpu-epyc-*); on a Xeon `near` halves the speed of rows and transposes.
inline constexpr CpuMachine kAmdMachine = {.pick_unit_ns = 0.4,
                                           .packed_cycle_ns = 0.5,
                                           .near = true,
                                           .tile_read_bytes = 512,
                                           .ragged_column_ns = 60,
                                           .on_lines_start = 0.2,
                                           .tile_least_rows = 32};

/// Errors: ArgumentError when `forced` names no family, or one that does not apply (with its reason).
Decision plan_cpu(const layout::Canonical& c, const CpuMachine& machine, std::string_view forced = {});

/// Bytes of data below which another thread costs more than it brings.
inline constexpr std::int64_t kBytesPerThread = 256 << 10;

}  // namespace restride::cpu
