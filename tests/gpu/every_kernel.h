// One small copy for each of the CUDA kernels and each of its forms: what the sanitizers run. Planned without a GPU, so
// that ./dev test sees whether a copy still goes where it is meant to go.
#pragma once

#include <string>
#include <vector>

#include "src/api/plan_impl.h"

namespace restride::test {

struct KernelCase {
  std::string kernel;  ///< as kernel_of says it: name, form, bytes of a unit
  std::string dst, src;
  std::int64_t dst_skew = 0, src_skew = 0;  ///< the data pointers modulo 128
};

const std::vector<KernelCase>& kernel_cases();

/// The kernel and the form of it that a prepared launch goes to.
std::string kernel_of(const cuda::CudaArgs& args);

/// A GPU of so few multiprocessors that kernels for large copies bid for small ones, and blocks take many tiles.
cuda::CudaMachine few_multiprocessors();

/// The case planned for `cuda_device` as such a GPU, by the candidate whose kernel the case names. Errors:
/// std::runtime_error, with the kernels that there are, where no candidate has it.
Plan plan_of(const KernelCase& c, int cuda_device);

}  // namespace restride::test
