// What the kernels of tile are given.
#pragma once

#include "src/cpu/args.h"

namespace restride::cpu {

/// Where the columns of tile/units go: the values of the parameter `sink`, which follows from the strides in dst. Plans
/// of `copy` promise no alignment, so each call looks at the address of dst: kLines becomes kCarried if dst does not
/// start on a line, and both become kCaches if dst is not aligned to its elements and permutes of two vectors would
/// join the ends of columns.
enum class Sink : std::uint8_t {
  kCaches,   ///< by ordinary stores
  kLines,    ///< past the caches: every column starts on a line
  kCarried,  ///< past the caches: the end of a column that is no whole line waits for the next tile
};

/// Where tile/units and tile/records read rows: the values of the parameter `source`.
enum class Source : std::uint8_t { kStaged, kInPlace };

/// How tile/records makes columns: the values of the parameter `record_way`.
enum class RecordWay : std::uint8_t {
  kBuffered,  ///< in a buffer
  kTriples,   ///< of three parts, in registers (triples-inl.h)
  kMerged,    ///< of 5 to 32 bytes, in registers (merged-inl.h)
};

struct TileArgs : CommonArgs {
  KernelCode<TileArgs> kernel = nullptr;
  Nest nest;              ///< modes outside both sets
  Nest row_set;           ///< dense in dst
  Nest col_set;           ///< dense in src
  std::int64_t rows = 0;  ///< points of row_set
  std::int64_t cols = 0;  ///< points of col_set
  std::int64_t tile_rows = 0;
  std::int64_t tile_cols = 0;
  std::int64_t band_cols = 0;
  std::int64_t chunk_rows = 0;
  Sink sink = Sink::kCaches;
  Source source = Source::kStaged;
  bool late = false;          ///< every other column leaves one line late (late_lines-inl.h)
  bool side_by_side = false;  ///< rows of whole tiles are prefetched a line of several at a time
  bool odd_ahead = false;     ///< odd rows are prefetched a tile further ahead
  RecordShape record;         ///< tile/records
};

/// Of tile/matrices: a task is a matrix, or a band of its columns.
struct MatrixArgs : CommonArgs {
  KernelCode<MatrixArgs> kernel = nullptr;
  Nest nest;  ///< matrices; the bands first, where there are any
  std::int64_t rows = 0;
  std::int64_t cols = 0;            ///< of a band
  std::int64_t last_cols = 0;       ///< of the last band; 0: there are no bands
  bool down_columns = false;        ///< a band comes before the next one, else a row of all that a task has
  std::int64_t row_src_stride = 0;  ///< from row to row in src
  std::int64_t col_dst_stride = 0;  ///< from column to column in dst
  RecordShape record;               ///< where units are records
  std::int64_t blocks_down = 1;     ///< of records that follow each other down the columns before those beside them
};

}  // namespace restride::cpu
