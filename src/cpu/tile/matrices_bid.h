// What the bid of tile asks of its matrices, and their own bids.
#pragma once

#include "src/cpu/bid.h"
#include "src/cpu/sets.h"
#include "src/cpu/tile/sets.h"

namespace restride::cpu {

/// True of matrices that are dense and follow each other, on both sides.
bool one_behind_the_other(const layout::Canonical& c, const TileSets& sets);

/// True where kernels may write matrices past the caches column by column, and were measured.
bool may_stream_matrices(const layout::Canonical& c, const TileSets& sets, const CpuMachine& m);

/// True where the rows of a block push each other out of the first cache, which staged ones do not.
bool rows_meet(const layout::Canonical& c, const TileSets& sets);

/// Of columns of dst, as many as a line has bytes, those that start in one set of the first cache.
std::int64_t columns_in_a_cache_set(const layout::Canonical& c, const TileSets& sets);

/// True where so many push each other out of it.
bool columns_meet(std::int64_t in_a_set);

/// Matrices of one mode of rows and one of columns. in_turn: they are dense and follow each other, where ordinary
/// stores past the caches were measured. in_a_set: columns_in_a_cache_set.
void bid_matrices(const layout::Canonical& c, const TileSets& sets, const CpuMachine& m, bool in_turn,
                  std::int64_t in_a_set, Bid* k);

/// Matrices in the caches where a tile would hold several modes of a side.
void bid_parted_matrices(const layout::Canonical& c, const TileSets& sets, const CpuMachine& m, Bid* k);

/// True of records past the caches whose columns are short and follow each other in dst, so that ordinary stores finish
/// its lines one after the other; where that was measured.
bool leave_in_turn(const layout::Canonical& r, const TileSets& sets, const CpuMachine& m);

/// Matrices of records. stays: dst stays in the caches.
void bid_record_matrices(const layout::Canonical& r, const TileSets& sets, const CpuMachine& m, bool stays, Bid* k);

}  // namespace restride::cpu
