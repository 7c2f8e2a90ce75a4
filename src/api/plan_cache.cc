// The plan cache behind copy: bounded, thread-safe, least recently used out first.
//
// A thread's last few plans sit in a direct-mapped table of its own, so a repeated copy takes no lock. Behind
// it a mutex guards the process's plans.
#include <pthread.h>

#include <array>
#include <mutex>
#include <optional>
#include <vector>

#include <restride/measurements.hpp>

#include "src/api/measure.h"
#include "src/api/plan_impl.h"
#include "src/base/checked.h"
#include "src/base/log.h"
#include "src/cpu/team/team.h"

namespace restride::api {
namespace {

constexpr std::size_t kCapacity = 256;
constexpr std::size_t kLocal = 8;

constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;

/// One multiplication a mode in a row: what each mode adds is worked out beside it.
std::uint64_t mix(std::uint64_t h, const Layout& l) noexcept {
  h = h * kOdd + (static_cast<std::uint64_t>(l.element.size_bytes) << 8 | static_cast<std::uint64_t>(l.element.dtype));
  for (const Mode& m : l.modes)
    h = h * kOdd +
        (static_cast<std::uint64_t>(m.extent) * 0xff51afd7ed558ccdULL ^ static_cast<std::uint64_t>(m.stride_bytes));
  return h;
}

struct Key {
  std::uint64_t hash = 0;
  std::int64_t dst_align = 0;
  std::int64_t src_align = 0;
  std::int64_t dst_offset = 0;  ///< what is left of the layouts' offsets in a plan; the pointers take the rest
  std::int64_t src_offset = 0;
  int threads = 0;
  DeviceKind device = DeviceKind::kAuto;
  int cuda_device = -1;
  ResultUse result = ResultUse::kUnknown;
  bool measure = false;
  bool reshape = false;
  const void* measurements = nullptr;  ///< the state that copies of one Measurements share; its Entry keeps it alive
  std::uint64_t generation = 0;        ///< of that state: what was planned by fewer records is planned again

  bool fits(const Plan::Impl& p, const Layout& dst, const Layout& src) const noexcept {
    return p.dst.element == dst.element && p.src.element == src.element && p.dst.modes == dst.modes &&
           p.src.modes == src.modes;
  }
  friend bool operator==(const Key&, const Key&) = default;
};

struct Entry {
  Key key;
  std::uint64_t used = 0;
  std::shared_ptr<const Plan::Impl> plan;
  std::optional<Measurements> measurements;
};

class Cache {
 public:
  std::shared_ptr<const Plan::Impl> find(const Key& key, const Layout& dst, const Layout& src) {
    const std::lock_guard lock(mutex_);
    for (Entry& e : entries_)
      if (e.key == key && key.fits(*e.plan, dst, src)) {
        e.used = ++clock_;
        return e.plan;
      }
    return nullptr;
  }
  void put(Entry entry) {
    const std::lock_guard lock(mutex_);
    entry.used = ++clock_;
    if (entries_.size() < kCapacity) {
      entries_.push_back(std::move(entry));
      return;
    }
    Entry* oldest = &entries_[0];
    for (Entry& e : entries_)
      if (e.used < oldest->used) oldest = &e;
    *oldest = std::move(entry);
  }
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
  std::uint64_t clock_ = 0;
  std::vector<Entry> entries_;
};

Cache& cache() {
  static Cache* instance = [] {
    auto* made = new Cache;  // never destroyed: copies in static destructors stay safe
    // A child forked while another thread looks a plan up must not inherit a locked mutex.
    (void)::pthread_atfork([] { cache().lock(); }, [] { cache().unlock(); }, [] { cache().unlock(); });
    return made;
  }();
  return *instance;
}

/// A thread's own plans. They die with the thread, the main thread's before static objects do; copies in destructors
/// that run later find `local_plans_gone`, which is plain data and stays, and take the process's plans.
struct LocalPlans {
  std::array<Entry, kLocal> entries;
  ~LocalPlans();
};
thread_local bool local_plans_gone = false;
thread_local LocalPlans local_plans;
LocalPlans::~LocalPlans() { local_plans_gone = true; }

}  // namespace

const Plan::Impl& cached_plan(const Layout& dst, const Layout& src, const Options& options, std::int64_t dst_align,
                              std::int64_t src_align, std::shared_ptr<const Plan::Impl>* keep_alive) {
  check(options);  // also where a plan is there already
  if (!options.family.empty()) {
    base::log("family '{}' is forced, so every copy is planned anew; hold a Plan", options.family);
    *keep_alive = make_plan(dst, src, options, dst_align, src_align);
    return **keep_alive;
  }
  // A CPU's plan is the same for every address; only what is measured, and where, asks for it. All others depend on
  // where in a line of kOffsetPeriod bytes the first element lies.
  const bool anywhere = options.device == DeviceKind::kCpu && options.measurements == nullptr && !options.measure;
  if (anywhere) dst_align = src_align = 1;
  const auto kept = [&](const Layout& l) {
    // An offset that is refused stays as it is, so that no cached plan fits it.
    if (magnitude(l.offset_bytes) > kMaxBytes) return l.offset_bytes;
    return anywhere ? 0 : l.offset_bytes & (kOffsetPeriod - 1);
  };
  Key key;
  key.dst_offset = kept(dst);
  key.src_offset = kept(src);
  key.hash = mix(mix(0, dst), src) * kOdd >> 32;
  key.dst_align = dst_align;
  key.src_align = src_align;
  key.threads = options.device == DeviceKind::kCuda ? 0 : cpu::threads_allowed(options);
  key.device = options.device;
  key.cuda_device = options.cuda_device;
  key.result = options.result;
  key.measure = options.measure;
  key.reshape = options.reshape;
  if (options.measurements != nullptr) {
    key.measurements = &options.measurements->state();
    key.generation = options.measurements->state().generation;
  }
  Entry* local = local_plans_gone ? nullptr : &local_plans.entries[key.hash % kLocal];
  if (local != nullptr && local->key == key && local->plan && key.fits(*local->plan, dst, src)) {
    *keep_alive = local->plan;  // a copy made by one of this copy's own tasks may take the slot
    return **keep_alive;
  }
  Entry entry{key, 0, cache().find(key, dst, src), {}};
  if (options.measurements != nullptr) entry.measurements = *options.measurements;
  if (!entry.plan) {
    if (base::log_is_on())
      base::log(
          "{} -> {} was not in the cache of {} plans, and is planned; hold a Plan where layouts change from call to "
          "call",
          to_string(src), to_string(dst), kCapacity);
    const Offsets offsets{key.dst_offset, key.src_offset};
    entry.plan = make_plan(dst, src, options, dst_align, src_align, &offsets);
    cache().put(entry);
  }
  *keep_alive = entry.plan;
  if (local != nullptr) *local = std::move(entry);
  return **keep_alive;
}

}  // namespace restride::api
