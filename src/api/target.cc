#include "src/api/target.h"

#include <fmt/format.h>

#include <restride/error.hpp>

namespace restride::api {
namespace {

bool gpu_can_reach(const Place& p) { return p.kind != MemoryKind::kHost; }

/// The GPU that the pointers name, or options.cuda_device when they name none.
int device_of(const Place& dst, const Place& src, const Options& options) {
  int device = -1;
  for (const Place* p : {&dst, &src}) {
    if (p->kind != MemoryKind::kDevice) continue;
    if (device >= 0 && p->device != device)
      throw DeviceError(
          fmt::format("dst is {}, src {}; bring both to one device first, with cudaMemcpyPeerAsync for instance",
                      to_string(dst), to_string(src)));
    device = p->device;
  }
  if (options.cuda_device >= 0 && device >= 0 && device != options.cuda_device)
    throw DeviceError(fmt::format(
        "the memory is on cuda:{}, but Options::cuda_device is {}; leave it at -1, or give memory of that device",
        device, options.cuda_device));
  return device >= 0 ? device : options.cuda_device;
}

[[noreturn]] void refuse_mixture(const Place& dst, const Place& src) {
  const bool pinned = dst.kind == MemoryKind::kPinned || src.kind == MemoryKind::kPinned;
  throw DeviceError(
      fmt::format("dst is {}, src {}; copies between host and device are not supported: bring one side over with "
                  "cudaMemcpyAsync first{}",
                  to_string(dst), to_string(src),
                  pinned ? ", or let the GPU reach the pinned side with Options::device = kCuda" : ""));
}

}  // namespace

std::string to_string(const Place& p) {
  switch (p.kind) {
    case MemoryKind::kNone: return "nowhere";
    case MemoryKind::kHost: return "in host memory";
    case MemoryKind::kPinned: return "in pinned host memory";
    case MemoryKind::kManaged: return "in managed memory";
    default: return fmt::format("on cuda:{}", p.device);
  }
}

Target choose_target(const Place& dst, const Place& src, const Options& options) {
  const bool any_device = dst.kind == MemoryKind::kDevice || src.kind == MemoryKind::kDevice;
  switch (options.device) {
    case DeviceKind::kCpu:
      if (any_device)
        throw DeviceError(
            fmt::format("dst is {}, src {}, and the CPU was asked for; leave Options::device at kAuto, or bring the "
                        "memory to the host first",
                        to_string(dst), to_string(src)));
      return {DeviceKind::kCpu, -1};
    case DeviceKind::kCuda:
      if (!gpu_can_reach(dst) || !gpu_can_reach(src)) {
        if (any_device) refuse_mixture(dst, src);
        throw DeviceError(fmt::format(
            "dst is {}, src {}, and a GPU was asked for; give it device, managed or pinned memory, or leave "
            "Options::device at kAuto",
            to_string(dst), to_string(src)));
      }
      return {DeviceKind::kCuda, device_of(dst, src, options)};
    default: break;
  }
  if (any_device) {
    for (const Place* p : {&dst, &src})
      if (p->kind == MemoryKind::kHost || p->kind == MemoryKind::kPinned) refuse_mixture(dst, src);
    return {DeviceKind::kCuda, device_of(dst, src, options)};
  }
  if (dst.kind == MemoryKind::kManaged && src.kind == MemoryKind::kManaged)
    return {DeviceKind::kCuda, options.cuda_device};
  return {DeviceKind::kCpu, -1};
}

std::string refusal(const Target& target, const Place& place) {
  if (target.kind != DeviceKind::kCuda)
    return place.kind != MemoryKind::kDevice
               ? std::string()
               : fmt::format("is {}, but the plan is for memory of the host; plan with device = kCuda, on all ranks",
                             to_string(place));
  if (gpu_can_reach(place) && (place.kind != MemoryKind::kDevice || place.device == target.device)) return {};
  return fmt::format("is {}, but the plan is for cuda:{}; give it memory of that GPU, or plan for {}", to_string(place),
                     target.device, gpu_can_reach(place) ? "another cuda_device" : "the host");
}

}  // namespace restride::api
