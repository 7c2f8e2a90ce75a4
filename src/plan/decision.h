// A decision as data: what kernels bid, which won, with which parameters, and why some do not apply.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <restride/copy.hpp>
#include <restride/detail/fixed_vector.hpp>

namespace restride::plan {

// X(enumerator, name): one name everywhere: registry, map, kernel file, test, bench, docs, explain.
#define RESTRIDE_FAMILIES(X) \
  X(kNoop, "noop")           \
  X(kRun, "run")             \
  X(kRows, "rows")           \
  X(kTile, "tile")           \
  X(kPacked, "packed")       \
  X(kBuffered, "buffered")   \
  X(kChannels, "channels")   \
  X(kGather, "gather")

enum class Family : std::uint8_t {
#define RESTRIDE_X(e, n) e,
  RESTRIDE_FAMILIES(RESTRIDE_X)
#undef RESTRIDE_X
};

inline constexpr int kFamilyCount = 0
#define RESTRIDE_X(e, n) +1
    RESTRIDE_FAMILIES(RESTRIDE_X)
#undef RESTRIDE_X
    ;

constexpr std::string_view name(Family f) noexcept {
  constexpr std::string_view kNames[] = {
#define RESTRIDE_X(e, n) n,
      RESTRIDE_FAMILIES(RESTRIDE_X)
#undef RESTRIDE_X
  };
  return kNames[static_cast<int>(f)];
}

/// The families that a caller may ask for: all but noop, which is what a copy of nothing is planned as.
constexpr bool may_be_forced(Family f) noexcept { return f != Family::kNoop; }

/// Names of families in words, for messages and help: "run, rows, ...", those that `wanted` is true of.
template <class Wanted>
std::string family_list(Wanted wanted) {
  std::string out;
  for (int i = 0; i < kFamilyCount; ++i) {
    const auto f = static_cast<Family>(i);
    if (!wanted(f)) continue;
    if (!out.empty()) out += ", ";
    out += name(f);
  }
  return out;
}
/// Of all that may be asked for, on one device or another.
inline std::string family_list() { return family_list(may_be_forced); }

// X(enumerator, name): every parameter a family may choose, on any device. Sizes carry their unit.
#define RESTRIDE_PARAMS(X)                                                                                             \
  X(kRowMode, "row_mode")             /* canonical mode that is fast in dst inside the tile; -1: none is cut */        \
  X(kColMode, "col_mode")             /* the same in src */                                                            \
  X(kTileRows, "tile_rows")           /* units of row_mode a tile holds */                                             \
  X(kTileCols, "tile_cols")           /* units of col_mode a tile holds */                                             \
  X(kRecordBytes, "record_bytes")     /* CPU: units are runs of this many bytes; absent: canonical units */            \
  X(kBandCols, "band_cols")           /* CPU: columns walked across before the next rows */                            \
  X(kRunBytes, "run_bytes")           /* CPU: dense bytes of dst that a packed tile or a buffered block aims for */    \
  X(kReadBytes, "read_bytes")         /* CPU: the same of src */                                                       \
  X(kWriteBytes, "write_bytes")       /* buffered: bytes of a block that leave at a time */                            \
  X(kPadded, "padded")                /* buffered: 1 where each column of a block starts on a line of its own */       \
  X(kSrcSet, "src_set")               /* bit mask: modes inside a tile for the source's sake */                        \
  X(kDstSet, "dst_set")               /* bit mask: modes inside a tile for the destination's sake */                   \
  X(kVectorBytes, "vector_bytes")     /* bytes one load or store moves */                                              \
  X(kStages, "stages")                /* tiles in flight per block or thread */                                        \
  X(kOrder, "order")                  /* tiles (CPU: rows) follow 0: dst's rows, 1: outer modes near dst, 2: src's */  \
  X(kStream, "stream")                /* CPU: 1 when stores bypass the caches */                                       \
  X(kNear, "near")                    /* CPU: 1 where src is prefetched into the first cache, a few KiB ahead */       \
  X(kLoop, "loop")                    /* CPU rows/units, run/pieces: cpu::RowLoop (src/cpu/rows/args.h) */             \
  X(kSink, "sink")                    /* CPU tile: columns leave by cpu::Sink (src/cpu/tile/args.h) */                 \
  X(kSource, "source")                /* CPU tile: rows are 0: staged, 1: read in place */                             \
  X(kLate, "late")                    /* CPU tile/units: 1 where every other column leaves one line late */            \
  X(kSideBySide, "side_by_side")      /* CPU tile: 1 where rows are prefetched a line of eight at a time */            \
  X(kOddAhead, "odd_ahead")           /* CPU tile: 1 where odd rows are prefetched a tile further ahead */             \
  X(kAhead, "ahead")                  /* CPU rows/records: 1 where src is prefetched, 0: left to the core */           \
  X(kRecordWay, "record_way")         /* CPU tile/records: columns are made by cpu::RecordWay (src/cpu/tile/args.h) */ \
  X(kWay, "way")                      /* CPU packed: cpu::PackedWay (src/cpu/packed/args.h); 0: tile by tile */        \
  X(kKind, "kind")                    /* CUDA: RowsKind, UnalignedKind, PackedKind, BatchKind (the families' maps) */  \
  X(kThreads, "threads")              /* CUDA: threads a block */                                                      \
  X(kBlocks, "blocks")                /* CUDA: blocks launched */                                                      \
  X(kIndexBits, "index_bits")         /* CUDA: 32 where every offset provably fits, else 64 */                         \
  X(kKeep, "keep")                    /* CUDA: 1 where L2 is asked to give up words of src last */                     \
  X(kBoundaryBytes, "boundary_bytes") /* CUDA: tile edges keep to such addresses of dst; 0: rows lie on words */       \
  X(kBlockUnits, "block_units")       /* units one task moves; tile: rows of one */

enum class ParamId : std::uint8_t {
#define RESTRIDE_X(e, n) e,
  RESTRIDE_PARAMS(RESTRIDE_X)
#undef RESTRIDE_X
};

constexpr std::string_view name(ParamId p) noexcept {
  constexpr std::string_view kNames[] = {
#define RESTRIDE_X(e, n) n,
      RESTRIDE_PARAMS(RESTRIDE_X)
#undef RESTRIDE_X
  };
  return kNames[static_cast<int>(p)];
}

inline constexpr int kParamCount = 0
#define RESTRIDE_X(e, n) +1
    RESTRIDE_PARAMS(RESTRIDE_X)
#undef RESTRIDE_X
    ;

struct Param {
  ParamId id{};
  std::int64_t value = 0;
  friend bool operator==(const Param&, const Param&) = default;
};
using Params = detail::FixedVector<Param, 12>;

/// What a copy touches. Sectors are the memory's smallest transfer: 64-byte lines on the CPU, 32-byte sectors on a GPU.
struct Traffic {
  std::int64_t read_bytes = 0;       ///< of elements; those that a broadcast repeats count once
  std::int64_t written_bytes = 0;    ///< of elements
  std::int64_t read_sectors = 0;     ///< touched; again where the caches lose them in between
  std::int64_t written_sectors = 0;  ///< touched
};

/// What a candidate is expected to cost. Its time is that of its parts; what they leave of it goes into moving the
/// units: shuffles, address arithmetic, conversions.
struct Prediction : Traffic {
  double time_ns = 0;
  double sectors_ns = 0;  ///< of the sectors that come and go, in the order that they do
  double starts_ns = 0;   ///< of the beginnings and ends of rows, runs and tiles
};

/// What a kernel is called: a row of an engine's registry (cpu/families.h, cuda/kernels.h).
struct KernelName {
  Family family = Family::kNoop;
  std::string_view text = "noop";  ///< family/kernel: "tile/aligned". Static text.
  friend bool operator==(const KernelName&, const KernelName&) = default;
};

/// One kernel's offer, or its refusal.
struct Candidate {
  Candidate() noexcept {}  // a defaulted one would clear the room for parameters first

  KernelName kernel;
  bool applies = false;
  Params params;
  Prediction predicted;
  double measured_ns = 0;   ///< 0: not measured
  std::string_view reason;  ///< static text: why it does not apply; after measuring, why it lost or won

  std::int64_t get(ParamId id, std::int64_t fallback = 0) const noexcept {
    for (const Param& p : params)
      if (p.id == id) return p.value;
    return fallback;
  }
};

/// An engine has so many kernels at most.
inline constexpr std::size_t kMostKernels = 24;

/// The outcome of planning: printable, comparable, serialisable.
struct Decision {
  DeviceKind device = DeviceKind::kCpu;
  std::string_view costs;  ///< the machine by whose numbers kernels bid; lives as long as the process
  Candidate chosen;
  detail::FixedVector<Candidate, kMostKernels> others;  ///< best first, refusals last
};

}  // namespace restride::plan
