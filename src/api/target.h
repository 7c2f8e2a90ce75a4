// Where a copy runs: the rules, as pure functions of what is known about the two pointers.
#pragma once

#include <string>

#include <restride/copy.hpp>

#include "src/cuda/runtime/place.h"

namespace restride::api {

using cuda::MemoryKind;
using cuda::Place;

/// "in host memory", "on cuda:1", "in managed memory".
std::string to_string(const Place& place);

struct Target {
  DeviceKind kind = DeviceKind::kCpu;
  int device = -1;  ///< CUDA's number; -1 on the CPU, and for "the current device"
  friend constexpr bool operator==(const Target&, const Target&) = default;
};

/// Where to run a copy between two places.
///
/// kAuto: with device memory on a side, on that device; the other side must be there too, or managed. Two managed
/// sides go to the GPU, so that the copy is ordered with what the stream did to them. All else is the CPU's, pinned
/// memory included. kCuda: pinned memory may be read and written from the GPU. kCpu: device memory is refused.
/// Errors: DeviceError for host and device mixed, for two devices, and for a device other than options.cuda_device.
Target choose_target(const Place& dst, const Place& src, const Options& options);

/// Why a plan for `target` may not read and write there, by the same rules: "is on cuda:1, but ...". Empty: it may.
std::string refusal(const Target& target, const Place& place);

}  // namespace restride::api
