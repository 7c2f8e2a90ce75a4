// What the kernel run/units is given.
#pragma once

#include "src/cpu/args.h"

namespace restride::cpu {

struct RunArgs;

/// Moves `count` whole runs, from src[i] + src_offset to dst[i] + dst_offset.
using PairsCode = void (*)(const RunArgs& args, void* const* dst, std::int64_t dst_offset, const void* const* src,
                           std::int64_t src_offset, std::int64_t count) noexcept;

/// A task is a unit; row_src_stride is a unit, too.
struct RunArgs : StridedArgs {
  KernelCode<RunArgs> kernel = nullptr;
  PairsCode pairs = nullptr;  ///< null: pairs are moved one by one
};

}  // namespace restride::cpu
