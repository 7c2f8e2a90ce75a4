// What a CPU kernel is given: one POD of named fields, filled by the planner, and bases for both sides.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/cpu/cast/cast.h"
#include "src/cpu/nest.h"

namespace restride::cpu {

struct CpuArgs;

/// A mode of a packed tile. `block` points of it are inside; if it is longer, nest mode `outer` walks its blocks.
struct PackedMode {
  std::int64_t extent = 1;  ///< of the whole mode
  std::int64_t block = 1;
  std::int64_t dst_stride = 0;
  std::int64_t src_stride = 0;
  std::int32_t outer = -1;  ///< index in the nest, -1 when the whole mode is inside
};

/// The modes inside a packed tile, innermost in dst first. The first `dst_run_modes` of them are one dense run in
/// dst; `src_order` lists them innermost in src first, and the first `src_run_modes` of that are one dense run in src.
struct Packed {
  static constexpr int kCapacity = 16;
  int rank = 0;
  PackedMode modes[kCapacity];
  int dst_run_modes = 0;
  int src_run_modes = 0;
  std::uint8_t src_order[kCapacity] = {};
};

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
  static constexpr int kCapacity = 16;
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

/// Moves tasks [begin, end) of a plan. Any split of [0, tasks) over calls and threads writes every byte of dst
/// once; calls on disjoint ranges write disjoint bytes.
using CpuKernel = void (*)(const CpuArgs& args, std::byte* dst, const std::byte* src, std::int64_t begin,
                           std::int64_t end) noexcept;

struct CpuArgs {
  CpuKernel kernel = nullptr;
  std::int64_t tasks = 0;
  std::int64_t align_tasks = 1;  ///< a thread's share is a multiple of this, where it costs nothing

  std::int32_t dst_unit = 1;
  std::int32_t src_unit = 1;
  CastRun cast_run = nullptr;  ///< null: bits move untouched
  CastStrided cast_strided = nullptr;
  bool stream = false;  ///< stores bypass the caches
  /// With `stream`, how src is read. False: from many places in turn, because the prefetcher runs ahead on all of them;
  /// what it cannot follow is asked for, into the second cache. True: all of it is asked for, a few KiB ahead, into the
  /// first cache and no other.
  bool near = false;

  std::int64_t dst_shift = 0;  ///< bytes from the canonical base, where a kernel walks a mode backwards
  std::int64_t src_shift = 0;
  /// Bytes from the base of src that may be read along behind a row; less than any offset where none may.
  std::int64_t src_end = INT64_MIN / 2;

  std::int64_t units = 0;  ///< run: units; rows: units of a row or a piece of one; gather: all units
  Nest nest;               ///< modes outside the kernel's own block
  Nest src_nest;           ///< gather with two sides: the source's own modes

  // rows
  std::int64_t row_src_stride = 0;  ///< bytes between units of a source row
  std::int64_t row_dst_stride = 0;  ///< the same in dst: more than dst_unit for records only
  /// Of a row's last piece, or a matrix's last band of columns, where nest mode 0 walks these; 0: all are whole.
  std::int64_t last_units = 0;

  Packed packed;  ///< packed: see cpu/packed/kernel.h

  // tile: see cpu/tile/kernel.h
  Nest row_set;
  Nest col_set;
  std::int64_t rows = 0;  ///< points of row_set
  std::int64_t cols = 0;  ///< points of col_set
  std::int64_t tile_rows = 0;
  std::int64_t tile_cols = 0;
  std::int64_t band_cols = 0;
  std::int64_t chunk_rows = 0;
  /// Every task is a matrix that needs no staging, or a band of its columns, of which the last one has last_units; see
  /// cpu/tile/matrix-inl.h.
  bool direct = false;

  // tile and rows of records: dst_unit is a record's bytes
  std::int32_t record_unit = 0;  ///< bytes of the units that a record is made of; 0: units are no records
  bool record_reversed = false;  ///< they run downwards in src

  // channels: col_set and last_units; see cpu/channels/kernel.h

  BufferedBlock block;  ///< buffered: see cpu/buffered/kernel.h
};

/// True when `bytes` divides the address and every stride of dst's outer modes and columns.
inline bool dst_divides(const CpuArgs& a, const std::uint8_t* dst, std::uint64_t bytes) noexcept {
  std::uint64_t all = reinterpret_cast<std::uintptr_t>(dst);
  for (int i = 0; i < a.nest.rank; ++i) all |= static_cast<std::uint64_t>(a.nest.modes[i].dst_stride);
  for (int i = 0; i < a.col_set.rank; ++i) all |= static_cast<std::uint64_t>(a.col_set.modes[i].dst_stride);
  return all % bytes == 0;
}

}  // namespace restride::cpu
