#include "src/launch/cpu_machine.h"

#include <cstring>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace restride::launch {
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

}  // namespace

const plan::CpuMachine& this_cpu() noexcept {
  static const plan::CpuMachine machine = made_by_amd() ? plan::kAmdMachine : plan::CpuMachine{};
  return machine;
}

}  // namespace restride::launch
