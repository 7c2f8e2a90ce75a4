// The lab's device in a build without CUDA: absent, and it says why.
#include <restride/error.hpp>

#include "lab/device.h"

namespace restride::lab {
namespace {

constexpr const char* kWhyNot = "this build has no CUDA kernels (RESTRIDE_CUDA was off, or nvcc was not found)";

[[noreturn]] void refuse() { throw DeviceError(kWhyNot); }

}  // namespace

Device find_device() {
  Device device;
  device.why_not = kWhyNot;
  return device;
}

std::vector<Timing> time_tasks(std::span<const Task>, int, int) { refuse(); }
std::int64_t check_task(const Task&, int) { refuse(); }
void launch_once(std::span<const Task>, int) { refuse(); }

}  // namespace restride::lab
