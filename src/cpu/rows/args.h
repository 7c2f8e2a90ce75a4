// What the kernels of rows are given, and run/pieces, which is moved by them.
#pragma once

#include "src/cpu/args.h"

namespace restride::cpu {

/// A task is a row of the nest, or a piece of one.
struct RowsArgs : StridedArgs {
  KernelCode<RowsArgs> kernel = nullptr;
  std::int64_t units = 0;           ///< of a row or a piece of one
  std::int64_t last_units = 0;      ///< of a row's last piece, where nest mode 0 walks the pieces; 0: all are whole
  std::int64_t row_dst_stride = 0;  ///< bytes between units of dst: more than dst_unit for records only
  RecordShape record;               ///< rows/records
  Nest nest;
};

}  // namespace restride::cpu
