// Which modes a block of the family buffered holds.
#pragma once

#include "src/plan/cpu_sets.h"

namespace restride::plan {

/// The inside of a buffered block: modes 0 .. last of a dense dst, the last of them perhaps in part.
struct BufferedSets {
  ModeSet rows;    ///< modes 0 .. of dst, up to the first of cols
  ModeSet cols;    ///< dense in src; has mode `last`
  ModeSet others;  ///< those between that are not in cols
  std::size_t last = 0;
  std::int64_t points = 1;  ///< of mode `last` in a block
  std::int64_t units = 1;   ///< of a block
};

inline constexpr std::int64_t kBufferedBytes = 24 << 10;

/// Sets whose block is one run of dst of at most `max_bytes`; false where the source's fast mode does not join dst's
/// dense modes, or so far out that nothing of it fits. The columns grow to about a line and a half of source.
bool buffered_sets(const layout::Canonical& c, std::int64_t max_bytes, BufferedSets* out);

}  // namespace restride::plan
