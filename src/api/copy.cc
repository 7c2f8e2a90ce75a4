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
template <class T>
T* first_element(T* data, const Layout& layout) noexcept {
  return data == nullptr ? nullptr : moved(data, layout.offset_bytes);
}

bool has_nothing(const Layout& layout) noexcept {
  for (const Mode& m : layout.modes)
    if (m.extent == 0) return true;
  return false;
}

/// The device that the pointers mean, where they are not both of the host's memory. Errors: DeviceError.
[[gnu::noinline]] api::Target target_of(const api::Place& to, const api::Place& from, const Options& asked,
                                        const Layout& dst, const Layout& src) {
  // Where the pointers of nothing lie is of no account: a slice's end may lie behind its allocation. The CPU looks at
  // the layouts.
  if (has_nothing(dst) || has_nothing(src)) return {};
  api::Target target = api::choose_target(to, from, asked);
  if (target.kind != DeviceKind::kCuda) return target;
  if (target.device < 0) target.device = cuda::current_device();
  const int of_stream = cuda::device_of_stream(asked.stream);
  if (of_stream >= 0 && of_stream != target.device)
    throw DeviceError(fmt::format(
        "the stream is one of cuda:{}, the memory is on cuda:{}; make a stream while the memory's device is current",
        of_stream, target.device));
  return target;
}

}  // namespace

void copy(const Tensor& dst, const ConstTensor& src, const Options& asked) {
  void* const dst_first = first_element(dst.data, dst.layout);
  const void* const src_first = first_element(src.data, src.layout);
  const api::Place to_place = cuda::place_of(dst_first), from_place = cuda::place_of(src_first);
  api::Target target;
  if (asked.device == DeviceKind::kCuda || to_place.kind != api::MemoryKind::kHost ||
      from_place.kind != api::MemoryKind::kHost)
    target = target_of(to_place, from_place, asked, dst.layout, src.layout);
  const bool fresh = target.kind == DeviceKind::kCpu && cpu::is_fresh(asked.fresh_destination, dst.data, dst.layout);
  const api::CachedPlan cached =
      api::cached_plan(dst.layout, src.layout, asked, target, fresh, alignment_of(dst.data), alignment_of(src.data));
  const Plan::Impl& plan = *cached;
  if (plan.canonical.units == 0) return;
  if (dst.data == nullptr || src.data == nullptr)
    throw ArgumentError(fmt::format("{} is null but holds {} elements; give it memory",
                                    dst.data == nullptr ? "dst.data" : "src.data", dst.layout.elements()));
  void* const to = moved(dst_first, -plan.dst.offset_bytes);
  const void* const from = moved(src_first, -plan.src.offset_bytes);
  if (!layout::apart(dst_first, plan.dst_reach, src_first, plan.src_reach) &&
      layout::may_overlap(dst.data, dst.layout, src.data, src.layout)) {
    if (identical(plan.canonical, to, from)) return;
    throw OverlapError(fmt::format("dst {} overlaps src {}; copy through a temporary, or give dst other memory",
                                   to_string(dst.layout), to_string(src.layout)));
  }
  if (fresh) cpu::prepare_fresh(to, plan.dst, plan.canonical, asked.fresh_destination, asked.executor, plan.threads);
  const int status = api::run_plan(plan, to, from, asked.executor, plan.threads, asked.stream);
  if (status != 0)
    throw DeviceError(fmt::format("cuda:{} refused the copy: {}", target.device, cuda::error_text(status)));
}

}  // namespace restride
