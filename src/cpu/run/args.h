// What the kernel run/units is given.
#pragma once

#include "src/cpu/args.h"

namespace restride::cpu {

/// A task is a unit; row_src_stride is a unit, too.
struct RunArgs : StridedArgs {
  KernelCode<RunArgs> kernel = nullptr;
};

}  // namespace restride::cpu
