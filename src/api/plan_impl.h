// What a Plan holds.
#pragma once

#include <string>

#include <restride/copy.hpp>

#include "src/api/target.h"
#include "src/cpu/families.h"
#include "src/cuda/kernels.h"
#include "src/cuda/planner.h"
#include "src/layout/canonical.h"
#include "src/plan/decision.h"

namespace restride {

struct Plan::Impl {
  Impl() noexcept {}  // std::make_shared would zero all 31 KB of a defaulted one first

  Layout dst;
  Layout src;
  layout::Reach dst_reach, src_reach;  ///< of these, wherever they are moved to
  std::int64_t dst_align = 1;
  std::int64_t src_align = 1;
  bool reshape = false;     ///< shapes may differ: elements pair in C order
  int threads = 1;          ///< CPU: tasks a run is split into, no more than there are to share
  int threads_allowed = 1;  ///< CPU: of a run of many pairs
  FreshDestination fresh_destination = FreshDestination::kOff;  ///< on the CPU: of runs without options
  layout::Canonical canonical;
  plan::Decision decision;
  std::string costs_of;                ///< whose numbers chose the parameters, as a text said; empty: decision.costs
  cpu::CpuArgs cpu;                    ///< on the CPU
  int cuda_device = -1;                ///< on CUDA: the device's number, or kModelDevice
  cuda::CudaArgs cuda;                 ///< on CUDA
  void* stream = nullptr;              ///< on CUDA: where Plan::run enqueues unless told otherwise
  const Executor* executor = nullptr;  ///< on the CPU: the pool of a Plan::run without options
};

namespace api {

/// What is wrong with options whatever the layouts are. Errors: ArgumentError.
void check(const Options& options);

/// A plan holds for offsets that differ by multiples of this many bytes; promises of alignment end here.
inline constexpr std::int64_t kOffsetPeriod = 128;

/// Offsets that a plan's layouts are to have in place of their own.
struct Offsets {
  std::int64_t dst_bytes = 0;
  std::int64_t src_bytes = 0;
};

/// Plans; the one place where layouts become a decision and a decision becomes arguments. With `moved_to` the plan is
/// for these layouts at other offsets: which differ by multiples of kOffsetPeriod, or by anything where 1 is promised
/// for the alignment of a pointer. Errors name the layouts as they are given.
std::shared_ptr<Plan::Impl> make_plan(const Layout& dst, const Layout& src, const Options& options,
                                      std::int64_t dst_align, std::int64_t src_align,
                                      const Offsets* moved_to = nullptr);
/// A plan like `like` but for its decision: replay. On its threads, as far as the decision lets them share.
std::shared_ptr<Plan::Impl> with_decision(const Plan::Impl& like, const plan::Decision& decision);

/// What planning knows of a plan's GPU: the model's data without one. `device` has passed make_plan.
cuda::CudaMachine cuda_machine(int device);

/// Four digits and the unit that keeps them in front of the point: 38.15 ms.
std::string in_time_units(double ns);

/// Why a candidate that applies is not the chosen one: how far behind it is, and what takes the time.
std::string why_lost(const plan::Decision& d, const plan::Candidate& k);

/// Runs on memory; see Plan::run.
int run_plan(const Plan::Impl& p, void* dst, const void* src, const Executor* executor, int threads,
             void* stream) noexcept;

/// A plan of the cache, which lives as long as this does.
class CachedPlan {
 public:
  /// One of the thread's own plans, whose entry counts its users: none takes its place meanwhile.
  CachedPlan(const Plan::Impl& plan, int& users) noexcept : plan_(plan), users_(&users) { ++users; }
  explicit CachedPlan(std::shared_ptr<const Plan::Impl> plan) noexcept : plan_(*plan), kept_(std::move(plan)) {}
  CachedPlan(const CachedPlan&) = delete;
  CachedPlan& operator=(const CachedPlan&) = delete;
  ~CachedPlan() {
    if (users_ != nullptr) --*users_;
  }
  const Plan::Impl& operator*() const noexcept { return plan_; }

 private:
  const Plan::Impl& plan_;
  int* users_ = nullptr;
  std::shared_ptr<const Plan::Impl> kept_;
};

/// The plan for these layouts on `target` from a bounded, thread-safe cache, made when it is not there. Its offsets may
/// be other ones (Impl::dst, Impl::src): the difference is the pointers' to bear. `fresh`: dst has no pages, whether
/// the caller said so or not.
CachedPlan cached_plan(const Layout& dst, const Layout& src, const Options& asked, const Target& target, bool fresh,
                       std::int64_t dst_align, std::int64_t src_align);

}  // namespace api
}  // namespace restride
