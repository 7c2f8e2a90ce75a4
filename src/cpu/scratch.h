// Host memory to try a copy on.
#pragma once

#include <memory>

#include "src/base/scratch.h"

namespace restride::cpu {

/// Errors: MemoryError.
std::unique_ptr<base::Scratch> scratch(const base::ScratchSide& dst, const base::ScratchSide& src);

}  // namespace restride::cpu
