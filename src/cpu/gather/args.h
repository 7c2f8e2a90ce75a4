// What the kernel gather/units is given.
#pragma once

#include "src/cpu/args.h"

namespace restride::cpu {

/// A task is a unit.
struct GatherArgs : CommonArgs {
  KernelCode<GatherArgs> kernel = nullptr;
  Nest nest;      ///< all modes
  Nest src_nest;  ///< with two sides: the source's own modes
};

}  // namespace restride::cpu
