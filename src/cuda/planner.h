// The CUDA planner: families bid for a canonical copy; the cheapest bid wins. Deterministic, allocates nothing,
// needs no GPU and no CUDA headers.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/layout/canonical.h"
#include "src/plan/decision.h"

namespace restride::cuda {

using plan::Candidate;
using plan::Decision;
using plan::Family;
using plan::Param;
using plan::ParamId;
using plan::Params;
using plan::Prediction;
using plan::Traffic;

/// What the cost model knows of a GPU and of the code that is loaded on it. The defaults are an H200's.
struct CudaMachine {
  int cc_major = 9;
  int cc_minor = 0;
  int sm_count = 132;
  std::int64_t l2_bytes = 60 << 20;
  std::int64_t shared_per_sm_bytes = 228 << 10;
  std::int64_t shared_per_block_bytes = 227 << 10;  ///< opt-in maximum
  int threads_per_sm = 2048;
  bool bulk_copies = true;  ///< the kernels that this GPU runs hold bulk tensor copies, and its driver takes them
  double copy_bytes_per_ns = 4250;  ///< device-to-device copy of a large buffer, read + written
};

/// Errors: ArgumentError when `forced` names no family, or one that does not apply (with its reason).
Decision plan_cuda(const layout::Canonical& c, const CudaMachine& machine, std::string_view forced = {});

}  // namespace restride::cuda
