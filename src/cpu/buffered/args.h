// What the kernel buffered/blocks is given.
#pragma once

#include "src/cpu/args.h"
#include "src/cpu/buffered/sets.h"

namespace restride::cpu {

/// A mode of a buffered block: its points inside, and its strides on both sides and in the buffer of the block.
struct BlockMode {
  std::int64_t points = 1;
  std::int64_t dst_stride = 0;
  std::int64_t src_stride = 0;
  std::int64_t out_stride = 0;
  std::int64_t extent = 1;  ///< of the whole mode
  std::int32_t parts = -1;  ///< the entry of `walked` for its blocks, where it is longer
};

/// A mode that is walked by one nest mode, or in steps by two; so the last steps may be short of it.
struct WalkedMode {
  std::int64_t count = 1;   ///< points of the mode, or blocks of it
  std::int64_t step = 1;    ///< points of the inner nest mode
  std::int32_t inner = -1;  ///< nest modes; -1: there is none
  std::int32_t outer = -1;
};

/// The inside of a buffered block as lists of its modes; one that has more blocks comes last in every list.
struct BufferedBlock {
  static constexpr int kCapacity = kBufferedModes;
  struct List {
    int size = 0;
    std::uint8_t modes[kCapacity] = {};
    void push(int m) noexcept { modes[size++] = static_cast<std::uint8_t>(m); }
  };
  BlockMode modes[kCapacity];
  int rank = 0;
  List rows;                         ///< dense in dst
  List cols;                         ///< dense in src
  List others;                       ///< walked around a matrix of rows and columns
  List dst_run;                      ///< dense in dst, rows first
  List dst_runs;                     ///< where runs start in dst
  List src_run;                      ///< dense in src, columns first
  List src_runs;                     ///< where runs start in src
  WalkedMode walked[kCapacity + 2];  ///< those inside in part, and those walked in steps
  int walked_modes = 0;
};

/// A task is a block.
struct BufferedArgs : CommonArgs {
  KernelCode<BufferedArgs> kernel = nullptr;
  /// Bytes from the base of src that may be read along behind a row; less than any offset where none may.
  std::int64_t src_end = INT64_MIN / 2;
  std::int64_t write_bytes = 512;  ///< of a block that leave at a time
  /// From column to column in a block whose columns start on lines of their own; 0: they lie densely, as in dst.
  std::int64_t column_pitch = 0;
  std::int64_t run_pitch = 0;  ///< from run to run of dst in a block
  /// Columns of a matrix that are moved before the next ones; the last band takes what is left. 0: as many as a piece
  /// has.
  std::int64_t band_cols = 0;
  BufferedBlock block;
  Nest nest;  ///< outside the block
};

}  // namespace restride::cpu
