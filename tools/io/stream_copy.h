// Copies between files of any size in bounded memory: a piece of the output at a time, each from mapped input.
#pragma once

#include <cstdint>
#include <functional>

#include <restride/copy.hpp>

#include "tools/io/file.h"

namespace restride::io {

struct StreamOptions {
  Options copy;                            ///< planning and threads, as for restride::copy; measuring takes records
  std::uint64_t buffer_bytes = 256 << 20;  ///< of output held at a time, and of input pages looked at meanwhile
  /// Called now and then with output bytes done and in all.
  std::function<void(std::uint64_t, std::uint64_t)> progress;
};

struct StreamReport {
  std::uint64_t pieces = 0;        ///< output pieces written
  std::uint64_t buffer_bytes = 0;  ///< really used; less than asked for when memory is short
  double measure_seconds = 0;      ///< in measuring what can do the copy, in front of it
  double copy_seconds = 0;         ///< in restride::copy, page faults of the input included
  double write_seconds = 0;
  /// Of several copies: sums, and the largest buffer.
  void add(const StreamReport& other);
};

/// Writes the elements of `src`, which lie in `file`, as `dst` lays them out, through `write(offset, bytes)` in
/// ascending order without gaps.
///
/// Shape: extents must be equal; with options.copy.reshape only the counts, in one piece, which the buffer must hold.
/// Strides: any in `src`; `dst` must be dense and positive (offset 0), in any order;
/// in one piece it may be negative, too.
/// `swap_bytes`: size of the big-endian words in the file, 0 for none.
/// Errors: those of restride::copy, MemoryError, what `write` throws, IoError when the file is written to meanwhile;
/// one that shrinks by pages raises SIGBUS (signals.h).
/// With options.copy.device = kCuda each piece goes through a GPU: input up, copy, output down, in buffers of up to
/// buffer_bytes there. Cost: each output piece reads only input pages that it needs; transposing n bytes through a
/// buffer of b reads pages up to max(1, page / (row of the piece)) times.
StreamReport stream_copy(const InputFile& file, const Layout& src, std::int64_t swap_bytes, const Layout& dst,
                         const std::function<void(std::uint64_t, Bytes)>& write, const StreamOptions& options);

}  // namespace restride::io
