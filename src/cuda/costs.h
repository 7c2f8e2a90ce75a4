// The bids' times and shares that were fitted to measurements, what a machine's kernels reach and lose, and sizes that
// bids aim at. Sizes that a kernel's shape needs stand in its map or bid. Whatever is not said otherwise was fitted to
// the rows of bench/results/cuda-nvidia-h200.json and to times of random layouts on the same H200; an H100 has some
// numbers of its own. What was learnt by it stands in the families' README.md.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/plan/numbers.h"

namespace restride::cuda {

// X(name, value on an H200): shares of the speed of a large copy, factors, and bytes or words that are lost.
#define RESTRIDE_CUDA_COSTS(X)                                                                                        \
  /* Every kernel */                                                                                                  \
  X(launch_ns, 2000) /* ns of a launch */                                                                             \
  X(keeps, 1)        /* 1 where L2 is asked to give up words of src last, else 0, by the kernels with `keep` */       \
  /* rows/words, rows/cast */                                                                                         \
  X(rows_dense, 0.98)         /* share of a copy's speed: rows that are dense in src */                               \
  X(rows_strided, 0.95)       /* the same at another step */                                                          \
  X(rows_lost_bytes, 16)      /* bytes of a row lost to its ends */                                                   \
  X(rows_lost_on_lines, 8)    /* the same where rows are whole lines on lines */                                      \
  X(rows_lost_wide, 16)       /* bytes of a row lost besides where words are 16 bytes */                              \
  X(rows_lost_parts, 400)     /* the same of words that two rows of dst share; less of units of 4 and 8 bytes */      \
  X(rows_parts_bytes, 300)    /* added to a row's bytes for that */                                                   \
  X(rows_lane_bytes, 11)      /* bytes that a unit needs for a copy's speed where each lane moves one */              \
  X(rows_cast_strided, 0.8)   /* factor of a cast that loads unit by unit */                                          \
  X(rows_cast_lost, 2.3)      /* bytes lost to a unit of a dense row that is loaded by itself */                      \
  X(rows_bytes_strided, 0.65) /* of bytes: sixteen loads a word, each of many lines */                                \
  X(rows_behind_run, 1.001)   /* of rows where run is the same */                                                     \
  X(rows_wide_steps, 2)       /* words a thread has under way, of 16-byte units in longer rows; 2: in wide blocks */  \
  /* rows/short */                                                                                                    \
  X(short_store_bytes, 180) /* bytes that a multiprocessor copies while a warp stores parts of sectors */             \
  X(short_most, 0.95)       /* share of a copy's speed at most */                                                     \
  X(short_idle, 0.1)        /* share that idle lanes leave */                                                         \
  /* rows/pixels */                                                                                                   \
  X(pixels_near, 0.95)     /* share of a copy's speed */                                                              \
  X(pixels_spread, 0.5)    /* the same where a warp's loads touch many lines */                                       \
  X(pixels_lost_words, 64) /* words of a block lost to finding its pixel */                                           \
  /* tile/aligned, /registers, /unaligned */                                                                          \
  X(tile_on_words, 0.95)       /* share of a copy's speed: rows of dst start on words */                              \
  X(tile_whole_words, 0.97)    /* the same: units that are words */                                                   \
  X(tile_skewed, 0.9025)       /* the same: edges keep to sectors */                                                  \
  X(tile_small_bytes, 0.7)     /* factor of bytes off words, moved one by one */                                      \
  X(tile_small_halves, 0.85)   /* of halves off words */                                                              \
  X(tile_used_cast_bytes, 1.4) /* power of the share of tiles that is used: casts to bytes off words */               \
  X(tile_used_off_words, 0.65) /* the same: small units, or tiles without a skew, off words */                        \
  X(tile_used_skewed, 0.3)     /* the same: other units, skewed */                                                    \
  X(tile_cube_wide, 0.05)      /* cube of the used share at which speed is halved: units of 8 bytes and more */       \
  X(tile_cube, 0.02)           /* the same of other units */                                                          \
  X(tile_cast_ends, 300)       /* bytes of a row of dst lost to its ends: casts, skewed */                            \
  X(tile_near, 0.9)            /* factor of near outer modes */                                                       \
  X(tile_shape_cut, 0.12)      /* lost to a tile's unused part along a mode, for the choice of its shape */           \
  X(tile_shape_least, 0.7)     /* of a shape that nothing fills */                                                    \
  X(tile_shape_used, 0.6)      /* more by the share that is filled */                                                 \
  X(tile_shape_step, 0.01)     /* by which a shape is behind the one before it */                                     \
  /* tile/bulk */                                                                                                     \
  X(bulk_cast, 0.955)            /* share of a copy's speed: casts */                                                 \
  X(bulk_small, 0.93)            /* units of 1 and 2 bytes */                                                         \
  X(bulk_far, 0.945)             /* units of words, or rows of src a multiple of 4 KiB apart */                       \
  X(bulk_words, 0.958)           /* other units of 4 bytes */                                                         \
  X(bulk_doubles, 0.976)         /* of 8 */                                                                           \
  X(bulk_loses, 0.025)           /* less where what the engine fetches is not wanted soon */                          \
  X(bulk_soon_bytes, 6 << 20)    /* moved until the tiles beside come, so that L2 still has what they share */        \
  X(bulk_short_row_bytes, 1024)  /* of a row of src whose end is fetched in vain */                                   \
  X(bulk_staged_bytes, 16 << 10) /* of tiles on their way to a multiprocessor */                                      \
  /* tile/chains: losses add up to minus the logarithm of what is left */                                             \
  X(chains_src_piece, 0.0493) /* lost for every halving of a tile's pieces of a row of src, from 256 bytes on down */ \
  X(chains_dst_piece, 0.0666) /* the same of dst */                                                                   \
  X(chains_reads, 0.0733)     /* lost by the share of src's 64 bytes that tiles side by side read both */             \
  X(chains_near, 1.33)        /* lost by the share of dst's sectors that tiles side by side write in parts */         \
  X(chains_far, 0.988)        /* the same of tiles far apart */                                                       \
  X(chains_cut_d, 0.107)      /* lost to a tile's part that nothing fills, along d */                                 \
  X(chains_cut_s, 0.0788)     /* the same along s */                                                                  \
  X(chains_enough, 0.45)      /* share of a tile that keeps enough lanes busy */                                      \
  X(chains_idle_power, 0.437) /* power of the share below that */                                                     \
  X(chains_breaks, 0.0444)    /* lost where a chain breaks off */                                                     \
  X(chains_against, 0.008)    /* lost where the mode that goes on where dst's rows end comes later in src's chain */  \
  X(chains_src_step, 0.00522) /* lost for every doubling of the step in src of dst's first mode above 1 KiB */        \
  X(chains_late, 0.117)       /* lost where tiles read the same 64 bytes, and the second comes late */                \
  X(chains_soon_bytes, 20e6)  /* moved until it comes, so that L2 still has them */                                   \
  X(chains_wave, 0.707)       /* tiles a multiprocessor lost to the last wave */                                      \
  X(chains_1_128x128, 1.063)  /* share of a copy's speed before these losses: bytes a unit, tile_d x tile_s */        \
  X(chains_1_128x256, 1.064)                                                                                          \
  X(chains_1_256x128, 1.024)                                                                                          \
  X(chains_1_64x256, 1.117)                                                                                           \
  X(chains_1_64x128, 1.101)                                                                                           \
  X(chains_2_64x128, 1.069)                                                                                           \
  X(chains_2_64x64, 1.082)                                                                                            \
  X(chains_2_32x128, 1.108)                                                                                           \
  X(chains_2_128x64, 1.048)                                                                                           \
  X(chains_2_128x128, 1.054)                                                                                          \
  X(chains_4_64x64, 0.979)                                                                                            \
  X(chains_4_32x64, 0.977)                                                                                            \
  X(chains_4_64x32, 0.984)                                                                                            \
  X(chains_4_32x32, 0.997)                                                                                            \
  X(chains_4_32x128, 0.990)                                                                                           \
  X(chains_4_64x128, 0.977)                                                                                           \
  X(chains_8_32x32, 1.013)                                                                                            \
  X(chains_8_64x16, 0.987)                                                                                            \
  X(chains_8_32x64, 0.986)                                                                                            \
  X(chains_8_64x32, 0.979)                                                                                            \
  X(chains_16_32x16, 0.932)                                                                                           \
  X(chains_16_32x32, 0.939)                                                                                           \
  /* tile/unaligned_chains: a copy's time is 1 */                                                                     \
  X(anywhere_1, 1.0)         /* time that bytes take at least */                                                      \
  X(anywhere_2, 1.01)        /* halves */                                                                             \
  X(anywhere_4, 0.95)        /* units of 4 bytes */                                                                   \
  X(anywhere_8, 0.91)        /* of 8 */                                                                               \
  X(anywhere_bytes, 0.7)     /* more for the unused part of a window of bytes, which is transposed too */             \
  X(anywhere_unused, 0.05)   /* the same of other units, in runs */                                                   \
  X(anywhere_ends, 100)      /* bytes of a row of dst lost to its ends */                                             \
  X(anywhere_piece, 5.8)     /* bytes of a piece of src lost to its ends */                                           \
  X(anywhere_tile, 350)      /* bytes of a tile lost to finding it */                                                 \
  X(anywhere_resident, 11e3) /* bytes lost of what a multiprocessor's tiles hold */                                   \
  X(anywhere_few, 0.6)       /* more where a multiprocessor has fewer blocks than six; not of bytes */                \
  X(anywhere_cycles, 85)     /* of shared memory for a warp's words that others hide */                               \
  X(anywhere_others, 1.2)    /* factor where others are measured faster than they say */                              \
  /* The same, batches of matrices of units of 2 to 8 bytes */                                                        \
  X(anywhere_batch, 1.02)      /* factor of windows where others are measured faster than they say */                 \
  X(anywhere_batch_words, 1.1) /* the same where dst's rows lie on words, and of units of 8 bytes */                  \
  X(anywhere_batch_piece, 13)  /* bytes of a piece of src lost to its ends, in runs */                                \
  X(anywhere_wave, 0.5)        /* waves of tiles lost to the last one */                                              \
  /* tile/pixels */                                                                                                   \
  X(pixel_tiles_full, 1.03)   /* share of a copy's speed */                                                           \
  X(pixel_tiles_lost, 3000)   /* bytes of a tile lost to its steps */                                                 \
  X(pixel_tiles_halves, 0.86) /* factor of halves on words, where packed is better */                                 \
  /* packed/records, /records_cast, /planes */                                                                        \
  X(records_full, 0.94)      /* share of a copy's speed */                                                            \
  X(records_least_used, 0.6) /* share of chunks used below which others are better */                                 \
  X(records_idle, 0.3)       /* share that an empty chunk leaves */                                                   \
  X(records_used, 0.7)       /* more by the share that is used */                                                     \
  /* packed/direct */                                                                                                 \
  X(direct_full, 0.98)      /* share of a copy's speed */                                                             \
  X(direct_most_lines, 48)  /* lines that a warp's loads may touch for 512 bytes of dst */                            \
  X(direct_most_read, 1.25) /* bytes of sectors that a block may read for a byte written */                           \
  /* packed/batches */                                                                                                \
  X(batches_full, 0.99)        /* share of a copy's speed */                                                          \
  X(batches_free, 46)          /* cycles of shared memory for 512 bytes of dst that others hide */                    \
  X(batches_cycle, 0.0085)     /* time lost to every one more */                                                      \
  X(batches_wide, 0.92)        /* time of units of 4 and 8 bytes, beside chains', measured slower than they say */    \
  X(batches_least_bytes, 5000) /* of a tile, below which blocks are started too often */                              \
  X(batches_turn, 0.44)        /* time lost where lines of dst are as short as a word of 4 bytes */                   \
  X(batches_large, 0.0013)     /* time lost to every KB of a tile */                                                  \
  /* packed/staged, besides what goes by the size of units */                                                         \
  X(staged_table_cost, 0.35)         /* lost for every entry of tables a word, beyond the free ones */                \
  X(staged_table_free, 0.5)          /* such entries that are free */                                                 \
  X(staged_cast_small, 0.72)         /* factor of casts between small units */                                        \
  X(staged_crowded_from_bytes, 15e3) /* of a tile, from which more crowd out others */                                \
  X(staged_full_bonus, 0.05)         /* more where all of a tile is inside, 1 at most */                              \
  X(staged_served_moved, 0.7)        /* tiles a block, by its tables' bytes a byte of a tile: transposed rows */      \
  X(staged_served_small, 3)          /* the same of small units looked up */                                          \
  X(staged_served, 1.5)              /* of others */                                                                  \
  X(staged_served_bytes, 20e3)       /* bytes of a block's tiles at least */                                          \
  X(staged_resident_small, 4)        /* blocks of a multiprocessor: small units */                                    \
  X(staged_resident, 6)              /* other units */                                                                \
  /* gather/units, gather/cast */                                                                                     \
  X(gather_move, 0.3) /* share of a copy's speed */                                                                   \
  X(gather_cast, 0.1) /* the same, converting */

// X(name, bytes, halves, units of 4 and 8 bytes, of 16): what a tile of packed/staged costs, by the size of units;
// fitted to the times of all tiles of many layouts on an H200.
#define RESTRIDE_STAGED_COSTS(X)                                                                                       \
  X(whole, 0.95, 1.0, 1.0, 1.05)       /* share of a copy's speed that a large tile of long runs and pieces reaches */ \
  X(half_tile, 2900, 2000, 1600, 1600) /* bytes of a tile that reaches half of it */                                   \
  X(crowded, 0, 0.0022, 0.0023, 0.0023) /* lost for every KB of a tile beyond 15: fewer are under way at once */       \
  X(piece, 2.2, 2.1, 1.5, 1.5)          /* bytes lost to the ends of a piece, of a run */                              \
  X(run, 0.4, 1.5, 3, 3)                /* bytes lost to the ends of a piece, of a run */                              \
  X(split_words, 1.17, 1.49, 0.3, 0.3)  /* words lost where a run starts inside one */                                 \
  X(split_sectors, 1900, 1240, 1000,                                                                                   \
    1000)                   /* runs under way on a multiprocessor, starting inside sectors, that halve its speed */    \
  X(alike, 0.9, 0.88, 1, 1) /* factor of rows that start alike */                                                      \
  X(merged, 1, 0.97, 1, 1)  /* of rows that follow each other */                                                       \
  X(loose, 0.81, 0.97, 0.96, 0.96)   /* of rows that start anywhere */                                                 \
  X(block, 0.96, 1, 1, 1)            /* of rows transposed */                                                          \
  X(block_words, 0.25, 0.15, 0, 0)   /* words lost a run of these, where a lane's words are of different rows */       \
  X(entry, 0.09, 0.117, 0.09, 0.09)  /* words that an entry of a tile's tables costs */                                \
  X(wave, 0.5, 0.85, 0.7, 0.7)       /* waves of blocks lost to the last one */                                        \
  X(unused, 0.78, 0.38, 0.5, 0.5)    /* share of a tile's idle part that is lost */                                    \
  X(shared_sector, 0.16, 0.42, 1, 1) /* what the part of a sector costs that others read or write */

struct StagedCosts {
#define RESTRIDE_X(name, bytes, halves, wider, words) double name;
  RESTRIDE_STAGED_COSTS(RESTRIDE_X)
#undef RESTRIDE_X
};

/// What collecting a word of dst from shared memory costs, in cycles or in words: it lays out the lanes of a tile that
/// is chosen, so it is no machine's own. Fitted as the others were.
struct LaneCosts {
  double rotate = 2.5;               ///< cycles of lanes that rotate their words' parts
  double word = 8;                   ///< cycles of a word, beside its units
  double access = 0.5;               ///< of an access, for every bank that lanes meet in
  double swizzle = 0.5;              ///< of an access through a swizzle, where lanes keep their place
  double look_up = 1.25;             ///< of an access whose place is looked up for every word
  double transposed_accesses = 4;    ///< accesses of a word of rows that are transposed
  double flat_access = 3;            ///< accesses a cycle, of flat runs
  double flat_look_up_bytes = 1.3;   ///< words that a flat word's places cost: bytes
  double flat_look_up = 1.6;         ///< other units
  double flat_fewer_threads = 0.04;  ///< lost for every warp less of a block
  double batches_look_up = 6;        ///< cycles of a word's places and its store: packed/batches
  double batches_rest = 8;           ///< cycles of loading 512 bytes of a tile: packed/batches
};
inline constexpr LaneCosts kLaneCosts;

/// What windows of tile/unaligned_chains take in units of 2, 4 and 8 bytes, where a copy's time is 1. Fitted to an H200
/// and an H100 together, so they are no machine's own.
struct WindowCosts {
  double least[3] = {1.03, 0.98, 0.95};        ///< time at least
  double unused = 0.03;                        ///< more for the unused part of a tile
  double src_piece = 9;                        ///< bytes of a row of src in a tile lost to its ends
  double whole_piece = 0.5;                    ///< share of that, and of a run's, where a batch's is whole sectors
  double dst_piece = 1.6;                      ///< the same of dst
  double tile = 500;                           ///< bytes of a tile lost to finding it
  double few = 0.1;                            ///< more where a multiprocessor has fewer blocks than six
  double crowded[3] = {3.5e-6, 1.5e-6, 4e-6};  ///< lost for every byte of a tile beyond these:
  double crowded_from_bytes = 15e3;
};
inline constexpr WindowCosts kWindowCosts;

/// What runs of bytes of tile/unaligned_chains take, `anywhere_1` apart. Fitted to 33 layouts on an H200.
struct ByteRunCosts {
  double unused = 0.3;     ///< more for the unused part of a tile
  double piece = 13;       ///< bytes of a piece of src lost to its ends
  double tile = 750;       ///< bytes of a tile lost to finding it
  double resident = 13e3;  ///< bytes lost of what a multiprocessor's tiles hold
};
inline constexpr ByteRunCosts kByteRunCosts;

/// Sizes that bids aim at on every GPU. Each was chosen by timing its kernel on an H200 when that was written; the
/// families' README.md say on which layouts. Limits of the code, such as numbers of 31 bits, stand beside their bids.
struct Sizes {
  std::int64_t most_tiles_apart = 512;  ///< tiles of a row of dst, beyond which tiles follow src's rows

  // rows/words: words of a thread at most, and bytes of rows
  int rows_steps = 4;
  std::int64_t rows_wide_bytes = 128;        ///< rows of 16-byte units from which blocks are wide
  std::int64_t rows_short_bytes = 256;       ///< rows of 16-byte units from which fewer words a thread are best
  std::int64_t rows_long_bytes = 4096;       ///< rows of whole words that are best one by one
  std::int64_t rows_least_words_bytes = 64;  ///< rows below which units are moved by themselves
  std::int64_t rows_least_whole_bytes = 32;  ///< the same where rows are whole words of dst, dense in src

  // rows/short
  std::int64_t short_most_units = 128;     ///< of a row
  std::int64_t short_few_steps = 4;        ///< of a block
  std::int64_t short_many_steps = 8;       ///< the same where a lane moves one unit of 1 or 2 bytes a step
  std::int64_t short_least_threads = 128;  ///< of a block
  std::int64_t short_best_threads = 256;   ///< of blocks that leave as many lanes idle, the nearest to these

  // tile: bytes
  std::int64_t tile_small_share =
      32 << 10;                        ///< of a copy by multiprocessors; of less, large tiles leave some without one
  std::int64_t tile_long_bytes = 512;  ///< of a row of dst, from which longer tiles share fewer sectors
  std::int64_t tile_short_src_bytes = 4096;   ///< of a row of src whose end may waste half a tile of bytes
  std::int64_t bulk_far_bytes = 4 << 10;      ///< rows of src that lie a multiple of these apart
  std::int64_t chains_small_share = 2 << 10;  ///< of a copy by multiprocessors, below which chains do not pay
  // tile/unaligned_chains
  std::int64_t anywhere_joined_bytes = 1024;         ///< of rows of dst that join, which packed moves whole
  std::int64_t anywhere_small_tile_bytes = 12000;    ///< of a tile that 128 threads are enough for; not of bytes
  std::int64_t anywhere_small_cast_bytes = 8192;     ///< the same of dst, where units are converted
  std::int64_t anywhere_most_row_bytes = 1024;       ///< of a row that is part of a run
  std::int64_t anywhere_most_runs = 8;               ///< of a tile
  std::int64_t anywhere_least_runs_bytes = 4 << 10;  ///< smallest tile whose rows join along src's last mode
  std::int64_t anywhere_middling_bytes = 140;        ///< of a row of src in the tile that is priced first
  std::int64_t anywhere_middling_units = 96;         ///< of a row of dst there
  std::int64_t anywhere_long_bytes = 2048;           ///< of rows of dst, from which tiles have whole lines of them
  std::int64_t anywhere_bytes_apart = 6'000'000;     ///< of a row of tiles, beyond which tiles follow src's rows
  std::int64_t anywhere_most_piece_bytes = 320;      ///< of a mode of bytes that is cut anywhere, in runs
  std::int64_t anywhere_least_piece_bytes = 16;      ///< of src's chain of bytes; other chains have a sector
  double anywhere_few_blocks = 6;                    ///< of a multiprocessor, below which `anywhere_few` is lost

  // packed/records: the least bytes of planes that are moved by words of 4 and 8 bytes; shorter ones were not measured
  std::int64_t records_least_bytes = 1 << 10;
  // packed/planes: of a tile of which four a multiprocessor are enough; more only crowd memory
  std::int32_t records_large_tile_bytes = 30 << 10;

  // packed/batches (the odd_batch and odd permutation rows of bench/results/cuda-nvidia-h200.json): bytes
  std::int64_t batches_most_matrix_bytes = 44 << 10;
  std::int64_t batches_tile_bytes = 8400;            ///< that a tile has about
  std::int64_t batches_most_tile_bytes = 12 << 10;   ///< of a tile of as few matrices as are whole words
  std::int64_t batches_small_tile_bytes = 10 << 10;  ///< of a tile that 128 threads are enough for
  std::int64_t batches_small_share = 8 << 10;        ///< of a copy by multiprocessors, below which others are faster

  // packed/staged
  std::int64_t staged_blocks = 128;  ///< of a multiprocessor, beyond which starting one costs more than it brings
  std::int64_t staged_whole_blocks = 1024;      ///< the same where tiles are whole on both sides
  std::int64_t staged_enough_blocks = 4;        ///< of a multiprocessor, before a block has several tiles
  double staged_most_served = 4;                ///< tiles of a block at most
  std::int64_t staged_most_priced = 2;          ///< tiles that a price takes a block's tables to serve at most
  std::int64_t staged_middling_bytes = 256;     ///< of runs and pieces of the tile that is priced first
  std::int64_t staged_long_cycle_bytes = 1536;  ///< of a cycle of flat runs, from which only large tiles hold several
  std::int64_t staged_cheap_steps = 4;          ///< of a cut mode, of which a part of one more is little
  std::int64_t staged_cheap_bytes = 48;         ///< the same of words
  std::int32_t staged_large_tile_bytes = 32 << 10;       ///< of sorted rows, which a fifth block would crowd
  std::int64_t staged_few_run_bytes = 32;                ///< of a run of words that is collected as a flat one
  std::int64_t staged_flat_step_bytes = 4096;            ///< from row to row in a piece, at most: flat tiles
  std::int64_t staged_flat_steps = 16;                   ///< of a thread at most: flat tiles
  std::int32_t staged_flat_small_tile_bytes = 12 << 10;  ///< of a tile that fewer threads load as fast
};
inline constexpr Sizes kSizes;

/// A machine's numbers; the defaults are an H200's.
struct Costs {
#define RESTRIDE_X(name, value) double name = value;
  RESTRIDE_CUDA_COSTS(RESTRIDE_X)
#undef RESTRIDE_X
#define RESTRIDE_X(name, bytes, halves, wider, words) bytes,
  StagedCosts staged_bytes{RESTRIDE_STAGED_COSTS(RESTRIDE_X)};
#undef RESTRIDE_X
#define RESTRIDE_X(name, bytes, halves, wider, words) halves,
  StagedCosts staged_halves{RESTRIDE_STAGED_COSTS(RESTRIDE_X)};
#undef RESTRIDE_X
#define RESTRIDE_X(name, bytes, halves, wider, words) wider,
  StagedCosts staged_wider{RESTRIDE_STAGED_COSTS(RESTRIDE_X)};
#undef RESTRIDE_X
#define RESTRIDE_X(name, bytes, halves, wider, words) words,
  StagedCosts staged_words{RESTRIDE_STAGED_COSTS(RESTRIDE_X)};
#undef RESTRIDE_X
};

/// The numbers by their names, as a file says them.
inline constexpr plan::Number<Costs> kCostNumbers[] = {
#define RESTRIDE_X(name, value) {#name, &Costs::name},
    RESTRIDE_CUDA_COSTS(RESTRIDE_X)
#undef RESTRIDE_X
};
inline constexpr plan::Number<StagedCosts> kStagedCostNumbers[] = {
#define RESTRIDE_X(name, bytes, halves, wider, words) {#name, &StagedCosts::name},
    RESTRIDE_STAGED_COSTS(RESTRIDE_X)
#undef RESTRIDE_X
};

inline constexpr Costs kH200Costs;

/// An H100's. Its memory is slower by a third, so kernels have the time that larger tiles and more divisions take; and
/// it loses where L2 is asked to keep words of src.
constexpr Costs h100_costs() {
  Costs k;
  k.keeps = 0;
  k.rows_wide_steps = 1;
  k.chains_src_piece = 0.0557;
  k.chains_dst_piece = 0.0506;
  k.chains_reads = 0.0687;
  k.chains_near = 1.05;
  k.chains_far = 1.44;
  k.chains_cut_d = 0.0374;
  k.chains_cut_s = 0.102;
  k.chains_idle_power = 0.18;
  k.chains_breaks = 0.0683;
  k.chains_against = 0.0059;
  k.chains_src_step = 0;
  k.chains_late = 0.0624;
  k.chains_wave = 0.2;
  k.chains_1_128x128 = 1.013;
  k.chains_1_128x256 = 1.002;
  k.chains_1_256x128 = 0.985;
  k.chains_1_64x256 = 0.959;
  k.chains_1_64x128 = 0.987;
  k.chains_2_64x128 = 0.962;
  k.chains_2_64x64 = 0.997;
  k.chains_2_32x128 = 1.020;
  k.chains_2_128x64 = 1.017;
  k.chains_2_128x128 = 1.003;
  k.chains_4_64x64 = 0.984;
  k.chains_4_32x64 = 0.939;
  k.chains_4_64x32 = 0.981;
  k.chains_4_32x32 = 0.970;
  k.chains_4_32x128 = 0.953;
  k.chains_4_64x128 = 0.972;
  k.chains_8_32x32 = 0.931;
  k.chains_8_64x16 = 0.972;
  k.chains_8_32x64 = 0.964;
  k.chains_8_64x32 = 0.956;
  k.chains_16_32x16 = 0.938;
  k.chains_16_32x32 = 0.961;
  return k;
}
inline constexpr Costs kH100Costs = h100_costs();

/// What a large device-to-device copy reaches of the memory's peak, for a GPU that was not measured (H200: 4.25 of 4.92
/// TB/s).
inline constexpr double kCopyShareOfPeak = 0.864;

}  // namespace restride::cuda
