// One plan over many pairs of memory.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/api/plan_impl.h"
#include "src/base/checked.h"
#include "src/cpu/fresh.h"
#include "src/cpu/share.h"
#include "src/cpu/team/team.h"
#include "src/cuda/runtime/device.h"

namespace restride {
namespace {

/// Errors: ArgumentError.
void check_pointer(const void* data, std::int64_t align, const char* side, std::size_t i) {
  if (data == nullptr) throw ArgumentError(fmt::format("{}[{}] is null; give it memory", side, i));
  if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(align) != 0)
    throw ArgumentError(
        fmt::format("{}[{}] is not a multiple of the {} bytes that the plan was promised; make the plan "
                    "with a smaller alignment",
                    side, i, align));
}

using cuda::PointerBits;

/// Of both sides.
std::pair<PointerBits, PointerBits> bits_of(std::span<void* const> dst, std::span<const void* const> src,
                                            bool on_gpu) noexcept {
  if (on_gpu) return {cuda::bits_of(dst.data(), dst.size()), cuda::bits_of(src.data(), src.size())};
  PointerBits to, from;
  for (std::size_t i = 0; i < dst.size(); ++i) {  // together: neither waits for the other
    to.add(dst[i]);
    from.add(src[i]);
  }
  return {to, from};
}

/// The pairs of one call, as the tasks of a team see them: so many tasks a pair, or so many pairs a task.
struct Many {
  const Plan::Impl& p;
  std::span<void* const> dst;
  std::span<const void* const> src;
  std::int64_t tasks = 1;
  cpu::Pieces pieces;  ///< of a pair
  std::int64_t dst_offset = p.canonical.dst_offset + p.cpu.common().dst_shift;
  std::int64_t src_offset = p.canonical.src_offset + p.cpu.common().src_shift;

  void run_tasks(std::int64_t pair, std::int64_t begin, std::int64_t end) const noexcept {
    const auto i = static_cast<std::size_t>(pair);
    p.cpu.run(moved(static_cast<std::byte*>(dst[i]), dst_offset),
              moved(static_cast<const std::byte*>(src[i]), src_offset), begin, end);
  }
  void run_whole(std::int64_t begin, std::int64_t end) const noexcept {
    const cpu::RunArgs* run = p.cpu.of<cpu::RunArgs>();
    if (run != nullptr && run->pairs != nullptr)
      return run->pairs(*run, dst.data() + begin, dst_offset, src.data() + begin, src_offset, end - begin);
    for (std::int64_t i = begin; i < end; ++i) run_tasks(i, 0, pieces.tasks);
  }
  static void body(void* self, int task) {
    const Many& m = *static_cast<const Many*>(self);
    const auto pairs = static_cast<std::int64_t>(m.dst.size());
    if (m.pieces.count > 1) {
      const int piece = task % m.pieces.count;
      m.run_tasks(task / m.pieces.count, m.pieces.begin(piece), m.pieces.begin(piece + 1));
      return;
    }
    const auto begin_of = [&](std::int64_t i) {  // no product that 64 bits may not hold
      return pairs / m.tasks * i + std::min(i, pairs % m.tasks);
    };
    m.run_whole(begin_of(task), begin_of(task + 1));
  }
};

int run_many_on_cpu(const Plan::Impl& p, std::span<void* const> dst, std::span<const void* const> src,
                    const Executor* executor, int allowed, FreshDestination fresh) noexcept {
  const cpu::Work work = cpu::work_of(p.canonical, static_cast<double>(dst.size()), allowed);
  if (fresh != FreshDestination::kOff)
    for (void* d : dst) cpu::prepare_fresh(d, p.dst, p.canonical, fresh, executor, work.threads);
  const auto pairs = static_cast<std::int64_t>(dst.size());
  Many many{p, dst, src, std::min<std::int64_t>(work.pieces, pairs), cpu::pieces_of(p.cpu.common(), 1)};
  if (work.pieces > pairs) {  // larger pairs than pieces are to be
    many.pieces = cpu::pieces_of(p.cpu.common(), static_cast<int>(ceil_div(work.pieces, pairs)));
    many.tasks = pairs * many.pieces.count;
  }
  const int tasks = static_cast<int>(many.tasks);
  cpu::run_tasks(executor, std::min(work.threads, tasks), tasks, Many::body, &many);
  return 0;
}

int run_many_of(const Plan::Impl& p, std::span<void* const> dst, std::span<const void* const> src,
                const Executor* executor, int allowed, void* stream, FreshDestination fresh) {
  if (dst.size() != src.size())
    throw ArgumentError(
        fmt::format("{} pointers to write to, but {} to read from; give one of each a pair", dst.size(), src.size()));
  if (p.canonical.units == 0 || dst.empty()) return 0;
  const bool on_gpu = p.decision.device == DeviceKind::kCuda;
  const bool on_model = on_gpu && p.cuda_device == kModelDevice;
  const auto [of_dst, of_src] = bits_of(dst, src, on_gpu && !on_model);
  if (!of_dst.fits(p.dst_align) || !of_src.fits(p.src_align))
    for (std::size_t i = 0; i < dst.size(); ++i) {
      check_pointer(dst[i], p.dst_align, "dst", i);
      check_pointer(src[i], p.src_align, "src", i);
    }
  if (!on_gpu) return run_many_on_cpu(p, dst, src, executor, allowed, fresh);
  if (on_model) return cuda::kNoDeviceError;
  return cuda::run_cuda_many(p.cuda_device, p.cuda,
                             {dst.data(), src.data(), dst.size(), of_dst.unlike(), of_src.unlike()}, stream);
}

}  // namespace

int Plan::run_many(std::span<void* const> dst, std::span<const void* const> src) const {
  const Impl& p = impl();
  return run_many_of(p, dst, src, p.executor, p.threads_allowed, p.stream, p.fresh_destination);
}

int Plan::run_many(std::span<void* const> dst, std::span<const void* const> src, const Options& options) const {
  api::check(options);
  return run_many_of(impl(), dst, src, options.executor, cpu::threads_allowed(options), options.stream,
                     options.fresh_destination);
}

}  // namespace restride
