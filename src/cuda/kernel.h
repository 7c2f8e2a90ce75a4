// The types of what a family's header declares for the registry (kernels.h), by name only: kernels need not be compiled
// again when planning changes.
#pragma once

#include "src/cuda/launch.h"

namespace restride::layout {
struct Canonical;
}  // namespace restride::layout

namespace restride::plan {
struct Candidate;
}  // namespace restride::plan

namespace restride::cuda {

struct Request;
using plan::Candidate;

}  // namespace restride::cuda
