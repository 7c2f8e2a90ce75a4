// What the cost model knows of a CPU: every number that a bid's time is made of. A time only chooses among kernels, so
// only the ratios of these numbers matter.
//
// Where they come from. The defaults: Xeons (Sapphire Rapids, then Emerald Rapids, whose core is the same) with 4 KiB
// pages, bench/results/cpu-xeon-*; what they say of processors without permutes of bytes was not measured there.
// kZen5Machine: Zen 5 (EPYC), one thread, bench/results/cpu-epyc-avx512.json; kZen4Machine as said there. A number that
// neither kAmdMachine nor kZen5Machine names was fitted on a Xeon and holds on both.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/plan/numbers.h"

namespace restride::cpu {

inline constexpr std::int64_t kLineBytes = 64;  ///< of a cache line, on every machine below
inline constexpr std::int64_t kPageBytes = 4096;
inline constexpr std::int64_t kLeastVectorBytes = 16;  ///< of the shortest vector that blocks are transposed by
inline constexpr std::int64_t kWidestUnitBytes = 16;   ///< of the widest unit of a copy

struct CpuMachine {
  std::string_view name = "Intel Sapphire Rapids (Xeon)";

  // Memory.
  std::int64_t line_bytes = kLineBytes;
  std::int64_t first_cache_bytes = 32 << 10;
  std::int64_t l2_bytes = 1 << 20;
  double stream_bytes_per_ns = 16.0;  ///< read + written, one thread, non-temporal stores
  /// No smaller output bypasses the caches: with a source of its size it fills the second.
  std::int64_t stream_from_bytes = 768 << 10;
  /// Outputs that are written run by run stay in the caches up to this share of what a thread may use of the last one;
  /// those written column by column, too, where there are no permutes of two vectors. (With such permutes: Zen 5, 16
  /// MiB a thread, 4 KiB pages, one thread, the same memory again and then read: boxes, runs, heads, images into planes
  /// and permutations of up to 4 MB take 1.1 to 1.4 times as long past the caches, from 16 MB on 0.7 to 0.9; memory
  /// that was in no cache 0.6 to 0.9 at any size. Transposes take 0.9 to 1 past them.)
  double stream_share = 0.25;
  /// tile/matrices stays in the caches as far as runs do, permutes of two vectors or not. (One thread, transposes of
  /// 0.8 to 4 MB, ns a line, and with dst read behind it. Zen 4, memory in the caches: 3.7 and 5.4 past them, 2.1
  /// and 2.8 in them; memory that was in no cache: 5.3 and 7.3, 11.1 and 11.8. A Xeon with a second cache of 2 MiB,
  /// memory in the caches: from 1.6 MB on 6.0 and 10.1, 8.1 and 10.1. By later
  /// kernels memory in a Xeon's caches gains, 1.1 to 1.6, and matrices in no cache lose, 0.5 to 0.8: tile/README.md.)
  bool columns_stay = true;
  std::int64_t thread_cache_bytes = 3 << 20;
  /// How much longer copies in the caches take where more than 8, or more than 16, of the lines that are under way are
  /// in one set of the first one: columns of buffered/blocks, units of rows/units and gather/units. (Zen 5, one thread,
  /// 2,500 permutations, by what they take beside what is predicted for the others: 1.4 and 2.0, 1.3 and 1.9, 1.5 and
  /// 2.5.)
  double some_lines_meet = 1.4;
  double lines_meet = 2.2;
  /// Factors of what kernels take that transpose blocks of vectors, where dst fits the second cache: units of 1 and 2
  /// bytes, and wider ones. They are 1 on a Zen 4, where InCaches was fitted. (Zen 5, one thread, 4,800 random
  /// permutations of 16 KB to 1 MB: the chosen kernel takes longer than the fastest one by 2.5 % with 1 and 1, by 1.7 %
  /// with 0.92 and 0.75. Larger copies lose as often as they gain: 2 MiB of ttc57_32 0.58 -> 0.75 of a copy, of
  /// ttc57_55 0.47 -> 0.26.)
  double cached_small_blocks = 1;
  double cached_blocks = 1;
  /// Copies past the caches prefetch all that they read, just before its turn; else most is left to the prefetcher. On
  /// a Xeon it halves the speed of rows and transposes.
  bool near = false;
  /// With `near`, blocks of buffered, and tiles of packed that are more than one run of src, are prefetched into the
  /// second cache all the same. (Zen 4, one thread and two, random layouts, time into the second cache over time
  /// into the first: blocks 0.89 and 0.88, whatever the length of their runs, tiles of several runs 0.88 and 0.86, of
  /// one run 1.08.)
  bool near_one_run = false;
  /// The same for tiles. A first cache of 32 KiB has no room for the next tile beside the one that is worked on.
  bool tile_near = false;
  /// With `near`: bytes in src from which rows of records that go down there are prefetched into the second cache, and
  /// written in dst's order; 0: none are. With it, shorter rows are written in dst's order, too, where they are no
  /// whole lines. (Measured on a Zen 4; src/cpu/rows/README.md.)
  std::int64_t rows_down_far_bytes = 0;
  /// Records that go upwards are not prefetched if their cells in src are powers of two, or have little gaps in dst:
  /// the core's own prefetcher is faster. (Measured on a Zen 4; src/cpu/rows/README.md.)
  bool records_left_alone = false;
  /// Without tile_near: bytes of the least unit whose rows are read in place, a line of each row in turn, and
  /// prefetched in this order; more than any where rows are staged. (Zen 4, one thread, f32 of the TTC benchmark: 0.64
  /// of a copy with tile_near, 0.70 staged, 0.87 in place; in huge pages 0.49, 0.68, 0.69. Odd matrices of halves
  /// 0.44 -> 0.50.) Smaller units only where rows spread over the first cache: bytes 4 KiB apart 0.51 -> 0.31.
  /// (Emerald Rapids, one thread, 50 matrices and 50 permutations of 40 to 90 MB: staged 1, in place without late lines
  /// 1.11 and 1.06; with 512 bytes of a row, not 256, 1.13 and 1.07. With two threads 1.14 and 1.07.)
  std::int64_t tile_least_in_place_bytes = 1;
  /// Without tile_near: the next tile is prefetched by two lines of each row in turn, where rows are staged, too. (Zen
  /// 4, one thread, 64 MB: aligned bytes 0.55 -> 0.68 of a copy, aligned halves 0.65 -> 0.73, casts 0.52 -> 0.57. A
  /// Xeon: tile/README.md.)
  bool tile_side_by_side = true;
  /// Columns of bytes and halves an even number of lines apart leave every other one a line late
  /// (tile/late_lines-inl.h). Else only where a tile does not have two lines of a column, which leave in turn. (Zen 4,
  /// one thread, with 128 rows of bytes: aligned bytes 0.43 -> 0.51 of a copy, odd ones 0.34 -> 0.42, aligned halves
  /// 0.52 -> 0.64. A Xeon: tile/README.md.)
  bool tile_late = false;

  // Units.
  double shuffle_line_ns = 3.0;          ///< a line through the in-register transpose
  double pick_unit_ns = 0.175;           ///< a 4-byte unit picked by a vector gather
  std::int64_t least_shuffled_unit = 1;  ///< bytes of the least unit that a permute of two vectors takes
  double unit_ns = 0.6;                  ///< address arithmetic, load and store of one unit moved by itself
  double row_ns = 6.0;                   ///< starting a row or a run
  /// What row_ns is multiplied by past the caches, for all but channels. (Emerald Rapids, 777 random layouts of 40 to
  /// 80 MB, one thread and two: with this, pick_unit_ns and the next five that were fitted to them,
  /// tile_ragged_column_ns, tile_line_ns, packed_pages, packed_many_runs and packed_large_plane_line_ns, the chosen
  /// kernel takes 1.026 of the fastest one's time, before 1.040.)
  double streamed_rows = 2;

  /// Conversions: of a unit by itself, a call for a piece of a row, and for less than a vector. (Zen 4, f64 to bytes,
  /// four columns: 34 ns; f32 to bf16, 40 columns: 8 ns.)
  double cast_unit_ns = 3;
  double cast_call_ns = 6;
  double cast_short_call_ns = 30;

  // rows
  double rows_repeated_byte_ns = 0.01;  ///< of units that a broadcast repeats
  double rows_reversed_byte_ns = 0.05;  ///< of units that src walks downwards
  double rows_record_ns = 0.15;         ///< a record of a row, several to a shuffle
  double rows_record_row_rows = 2;      ///< a row of records starts like so many rows of units
  double rows_cached_row_rows = 0.12;   ///< a row that is copied in the caches starts like so many rows

  // tile
  std::int64_t tile_read_bytes = 512;    ///< of a row of src that a tile holds
  std::int64_t tile_least_rows = 1;      ///< rows of a tile, so that what is prefetched is enough for memory's latency
  std::int64_t tile_column_bytes = 128;  ///< of dst that a column of a tile has at least
  std::int64_t tile_byte_rows = 64;      ///< rows of a tile of bytes
  /// Of dst that a column of merged records has at least. (Zen 4, one thread, 12 bytes: columns of 384 bytes 0.54 of a
  /// copy, of 768 0.59. Emerald Rapids, one thread, rows whole pages apart: 5 bytes, 320 bytes 0.65, 640 0.47; 12
  /// bytes, 384 0.75, 768 0.69.)
  std::int64_t tile_merged_column_bytes = 320;
  std::int64_t tile_band_columns = 1024;  ///< that are walked across before the next rows, at most; their pages count
  double tile_row_ns = 4;                 ///< staging a row of a tile
  double tile_column_ns = 4;              ///< starting a column of a tile
  double tile_task_ns = 100;              ///< starting a band
  double tile_on_lines_start = 1;         ///< of what the three take, where rows and columns are whole lines
  /// ... and columns have so many bytes at least. (Zen 5, one thread, registers of qubits: columns of one line took up
  /// to 2.8 times the fastest kernel's time.)
  std::int64_t tile_on_lines_column_bytes = 0;
  double tile_wide_off_lines = 1;     ///< of units of 8 and 16 bytes, what lines take where columns start inside them
  double tile_ragged_column_ns = 28;  ///< a column that ends inside a line
  double tile_line_ns = 0.42;         ///< a line of dst, beside its shuffles
  double tile_record_line_ns = 1;     ///< the same, of records
  /// tile/matrices past the caches, by ordinary stores: what lines take, and how much more for each KiB of a matrix; 0:
  /// it does not bid. (Zen 4, batches of 128 MiB, one thread, before -> now: 7 x 9 f32 0.57 -> 0.82 of a copy, 12 x 31
  /// 0.61 -> 0.82, 24 x 24 0.59 -> 0.72; of 31 x 65 bytes 0.50 -> 0.83. Two threads and huge pages gain as much.)
  double tile_matrix_lines = 0;
  double tile_matrix_kib_lines = 0;
  /// The same past them, column by column, and what a column takes more; for vectors of 64 bytes. (Before / after: Zen
  /// 4, 20 batches of 0.5 to 200 KB, one thread 1.15, two 1.17, one in huge pages 1.35; Xeon, 15 of them with columns
  /// of 230 bytes or more, one thread 1.09, two 1.16.)
  double tile_streamed_matrix_lines = 1.1;
  double tile_streamed_column_ns = 9;
  /// Also columns of a line to 112 bytes, longer ones than kMostStreamedColumnBytes, and those that start on lines
  /// where rows do not. (Zen 5, one thread, 785 random batches: what the choice of a kernel loses 0.055 -> 0.024.)
  bool tile_streamed_widely = false;
  /// tile/matrices in the caches, where more rows meet in a set of the first one than it holds. (Zen 4, one thread,
  /// bytes 2048 x 1024: 8.3 ns a line, by tile/units 3.8; f16 85 x 12288 9.5, by buffered/blocks 4.3.)
  double tile_meeting_rows = 3;
  /// The same where blocks follow columns of dst, because these meet in sets of the first cache, or because rows of
  /// units of 1 and 2 bytes do; and where more than 16 of 64 columns are in one, for units of a byte. (Zen 5, one
  /// thread, 1,600 matrices of 30 KB to 3 MB, ns a line of bytes, halves, f32 and f64: where none meet 1.6, 1.4, 1.1
  /// and 1.1; where up to 16 do 1.9, 1.7, 1.4 and 1.1; else 6.0, 4.2, 2.2 and 1.4. Row by row up to five times as
  /// much.)
  double tile_down_columns = 1.2;
  double tile_crowded_columns = 3;
  double tile_matrix_instruction_ns = 0.29;  ///< of its blocks, as far as memory does not hide them

  // packed
  double packed_cycle_ns = 0;  ///< a cycle of packed/ways.h, as far as memory does not hide it; 0: flat prices
  /// A byte put together from windows: what one row holds, reversed or with gaps, moves without a stage by rows.
  double packed_least_byte_ns = 0.06;
  double packed_start_ns = 60;             ///< of a call
  double packed_table_units = 0.5;         ///< of unit_ns, an entry of the table takes
  double packed_relaid_ns = 5000;          ///< a tile of planes that is laid out anew
  double packed_streamed_table_units = 2;  ///< the same, where shuffles are looked for in it
  /// How much longer lines take where neither side of a tile is one run, so that pages change with every run. The next
  /// tile often goes on in the same pages of dst, so long runs of src help. (Zen 5, a register of 23 qubits, 512 bytes
  /// of dst: 0.35 of a copy with as many of src, 0.47 with 2048.)
  double packed_pages = 1.25;
  double packed_short_run_pages = 0.15;  ///< more, where runs of src have packed_short_run_bytes or less
  double packed_short_run_bytes = 512;
  double packed_many_runs = 1.2;  ///< what lines take, where so many runs push each other out of the fill buffers:
  std::int64_t packed_many_runs_from = 16;  ///< runs of dst under way at a time
  /// What a line takes more where a plane's columns start inside vectors: their stores are split between two lines,
  /// and some between pages, which wait for stores past the caches. Columns that start at halves of lines take
  /// packed_split_half of it. (Zen 4, random batches of matrices of up to 12 KB and permutations: with 1.5, 2.5 and
  /// 3.5 what is chosen takes 1.033, 1.018 and 1.014 of the fastest kernel's time, 630 batches, one
  /// thread; 1.033, 1.030 and 1.033, 1,034 batches, two; 1.12, 1.08 and 1.07, 656 permutations, one; so it is 3.5. The
  /// next three numbers and buffered_split_line_ns are from older batches.)
  double packed_split_line_ns = 0;
  double packed_split_half = 0.7;
  double packed_large_plane_line_ns = 1;  ///< what a line takes more in planes over a page, of more than ...
  std::int64_t packed_large_plane_units = 2000;

  // buffered
  /// The ends of a run in dst. (Zen 4, one thread, 22 permutations, every block of each: by 15 and 8 the chosen one
  /// takes 1.13 times the best one's time, by 24 and 6 1.09; 68 layouts in turns 1.03 times as fast. Xeon, 108 layouts:
  /// three change, 1.1 to 1.85 times as fast with one thread. Zen 5, 28 permutations: 1.06. Not
  /// timed on Zen 3.)
  double buffered_dst_run_ns = 24;
  double buffered_src_run_ns = 6;        ///< the same in src
  double buffered_start_ns = 60;         ///< of a call
  double buffered_one_run_pages = 1.15;  ///< what lines take where a block is one run on either side
  double buffered_pages = 1.3;           ///< else: pages change with every run
  double buffered_meeting_pages = 2;     ///< where more than buffered_ways runs meet in the same sets of the caches
  std::int64_t buffered_ways = 16;       ///< places of a set
  /// Bytes of a block that leave at a time, while the next one is put together. (Xeon, 900 blocks of random layouts, of
  /// the time by 512 bytes: by 8192 0.98 with one thread, 0.945 with two, a block at once 0.976 and 0.933.)
  std::int64_t buffered_write_bytes = 8192;
  /// Columns of a block start on lines of their own, where that pays (sets.h). (Xeon, the same, units of 1 to 8 bytes:
  /// 0.92 of the time with one thread, 0.95 with two; of 16 bytes 0.99.)
  bool buffered_padded = true;
  /// The ends of a run of src in a padded block, and what a line takes more in a padded block of the largest size. (Zen
  /// 4, 25 layouts, one thread and two: with 6 and 0 ns the chosen blocks are 1.060 and 1.056 times as fast as
  /// dense blocks, with 4 and 1 ns 1.069 and 1.066 times.)
  double buffered_padded_src_run_ns = 4;
  double buffered_padded_line_ns = 1.1;
  double buffered_dense_line_ns = 0;  ///< what a line takes more in a block that could be padded and is not
  /// What a line takes more if the ends of modes cut blocks to half of their size; in proportion otherwise.
  double buffered_cut_line_ns = 0;
  double buffered_split_line_ns = 0;  ///< what a line takes more where columns start inside half a line ...
  double buffered_short_line_ns = 0;  ///< ... and more for each column that fits a line
  /// The ends of a run in dst or in src, past the caches, where smaller blocks than the largest are tried
  /// (BufferedBlockCosts); 0: they are not.
  double buffered_streamed_run_ns = 0;

  // channels. The ends of a run of points in one plane past the caches, in starts of rows; runs of whole lines are
  // written whole, else both ends' lines, with what is beside them, go through the caches. (Joined, 34 to 700 points of
  // 1 to 8 bytes in 3 to 8 planes, one thread, a run in a plane takes longer than its bytes by: Xeon, 72 layouts, 80
  // ns, of whole lines 44 to 94; Zen 4, 108 layouts, 55 and 40.)
  double channels_join_lines = 1;  ///< what lines take past the caches
  double channels_join_whole_rows = 11;
  double channels_join_ragged_rows = 12;
  double channels_split_whole_rows = 10;  ///< times the number of planes
  double channels_split_ragged_rows = 16;
  double channels_cast_unit_ns = 0.05;  ///< a pass of its own over what the first cache holds
  double channels_shuffles = 0.7;       ///< of shuffle_line_ns, a line that stays in the caches
  double channels_no_permutes = 2;      ///< what lines take past the caches where there are no permutes of two vectors

  // gather
  double gather_unit_ns = 0.4;  ///< beside unit_ns

  /// True where permutes of two vectors take such units: from bytes on with AVX-512 that permutes bytes, from halves on
  /// with other AVX-512.
  constexpr bool permutes(std::int64_t unit_bytes) const noexcept { return unit_bytes >= least_shuffled_unit; }
  /// True where they take any; false without AVX-512.
  constexpr bool has_permutes() const noexcept { return permutes(kWidestUnitBytes); }

  friend bool operator==(const CpuMachine&, const CpuMachine&) = default;
};

/// What permuting a packed tile in the caches takes, in cycles of a current core: see packed/ways.h. Only their ratios
/// choose a way; CpuMachine::packed_cycle_ns says what a cycle is worth beside memory. The kernel goes by them, too,
/// when it meets a new shape of tile, so they are no machine's own. Fitted to 74 layouts of short modes on Zen 5.
struct PackedCycles {
  double pick_byte = 2;  ///< a unit picked by the table of places, by its size
  double pick_half = 1.7;
  double pick_word = 1;  ///< of 4 and 8 bytes
  double pick_wide = 0.7;
  double step = 1;  ///< a vector put together from pairs of windows
  double step_pair_alike = 2.4;
  double step_pair = 3.8;
  double plane = 3;  ///< a plane transposed in blocks
  double block_row = 0.75;
  double block_column = 1;
  double block_shuffle = 0.5;      ///< more of a column, for every halving of the block's columns
  double block_shown_small = 0.6;  ///< what is not hidden of a block: units of 1 and 2 bytes
  double block_shown = 0.75;
  double short_column = 8;   ///< a column behind whose end nothing may be written
  double group = 5;          ///< a plane taken in groups of rows
  double group_blocks = 8;   ///< more, a block of several
  double group_shown = 0.6;  ///< what is not hidden of a group behind memory; other ways' cycles have that in them
  double records = 3;        ///< a plane of records
  double records_byte = 3.0 / 64;
  double one_plane_byte =
      8.0 / 64;  ///< of a tile that is one plane: nothing of it leaves before all of it is transposed
};
inline constexpr PackedCycles kPackedCycles;

/// What repeats take that vectors permute, by CpuMachine::unit_ns. In the caches the planner takes InCaches::units of
/// it, past them kSizes.packed_streamed_repeats. Fitted to batches of 20 shapes on Zen 5, beside what tile/matrices
/// says of itself there.
struct RepeatCosts {
  double start = 400;     ///< a call, which finds the permutes ...
  double unit = 35;       ///< ... and a unit of the repeat
  double vector = 6.5;    ///< a vector of dst from one or two of src's
  double far_vector = 7;  ///< from three or four
};
inline constexpr RepeatCosts kRepeatCosts;

/// What a unit of a buffered block takes to be shuffled. Rows and columns of a block are chosen by it, so it is no
/// machine's own. Fitted on the Xeon.
struct BufferedShuffles {
  double byte_ns = 0.03;
  double block_ns = 8;    ///< a block of rows, beside its bytes
  double matrix_ns = 12;  ///< a matrix of rows and columns, beside its blocks
};

/// What a line takes more in some blocks than in others, past the caches. (Zen 5, one thread, 2,158 permutations of 40
/// to 90 MB, every block of each.)
struct BufferedBlockCosts {
  double large_line_ns = 0.8;  ///< for 128 KiB more than what fits the first cache beside src, 16 KiB
  double runs_line_ns = 0.16;  ///< for each doubling of the runs in dst; half of it less for each of those in src
  double cut_line_ns = 3;      ///< if the ends of modes cut blocks to half of their size; in proportion otherwise
};

/// Sizes that bids aim at on every machine. Each was chosen by timing when its kernel was written: those of rows and
/// packed on Zen 5, the others on the Xeon, one thread.
struct Sizes {
  // conversions
  std::int64_t cast_call_bytes = 512;  ///< of a row that are made by one call at most
  std::int64_t cast_short_units = 16;  ///< fewer are less than a vector

  // the first cache
  std::int64_t some_lines_meet_from = 8;  ///< lines of a set, of 12 or 8 places, above which some push each other out
  std::int64_t lines_meet_from = 16;      ///< above which most do
  std::int64_t lines_under_way_src_bytes = 256;   ///< of a block, whose columns are stored about the same time
  std::int64_t lines_under_way_dst_bytes = 1024;  ///< that units are read for

  // rows, in lines: the shortest row that is moved in src's order
  std::int64_t rows_whole_lines = 2;   ///< where rows of dst are whole lines
  std::int64_t rows_ragged_lines = 6;  ///< where they share lines with rows that come much later

  // tile/units
  std::int64_t tile_long_read_bytes = 512;  ///< of a row of src: a cast that narrows, or 16 bytes a unit: few shuffles
  std::int64_t tile_row_bytes = 512;        ///< that a row of a tile takes in dst at most
  std::int64_t tile_least_cols = 16;        ///< columns of a tile at least, whatever their bytes
  std::int64_t tile_cast_rows = 64;         ///< rows of a tile of bytes that are converted; they are staged whole
  std::int64_t tile_band_bytes = 2048;      ///< of a row in a band, units of 4 bytes and more: what columns carry ...
  std::int64_t tile_band_on_lines_bytes = 4096;  ///< ... stays in the first cache; here they carry nothing
  std::int64_t tile_enough_col_bytes = 512;      ///< of columns that need no mode more where rows end inside lines
  std::int64_t tile_enough_row_bytes = 4096;     ///< of rows of whole lines that need no mode more
  std::int64_t tile_late_bytes = 32;             ///< that columns may be off an even number of lines: late_lines-inl.h
  /// Rows of src so far apart need a page of page tables each, and are prefetched one by one (Zen 5; between near and
  /// far, side by side is up to a fifth faster).
  std::int64_t tile_far_bytes = 256 << 10;
  /// The same where two lines of each row are prefetched in turn. (Zen 4, halves 128 KiB from row to row: two lines of
  /// each in turn 0.70 of a copy, row by row 0.77.)
  std::int64_t tile_far_in_turn_bytes = 128 << 10;
  // A task of tiles: one of more rows than `tile_whole_rows` is cut.
  std::int64_t tile_whole_rows = 8192;
  std::int64_t tile_task_rows = 4096;
  std::int64_t tile_task_tiles = 16;  ///< at least, where threads share: the ends of a task are lines written in part
  std::int64_t tile_least_task_tiles = 4;  ///< the same where there are fewer tasks than threads

  // tile/matrices
  std::int64_t matrix_band_bytes = 32 << 10;              ///< of a task's columns, where threads share a matrix
  std::int64_t matrix_least_streamed_column_bytes = 112;  ///< of one that leaves by itself, without `widely`
  std::int64_t matrix_most_streamed_bytes = 256 << 10;    ///< of such a matrix, which is prefetched as a whole
  /// Records past the caches: the longest columns that follow each other in dst by ordinary stores, and how many plain
  /// copies those take. (Zen 4, one thread, 50 MB, 8 to 24 rows of 3 to 12 bytes: 0.4 to 0.63 of a copy; by
  /// tile/records and packed/staged 0.13 to 0.53. Columns of 288 bytes lose.)
  std::int64_t record_matrix_column_bytes = 200;
  double record_matrix_streams = 1.4;

  // tile/records
  std::int64_t record_column_bytes = 384;        ///< of a column of a tile: fewer rows than a line has bytes
  std::int64_t record_least_column_bytes = 128;  ///< the same with more rows
  /// The same of records that are lines of dst and read in place. (Zen 4, ttc57_42 and 44, one thread: 512 bytes 0.73
  /// and 0.74 of a copy, 1 KiB 0.83 and 0.85, 2 KiB 0.77 and 0.85; by a stage and a buffer 0.54 and 0.53.)
  std::int64_t record_line_column_bytes = 1024;
  std::int64_t record_row_bytes = 512;    ///< of a row of src in a tile
  std::int64_t record_band_bytes = 2048;  ///< of a row of src in a band
  std::int64_t record_cols = 4;           ///< columns that are moved at once
  /// Of records that are merged: of a row of src in a band. (Zen 4, one thread, 9 bytes: 4 KiB 0.52 of a copy, 2 KiB
  /// 0.48.)
  std::int64_t record_merged_band_bytes = 4096;

  // packed
  std::int64_t packed_least_run_bytes = 32;  ///< of a run below which others are always faster
  std::int64_t packed_most_gaps = 8;         ///< bytes of src that are read along for one that is wanted
  double packed_pairs_small = 8;             ///< windows' pairs a vector, of units of 1 and 2 bytes, that still pay
  double packed_pairs = 4;                   ///< the same of wider units
  double packed_streamed_repeats = 0.1;      ///< of what repeats take in the caches, as far as memory does not hide it
  double packed_shapes = 4;                  ///< of tiles, where two modes are cut unevenly; two of them are kept

  // buffered: bytes of runs that are tried, by factors of two
  std::int64_t buffered_longest_run_bytes = 4096;
  std::int64_t buffered_shortest_run_bytes = 16;
  std::int64_t buffered_near_bytes = 8192;  ///< of blocks that follow each other along a side's runs before all others
  std::int64_t buffered_small_block_bytes = 16 << 10;  ///< larger ones do not fit the first cache beside src
  std::int64_t buffered_least_block_bytes = 32 << 10;  ///< the smallest blocks that are tried, by factors of two
  double buffered_filled = 1.15;  ///< of vectors that columns fill, at most, where rows of a whole line are worth more

  // run/units
  std::int64_t run_paired_bytes = 32 << 10;      ///< of a run, up to which two of many are moved at once
  std::int64_t run_paired_wide_bytes = 2 << 10;  ///< the same, where vectors have 64 bytes
};
inline constexpr Sizes kSizes;

/// What AMD's processors share: a prefetcher that follows few places at a time, and drops what the program does not
/// prefetch.
inline constexpr CpuMachine kAmdMachine = {.columns_stay = true,
                                           .near = true,
                                           .tile_near = true,
                                           .tile_least_in_place_bytes = 32,
                                           .tile_side_by_side = false,
                                           .tile_late = true,
                                           .pick_unit_ns = 0.4,
                                           .streamed_rows = 1,
                                           .tile_read_bytes = 512,
                                           .tile_least_rows = 32,
                                           .tile_merged_column_bytes = 576,
                                           .tile_on_lines_start = 0.2,
                                           .tile_ragged_column_ns = 60,
                                           .tile_line_ns = 0.3,
                                           .tile_matrix_lines = 1.1,
                                           .tile_matrix_kib_lines = 0.19,
                                           .tile_streamed_column_ns = 4,
                                           .packed_cycle_ns = 0.5,
                                           .packed_pages = 1.1,
                                           .packed_many_runs = 1.6,
                                           .packed_large_plane_line_ns = 0,
                                           .buffered_write_bytes = 512,
                                           .buffered_padded = false};

/// By random layouts past the caches: what the choice of a kernel loses to the fastest one is least.
inline constexpr CpuMachine kZen5Machine = [] {
  CpuMachine m = kAmdMachine;
  m.name = "AMD Zen 5 (EPYC)";
  m.cached_small_blocks = 0.92;
  m.cached_blocks = 0.75;
  m.tile_row_ns = 5;
  m.tile_task_ns = 400;
  m.tile_on_lines_column_bytes = 128;
  m.tile_wide_off_lines = 1.25;
  m.tile_ragged_column_ns = 36;
  m.tile_streamed_matrix_lines = 1;
  m.tile_streamed_column_ns = 3.5;
  m.tile_streamed_widely = true;
  m.tile_meeting_rows = 1.6;
  m.buffered_one_run_pages = 1.3;
  m.buffered_meeting_pages = 1.4;
  m.buffered_write_bytes = 3072;
  m.buffered_short_line_ns = 0.8;
  m.buffered_streamed_run_ns = 2;
  return m;
}();

/// Its elder, with a first cache of 32 KiB: by `restride tune` on an EPYC of family 25, one thread; prices of buffered,
/// of columns of tile and of split lines by 4,100 random layouts past the caches, one thread and two, as above.
inline constexpr CpuMachine kZen4Machine = [] {
  CpuMachine m = kAmdMachine;
  m.name = "AMD Zen 4 (EPYC)";
  m.near_one_run = true;
  m.rows_down_far_bytes = 3 << 10;
  m.records_left_alone = true;
  m.tile_near = false;
  m.tile_least_in_place_bytes = 1;
  m.tile_side_by_side = true;
  m.tile_late = false;
  m.tile_byte_rows = 128;
  m.tile_wide_off_lines = 1.15;
  m.tile_matrix_lines = 1.3;
  m.tile_matrix_kib_lines = 0.15;
  m.tile_streamed_column_ns = 6;
  m.packed_split_line_ns = 3.5;
  m.packed_large_plane_line_ns = 2;
  m.buffered_one_run_pages = 1.07;
  m.buffered_write_bytes = 128 << 10;
  m.buffered_streamed_run_ns = 2;
  m.buffered_padded = true;
  m.buffered_dense_line_ns = 0.9;
  m.buffered_cut_line_ns = 2;
  m.buffered_split_line_ns = 1.5;
  m.buffered_short_line_ns = 1;
  m.channels_join_lines = 1.4;
  m.channels_join_whole_rows = 7;
  return m;
}();

/// The elder of that, with a second cache of 512 KiB and no AVX-512: an EPYC of family 25, model 1, one thread. Its
/// prefetcher follows 16 rows at most, and where columns lie whole KiB apart, memory takes four lines of each at three
/// times the rate of one: see tile/README.md.
inline constexpr CpuMachine kZen3Machine = [] {
  CpuMachine m = kAmdMachine;
  m.name = "AMD Zen 3 (EPYC)";
  m.cached_small_blocks = 0.92;
  m.cached_blocks = 0.75;
  m.columns_stay = false;
  m.tile_byte_rows = 128;
  m.tile_column_bytes = 256;
  m.tile_meeting_rows = 1;
  m.tile_matrix_lines = 0;
  m.tile_streamed_matrix_lines = 0;
  m.channels_no_permutes = 1;
  m.rows_cached_row_rows = 0.25;
  return m;
}();

}  // namespace restride::cpu
