// Running a test on each instruction set that this host and this build share.
#pragma once

#include <hwy/highway.h>

#include <cstdint>
#include <vector>

namespace restride::test {

/// The sets, each as a mask of one bit; `hwy::TargetName` has their names.
inline std::vector<std::int64_t> instruction_sets() { return hwy::SupportedAndGeneratedTargets(); }

/// While it lives, kernels are picked from one instruction set. A plan keeps the kernel it was made with.
class OnInstructionSet {
 public:
  explicit OnInstructionSet(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
  }
  ~OnInstructionSet() {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
  }
  OnInstructionSet(const OnInstructionSet&) = delete;
  OnInstructionSet& operator=(const OnInstructionSet&) = delete;
};

}  // namespace restride::test
