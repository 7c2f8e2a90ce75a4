// copy: check the pointers, find the plan, run it.
#include <fmt/format.h>

#include "src/api/plan_impl.h"
#include "src/base/checked.h"
#include "src/cpu/fresh.h"
#include "src/cuda/runtime/device.h"

namespace restride {
namespace {

/// The promise a pointer makes by itself.
std::int64_t alignment_of(const void* p) noexcept {
  return power_of_two_divisor(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p)), 128);
}

/// True when dst and src name the same bytes in the same order: nothing to do.
bool identical(const layout::Canonical& c, const void* dst, const void* src) noexcept {
  if (c.cast || c.two_sided) return false;
  if (moved(dst, c.dst_offset) != moved(src, c.src_offset)) return false;
  for (const layout::CopyMode& m : c.modes)
    if (m.dst_stride != m.src_stride) return false;
  return true;
}

/// The first element: a data pointer itself may lie outside its allocation, its elements do not.
const void* first_element(const void* data, const Layout& layout) noexcept {
  return data == nullptr ? nullptr : moved(data, layout.offset_bytes);
}

[[gnu::noinline]] bool has_nothing(const Layout& layout) noexcept {
  for (const Mode& m : layout.modes)
    if (m.extent == 0) return true;
  return false;
}

/// `asked`, with the device that the pointers mean. Errors: DeviceError.
Options on_target(const Options& asked, const Tensor& dst, const ConstTensor& src) {
  Options options = asked;
  if (has_nothing(dst.layout) || has_nothing(src.layout)) {
    // Where the pointers lie is of no account: a slice's end may lie behind its allocation. The CPU looks at the
    // layouts.
    options.device = DeviceKind::kCpu;
    return options;
  }
  const api::Target target = api::choose_target(cuda::place_of(first_element(dst.data, dst.layout)),
                                                cuda::place_of(first_element(src.data, src.layout)), asked);
  options.device = target.kind;
  options.cuda_device = target.device;
  if (target.kind != DeviceKind::kCuda) return options;
  if (target.device < 0) options.cuda_device = cuda::current_device();
  const int of_stream = cuda::device_of_stream(asked.stream);
  if (of_stream >= 0 && of_stream != options.cuda_device)
    throw DeviceError(fmt::format(
        "the stream is one of cuda:{}, the memory is on cuda:{}; make a stream while the memory's device is current",
        of_stream, options.cuda_device));
  return options;
}

}  // namespace

void copy(const Tensor& dst, const ConstTensor& src, const Options& asked) {
  const Options options = on_target(asked, dst, src);
  std::shared_ptr<const Plan::Impl> keep_alive;
  const Plan::Impl& plan =
      api::cached_plan(dst.layout, src.layout, options, alignment_of(dst.data), alignment_of(src.data), &keep_alive);
  if (plan.canonical.units == 0) return;
  if (dst.data == nullptr || src.data == nullptr)
    throw ArgumentError(fmt::format("{} is null but holds {} elements; give it memory",
                                    dst.data == nullptr ? "dst.data" : "src.data", dst.layout.elements()));
  void* const to = moved(dst.data, dst.layout.offset_bytes - plan.dst.offset_bytes);
  const void* const from = moved(src.data, src.layout.offset_bytes - plan.src.offset_bytes);
  if (layout::may_overlap(dst.data, dst.layout, src.data, src.layout)) {
    if (identical(plan.canonical, to, from)) return;
    throw OverlapError(fmt::format("dst {} overlaps src {}; copy through a temporary, or give dst other memory",
                                   to_string(dst.layout), to_string(src.layout)));
  }
  if (options.fresh_destination != FreshDestination::kOff && options.device == DeviceKind::kCpu)
    cpu::prepare_fresh(to, plan.canonical, options.fresh_destination, options.executor, plan.threads);
  const int status = api::run_plan(plan, to, from, options.executor, plan.threads, options.stream);
  if (status != 0)
    throw DeviceError(fmt::format("cuda:{} refused the copy: {}", options.cuda_device, cuda::error_text(status)));
}

}  // namespace restride
