// Moves: rows dense in dst, whose source units lie in one stride: dense, reversed, spread out or repeated.
// Applies when: the innermost mode is dense in dst. Rows may be as short as a few bytes.
// Task map: task t is row t of the outer nest, or a piece of one where rows are long; the prepare orders them as they
//   lie in dst or, where the plan's order says so, in src. Rows that follow each other in dst and in time share lines.
// Buffers: one open line, or one for each of 16 long rows in turn; where units are converted or picked 2 KiB, near 256
//   bytes (512 without AVX-512) or, converted or repeated, 1 KiB; 16 KiB where short rows are brought together first
//   (short_rows-inl.h); none where rows of a line and more stay in the caches as they are.
// Traffic: source lines once if rows fill them; destination lines once, past the caches when `stream`.
// Source and measured: pitched copies of memcpy2D; the open line is ours. bench/results, class "rows".
#pragma once

#include "src/cpu/rows/args.h"

namespace restride::cpu {

/// Rows of twice this many bytes and more are cut into pieces of it, each a task.
inline constexpr std::int64_t kRowPieceBytes = 64 << 10;
/// The same, where what is read is prefetched a few KiB ahead; of the wider side.
inline constexpr std::int64_t kNearPieceBytes = 2 << 10;
/// Bytes of dst that are put together, where units are picked or converted, before they leave.
inline constexpr std::int64_t kStageBytes = 2 << 10;
/// The same, where what is read is prefetched a few KiB ahead: so few that reads, prefetches and stores past the caches
/// take turns line by line. Bursts of one kind keep the others waiting. (Zen 4, reversed bytes: 256 bytes and 512 at
/// the speed of a plain copy, 1 KiB 0.79, 2 KiB 0.55.)
inline constexpr std::int64_t kNearStageBytes = 256;
/// The same of units that are converted or repeated, for each stage is a call. (Zen 4, one thread, runs in turns, 256
/// bytes -> 1 KiB: u8 to f32 0.80 -> 0.91 of a copy, i64 to i32 0.89 -> 0.95, bf16 and f16 to f32 0.86 -> 0.94 and 0.91
/// -> 0.95, f32 to bf16 0.87 -> 0.90, to u8 0.85 -> 0.84; with 512 bytes and 2 KiB between. Repeated f32 0.75 -> 0.87.
/// Not timed on Zen 3 and Zen 5.)
inline constexpr std::int64_t kNearMadeStageBytes = 1 << 10;
/// Of all others without AVX-512. Zen 3, ratio to a plain copy by 256, 512 and 1024 bytes: f32 rows
/// and columns reversed 0.80, 0.86, 0.90; mirrored u8 0.77, 0.80, 0.84; a half turn of pixels 0.42, 0.42, 0.35.
inline constexpr std::int64_t kNearStageBytesOfNarrow = 512;
/// Rows of more bytes, on either side, are not brought together; shorter ones are not worth moving in turns.
inline constexpr std::int64_t kShortRowBytes = 256;
inline constexpr std::int64_t kRowInTurnsBytes = 2048;
/// Rows of more bytes do not leave line by line.
inline constexpr std::int64_t kLineRowBytes = 512;
/// Of units that far apart in src a row's lines are prefetched; of others no two share a line.
inline constexpr std::int64_t kMostPrefetchedCell = 64;

/// The kernel of the instruction set in use.
KernelCode<RowsArgs> rows_kernel() noexcept;

}  // namespace restride::cpu
