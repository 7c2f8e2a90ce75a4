#include "src/cpu/families.h"

#include <algorithm>
#include <iterator>

#include "src/base/checked.h"
#include "src/cpu/prepare.h"

namespace restride::cpu {
namespace {

using plan::Family;

/// `kPrepare` makes the arguments of a family.
template <auto kPrepare>
CpuArgs made_by(const layout::Canonical& c, const plan::Candidate& k, int threads) {
  return CpuArgs(kPrepare(c, k, threads));
}

}  // namespace

const Kernel kKernels[kKernelCount] = {
#define RESTRIDE_X(family, name, bid, prepare, ...) {{Family::family, name}, bid, made_by<prepare>, {__VA_ARGS__}},
    RESTRIDE_CPU_KERNELS(RESTRIDE_X)
#undef RESTRIDE_X
};

CpuArgs prepare_cpu(const layout::Canonical& c, const plan::Decision& d, int threads) {
  if (d.chosen.kernel.family == Family::kNoop) return CpuArgs();
  const auto* row = std::find_if(std::begin(kKernels), std::end(kKernels),
                                 [&](const Kernel& k) { return k.name == d.chosen.kernel; });
  if (row == std::end(kKernels)) refuse(d.chosen, c);
  return row->prepare(c, d.chosen, threads);
}

}  // namespace restride::cpu
