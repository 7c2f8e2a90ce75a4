// Which modes a block of the family buffered holds.
#pragma once

#include "src/cpu/sets.h"

namespace restride::cpu {

/// Limits of a block: its bytes in dst; points of its rows, columns, other modes, and runs on either side; modes.
inline constexpr std::int64_t kBufferedBytes = 128 << 10;
inline constexpr std::int64_t kBufferedPoints = 2048;
inline constexpr int kBufferedModes = 16;
inline constexpr std::int64_t kBufferedVectorRows = 64;  ///< of the largest vector, of the smallest units

/// The inside of a buffered block: a few dense runs of dst, made of a few dense runs of src. The last mode of either
/// run may be inside in part.
struct BufferedSets {
  detail::FixedVector<std::int64_t, layout::kMaxCopyModes> points;  ///< by mode; 1 is outside
  ModeSet dst_run;                                                  ///< modes 0 .. of dst, innermost first
  ModeSet src_run;                                                  ///< innermost in src first
  ModeSet rows;                                                     ///< the first modes of dst_run, up to one of cols
  ModeSet cols;                                                     ///< the first modes of src_run, without mode 0
  std::int64_t units = 1;                                           ///< of a block
};

/// Sets whose runs reach these bytes on each side where the modes and the limits allow it; false where dst has no dense
/// mode, src none but dst's own, or a limit is passed, that of a block's bytes among them.
bool buffered_sets(const layout::Canonical& c, std::int64_t dst_run_bytes, std::int64_t src_run_bytes,
                   BufferedSets* out, std::int64_t most_bytes = kBufferedBytes);

/// From column to column in a block where each starts on a line of its own, so that no store of it is split between
/// two; 0 where that does not pay or a limit is passed: columns are whole lines as they are, or short ones.
std::int64_t padded_column_pitch(const layout::Canonical& c, const BufferedSets& sets);

/// How much more blocks of vectors hold than so many rows and columns.
double block_waste(const layout::Canonical& c, std::int64_t rows, std::int64_t cols);

/// ns for the shuffles of a unit, those of its rows and columns that are mere padding included. Rows and columns are
/// chosen by it, so it is the same on every machine.
double buffered_shuffle_ns(const layout::Canonical& c, std::int64_t rows, std::int64_t cols);

/// The mode that goes on where mode m ends, densely in dst or in src; with m < 0 the one that starts a run. -1: none.
int next_in_dst(const layout::Canonical& c, int m);
int next_in_src(const layout::Canonical& c, int m);

}  // namespace restride::cpu
