#include "src/cpu/machine.h"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include <hwy/targets.h>

namespace restride::cpu {
namespace {

bool made_by_amd() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  unsigned highest = 0;
  unsigned vendor[3] = {};  // its twelve letters, in the order ebx, edx, ecx
  if (__get_cpuid(0, &highest, &vendor[0], &vendor[2], &vendor[1]) == 0) return false;
  return std::memcmp(vendor, "AuthenticAMD", sizeof vendor) == 0 ||
         std::memcmp(vendor, "HygonGenuine", sizeof vendor) == 0;
#else
  return false;
#endif
}

/// Bytes of the least unit that the kernels' permutes of two vectors take here; more than any where there are none.
std::int64_t least_shuffled_unit() noexcept {
  const std::int64_t usable = static_cast<std::int64_t>(hwy::SupportedTargets()) & HWY_TARGETS;
  const std::int64_t best = usable & -usable;  // the lowest bit
  return best <= HWY_AVX3_DL ? 1 : best <= HWY_AVX3 ? 2 : 32;
}

CpuMachine look() noexcept {
  CpuMachine machine = made_by_amd() ? kAmdMachine : CpuMachine{};
  machine.least_shuffled_unit = least_shuffled_unit();
  return machine;
}

}  // namespace

const CpuMachine& this_cpu() noexcept {
  static const CpuMachine machine = look();
  return machine;
}

}  // namespace restride::cpu
