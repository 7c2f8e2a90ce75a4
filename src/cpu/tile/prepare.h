// A tile's sets and sizes as its kernels want them.
#pragma once

#include "src/cpu/args.h"
#include "src/cpu/sets.h"
#include "src/plan/decision.h"

namespace restride::cpu {

/// Puts the canonical modes of a set into a nest of its own and the others into the outer nest.
void split_modes(const layout::Canonical& c, const TileSets& sets, CpuArgs* a);

/// Fills in a tile's sizes as the plan says, and the tasks; false when no kernel could run with them.
bool take_tile(const plan::Candidate& k, const TileSets& sets, std::int64_t max_column_bytes, std::int64_t block_cols,
               CpuArgs* a);

/// Where tasks are fewer than `threads`, chunks of rows are cut, but not so short that their ends, lines written in
/// part, count for more than another thread brings.
void share_tiles(int threads, CpuArgs* a);

/// Matrices that are moved directly are a task each. Where they are few and large, each is cut into bands of columns,
/// so that threads share even one.
void share_matrices(CpuArgs* a);

}  // namespace restride::cpu
