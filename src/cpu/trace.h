// What the CPU's kernels do, told by their arguments and by the functions that tell them their blocks: for drawings and
// tests. Compiled into restride_trace, not into the library.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "src/cpu/families.h"
#include "src/plan/trace.h"

namespace restride::cpu {

/// Piece number `piece` of a prepared copy of `c`: a tile, a block, or some tasks that follow each other. A piece that
/// the copy lacks counts as its last. Accesses are runs of bytes, as long as they lie side by side; a thread is the
/// number of a run of src, so that what was read together is seen to be together. The prefetched lines are those of
/// a thread that moves all pieces.
plan::Trace trace(const CpuArgs& args, const layout::Canonical& c, std::int64_t piece);

// What a family tells its pieces on (<family>/trace.cc). `t` has the units' sizes and the piece that is asked for;
// `dst` and `src` are the canonical bases, shifted.
struct TraceBase {
  plan::Trace& t;
  std::int64_t dst = 0, src = 0;

  void set_pieces(std::int64_t pieces) const {
    t.pieces = t.blocks = pieces;
    if (t.piece >= pieces) t.piece = pieces - 1;
  }
  /// The line that byte `at` of src is in is prefetched.
  void prefetch(std::int64_t at) const;
  /// Runs of the tiles that begin at `tiles`, in the order of RunPrefetcher.
  void prefetch_runs(const std::vector<std::int64_t>& tiles, const std::int64_t* offsets, std::int64_t runs,
                     std::int64_t run_bytes, bool near) const;
};

// A family's trace.cc has one for its arguments.
#define RESTRIDE_X(family, name, bid, prepare, ...)                                                                    \
  void trace_kernel(                                                                                                   \
      const decltype(prepare(std::declval<const layout::Canonical&>(), std::declval<const plan::Candidate&>(), 1))& a, \
      const TraceBase& on);
RESTRIDE_CPU_KERNELS(RESTRIDE_X)
#undef RESTRIDE_X

/// Bytes of the vectors by which kernels store dense bytes, in the instruction set that this machine runs them with.
std::int32_t store_vector_bytes() noexcept;
/// "into the first cache": where prefetch_line puts a line.
inline const char* cache_of(bool near) { return near ? "into the first cache" : "into the second cache"; }

}  // namespace restride::cpu
