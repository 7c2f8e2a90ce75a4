// Memory of a GPU to try a copy on. No CUDA headers.
#pragma once

#include <memory>

#include "src/base/scratch.h"

namespace restride::cuda {

/// Errors: MemoryError, DeviceError.
std::unique_ptr<base::Scratch> scratch(int device, const base::ScratchSide& dst, const base::ScratchSide& src);

}  // namespace restride::cuda
