// What the kernels of rows are given, and run/pieces, which is moved by them.
#pragma once

#include "src/cpu/args.h"

namespace restride::cpu {

/// How rows/units and run/pieces walk their rows: the values of the parameter `loop`.
enum class RowLoop : std::uint8_t {
  kInOrder,  ///< one after the other, by way of a buffer where units are picked or converted
  kInTurns,  ///< past the caches, a few lines of each of several long rows in turn
  kCached,   ///< through the caches, each by one move: rows that are dense in src and not converted
  /// Past the caches, line by line: rows that are dense in src, not converted, and whole lines long. A plan may promise
  /// no alignment, so the address has the last word, once a call: where rows of dst do not start on lines, kShort takes
  /// those of one line, kInOrder the others.
  kLines,
  kShort,  ///< short ones, some brought together before they are converted and written
};

/// A task is a row of the nest, or a piece of one.
struct RowsArgs : StridedArgs {
  KernelCode<RowsArgs> kernel = nullptr;
  std::int64_t units = 0;           ///< of a row or a piece of one
  std::int64_t last_units = 0;      ///< of a row's last piece, where nest mode 0 walks the pieces; 0: all are whole
  std::int64_t last_piece = 0;      ///< where nest mode 0 comes to that piece
  std::int64_t row_dst_stride = 0;  ///< bytes between units of dst: more than dst_unit for records only
  RowLoop loop = RowLoop::kInOrder;
  RecordShape record;  ///< rows/records
  bool ahead = true;   ///< of these: src is prefetched past the caches
  Nest nest;
};

}  // namespace restride::cpu
