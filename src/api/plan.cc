// Plan: validate, decide, prepare, run.
#include <fmt/format.h>

#include <algorithm>

#include <restride/detail/ranks.hpp>

#include "src/api/machines.h"
#include "src/api/measure.h"
#include "src/api/plan_impl.h"
#include "src/base/checked.h"
#include "src/base/log.h"
#include "src/cpu/fresh.h"
#include "src/cpu/planner.h"
#include "src/cpu/share.h"
#include "src/cpu/team/team.h"
#include "src/cuda/runtime/device.h"

namespace restride {

std::string_view name(DeviceKind device) noexcept {
  switch (device) {
    case DeviceKind::kCpu: return "cpu";
    case DeviceKind::kCuda: return "cuda";
    default: return "auto";
  }
}

namespace api {
namespace {

/// One run of a CPU plan, as the tasks of a team see it.
struct Shared {
  const cpu::CpuArgs& args;
  std::byte* dst;
  const std::byte* src;
  cpu::Pieces pieces;

  static void body(void* self, int i) {
    const Shared& s = *static_cast<const Shared*>(self);
    s.args.run(s.dst, s.src, s.pieces.begin(i), s.pieces.begin(i + 1));
  }
};

/// Apart from run_plan, so that a copy on one thread saves no registers for it.
[[gnu::noinline]] void run_shared(const Plan::Impl& p, std::byte* dst, const std::byte* src, const Executor* executor,
                                  int threads) noexcept {
  const cpu::Work work = cpu::work_of(p.canonical, 1, threads);
  Shared shared{p.cpu, dst, src, cpu::pieces_of(p.cpu.common(), work.pieces)};
  cpu::run_tasks(executor, std::min(work.threads, shared.pieces.count), shared.pieces.count, Shared::body, &shared);
}

/// The canonical form at other offsets; its alignments are the same.
void move(Plan::Impl& p, const Offsets& to) {
  p.canonical.dst_offset += to.dst_bytes - p.dst.offset_bytes;
  p.canonical.src_offset += to.src_bytes - p.src.offset_bytes;
  p.dst.offset_bytes = to.dst_bytes;
  p.src.offset_bytes = to.src_bytes;
}

/// This machine, with the share of the caches that a result for this use may take; a larger one in fresh memory, which
/// lies in them since the kernel zeroed it.
cpu::CpuMachine machine_for(const Options& options) noexcept {
  cpu::CpuMachine machine = machines().cpu;
  if (options.fresh_destination != FreshDestination::kOff) machine.stream_share *= 4;
  if (options.result == ResultUse::kSoon) machine.stream_share *= 2;
  if (options.result == ResultUse::kLater) machine.stream_share = 0;
  return machine;
}

/// From the decision to the kernel's arguments, which say how many threads can share them.
void prepare(Plan::Impl& p) {
  if (p.decision.device == DeviceKind::kCuda) {
    p.cuda = cuda::prepare_cuda(p.canonical, p.decision);
    return;
  }
  p.cpu = cpu::prepare_cpu(p.canonical, p.decision, p.threads);
  p.threads = cpu::pieces_of(p.cpu.common(), p.threads).count;
}

}  // namespace

cuda::CudaMachine cuda_machine(int device) {
  if (device == kModelDevice) return {};
  cuda::CudaMachine machine = cuda::machine_of(device);
  cuda::take_nearest_costs(machines().gpus, &machine);
  return machine;
}

std::shared_ptr<Plan::Impl> with_decision(const Plan::Impl& like, const plan::Decision& decision) {
  auto p = std::make_shared<Plan::Impl>(like);
  p->decision = decision;
  prepare(*p);
  return p;
}

void check(const Options& options) {
  if (options.threads < 0)
    throw ArgumentError(fmt::format("threads = {}; use 0 for the default or a positive count", options.threads));
}

namespace {

/// Not where the caller asked for it.
void log_gather(const Plan::Impl& p, const Options& options) {
  if (p.decision.chosen.kernel.family != plan::Family::kGather || !options.family.empty()) return;
  const std::string from = to_string(p.src), to = to_string(p.dst);
  if (p.canonical.two_sided)
    base::log(
        "{} -> {} is copied by gather, element by element, because the shapes have no common modes; copy to a "
        "contiguous tensor of the source's shape first, and reshape that",
        from, to);
  else
    base::log(
        "{} -> {} is copied by gather, element by element, because nothing else is faster; `restride explain '{} -> "
        "{}'` says why, and a mode that is dense on both sides helps most",
        from, to, from, to);
}

}  // namespace

std::shared_ptr<Plan::Impl> make_plan(const Layout& dst, const Layout& src, const Options& options,
                                      std::int64_t dst_align, std::int64_t src_align, const Offsets* moved_to) {
  check(options);
  auto p = std::make_shared<Plan::Impl>();
  p->dst = dst;
  p->src = src;
  p->dst_reach = layout::reach_of(dst);
  p->src_reach = layout::reach_of(src);
  p->dst_align = dst_align;
  p->src_align = src_align;
  p->reshape = options.reshape;
  const auto shapes = options.reshape ? layout::Shapes::kOfOneCount : layout::Shapes::kEqual;
  if (options.device == DeviceKind::kCuda) {
    p->cuda_device = detail::cuda_device_of(options);
    p->stream = options.stream;
    p->canonical = layout::canonicalize(dst, src, dst_align, src_align, layout::UnitRule::kAligned, shapes);
    if (moved_to != nullptr) move(*p, *moved_to);
    p->decision = cuda::plan_cuda(p->canonical, cuda_machine(p->cuda_device), options.family);
  } else {
    p->canonical = layout::canonicalize(dst, src, dst_align, src_align, layout::UnitRule::kAnywhere, shapes);
    if (moved_to != nullptr) move(*p, *moved_to);
    p->threads_allowed = cpu::threads_allowed(options);
    p->threads = cpu::threads_that_pay(p->canonical, p->threads_allowed);
    p->decision = cpu::plan_cpu(p->canonical, machine_for(options), options.family, p->threads);
    p->fresh_destination = options.fresh_destination;
  }
  choose_by_time(*p, options);
  prepare(*p);
  if (base::log_is_on()) log_gather(*p, options);
  return p;
}

int run_plan(const Plan::Impl& p, void* dst, const void* src, const Executor* executor, int threads,
             void* stream) noexcept {
  if (p.canonical.units == 0) return 0;
  if (p.decision.device == DeviceKind::kCuda)
    return p.cuda_device == kModelDevice ? cuda::kNoDeviceError
                                         : cuda::run_cuda(p.cuda_device, p.cuda, dst, src, stream);
  const cpu::CommonArgs& common = p.cpu.common();
  auto* to = moved(static_cast<std::byte*>(dst), p.canonical.dst_offset + common.dst_shift);
  const auto* from = moved(static_cast<const std::byte*>(src), p.canonical.src_offset + common.src_shift);
  if (threads <= 1)
    p.cpu.run(to, from, 0, common.tasks);
  else
    run_shared(p, to, from, executor, threads);
  return 0;
}

}  // namespace api

namespace {

std::int64_t promised(std::int64_t align, const Layout& layout, const Options& options) {
  if (align == 0) return options.device == DeviceKind::kCuda ? power_of_two_divisor(layout.element.size_bytes, 16) : 1;
  if (align < 0 || (align & (align - 1)) != 0)
    throw ArgumentError(fmt::format("an alignment of {} bytes; promise a power of two", align));
  return align;
}

}  // namespace

Plan::Plan(const Layout& dst, const Layout& src, const Options& options, std::int64_t dst_align,
           std::int64_t src_align) {
  auto made = api::make_plan(dst, src, options, promised(dst_align, dst, options), promised(src_align, src, options));
  made->executor = options.executor;
  impl_ = std::move(made);
}

void Plan::throw_empty() {
  throw ArgumentError("the plan is empty: it was default constructed or moved from; assign Plan(dst, src) to it first");
}

int Plan::run(void* dst, const void* src) const {
  const Impl& p = impl();
  if (p.decision.device == DeviceKind::kCuda) return api::run_plan(p, dst, src, nullptr, 1, p.stream);
  if (cpu::is_fresh(p.fresh_destination, dst, p.dst))
    cpu::prepare_fresh(dst, p.dst, p.canonical, p.fresh_destination, p.executor, p.threads);
  return api::run_plan(p, dst, src, p.executor, p.threads, nullptr);
}

int Plan::run(void* dst, const void* src, const Options& options) const {
  const Impl& p = impl();
  if (p.decision.device == DeviceKind::kCuda) return api::run_plan(p, dst, src, nullptr, 1, options.stream);
  const int threads = cpu::threads_that_pay(p.canonical, cpu::threads_allowed(options));
  if (cpu::is_fresh(options.fresh_destination, dst, p.dst))
    cpu::prepare_fresh(dst, p.dst, p.canonical, options.fresh_destination, options.executor, threads);
  return api::run_plan(p, dst, src, options.executor, threads, options.stream);
}

Layout Plan::dst() const { return impl().dst; }
Layout Plan::src() const { return impl().src; }
std::string_view Plan::family() const { return plan::name(impl().decision.chosen.kernel.family); }
std::string_view Plan::kernel() const { return impl().decision.chosen.kernel.text; }
DeviceKind Plan::device() const { return impl().decision.device; }
int Plan::cuda_device() const { return impl().cuda_device; }
int Plan::threads() const { return impl().threads; }

}  // namespace restride
