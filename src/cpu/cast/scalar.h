// The contiguous casts without vector code; behind cast_run for the pairs and machines that have none.
#pragma once

#include "src/cpu/cast/cast.h"

namespace restride::cpu {

CastRun cast_run_scalar(DType dst, DType src) noexcept;

}  // namespace restride::cpu
