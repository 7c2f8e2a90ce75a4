// The registry of CUDA's kernels: one row a kernel. The planner asks every row for its bid, a plan is prepared and
// launched through the row that its decision names.
#pragma once

#include <span>
#include <string_view>

#include "src/cuda/bid.h"
#include "src/cuda/launch.h"
#include "src/cuda/pairs.h"
#include "src/layout/canonical.h"
#include "src/plan/decision.h"

namespace restride::cuda {

/// Bids for the kernels of a few rows that lie together and share what has to be derived for them; `bids` has one entry
/// per row, in order; each starts as a refusal without a reason.
using Bidder = void(const Request& request, std::span<Candidate> bids);

/// Fills the arguments of the kernel that `chosen` names. They follow from the canonical form and the parameters.
using Preparer = void(const layout::Canonical& c, const Candidate& chosen, CudaArgs& out);

struct Kernel {
  plan::KernelName name;
  std::string_view symbol;  ///< of its __global__ function; run's kernels are those of rows
  Bidder* bid;
  Preparer* prepare;
  Launcher* launch;                       ///< null in a library that was built without CUDA
  PairsLauncher* launch_pairs = nullptr;  ///< null there, too, and where a launch has one pair
};

/// All of them, in the order in which equal bids win.
std::span<const Kernel> kernels() noexcept;

/// The row of that name; null where there is none.
const Kernel* find_kernel(std::string_view name) noexcept;

/// The arguments of the kernel that `decision` chose for `c`. Host arithmetic only; builds without CUDA.
CudaArgs prepare_cuda(const layout::Canonical& c, const plan::Decision& decision);

}  // namespace restride::cuda
