// The plan cache behind copy: bounded, thread-safe, least recently used out first.
//
// A thread's last few plans sit in a direct-mapped table of its own, so a repeated copy takes no lock. Behind
// it a mutex guards the process's plans.
#include <pthread.h>

#include <array>
#include <mutex>
#include <new>
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

/// A sum of products: no multiplication waits for another one.
class Hash {
 public:
  void add(const Layout& l) noexcept {
    add(static_cast<std::uint64_t>(l.element.size_bytes) << 8 | static_cast<std::uint64_t>(l.element.dtype));
    for (const Mode& m : l.modes)
      add(static_cast<std::uint64_t>(m.extent) * 0xff51afd7ed558ccdULL ^ static_cast<std::uint64_t>(m.stride_bytes));
  }
  std::uint64_t value() const noexcept { return sum_ * kOdd >> 32; }

 private:
  void add(std::uint64_t value) noexcept {
    sum_ += value * factor_;
    factor_ += 2 * 0xd1b54a32d192ed03ULL;  // odd like the first, so that no bit is lost
  }

  std::uint64_t sum_ = 0, factor_ = kOdd;
};

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
  bool fresh = false;  ///< dst has no pages
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

/// A thread's own plan, and how many copies use it.
struct LocalEntry : Entry {
  int users = 0;
};

/// A thread's own plans. They die with the thread, the main thread's before static objects do; copies in destructors
/// that run later find `gone`, which is plain data and stays, and take the process's plans.
struct LocalPlans {
  std::array<LocalEntry, kLocal> entries;

  LocalPlans() noexcept { mine = this; }
  LocalPlans(const LocalPlans&) = delete;
  LocalPlans& operator=(const LocalPlans&) = delete;
  ~LocalPlans() {
    mine = nullptr;
    gone = true;
    for (LocalEntry& e : entries)  // by an exit from inside a copy, whose tasks may run on
      if (e.users > 0) static_cast<void>(new (std::nothrow) std::shared_ptr<const Plan::Impl>(std::move(e.plan)));
  }

  static thread_local constinit LocalPlans* mine;  ///< null before the first copy and when they are gone
  static thread_local constinit bool gone;
};
thread_local constinit LocalPlans* LocalPlans::mine = nullptr;
thread_local constinit bool LocalPlans::gone = false;

/// From the process's plans or new, and into the thread's unless a copy uses the one in its place.
[[gnu::noinline]] CachedPlan shared_plan(const Key& key, const Layout& dst, const Layout& src, const Options& options) {
  Entry entry{key, 0, cache().find(key, dst, src), {}};
  if (options.measurements != nullptr) entry.measurements = *options.measurements;
  if (!entry.plan) {
    if (base::log_is_on())
      base::log(
          "{} -> {} was not in the cache of {} plans, and is planned; hold a Plan where layouts change from call to "
          "call",
          to_string(src), to_string(dst), kCapacity);
    const Offsets offsets{key.dst_offset, key.src_offset};
    entry.plan = make_plan(dst, src, options, key.dst_align, key.src_align, &offsets);
    cache().put(entry);
  }
  if (!LocalPlans::gone) {
    static thread_local LocalPlans plans;
    LocalEntry& local = plans.entries[key.hash % kLocal];
    if (local.users == 0) {
      static_cast<Entry&>(local) = std::move(entry);
      return {*local.plan, local.users};
    }
  }
  return CachedPlan(std::move(entry.plan));
}

/// The options of a plan on `target`.
Options on_target(const Options& asked, const Target& target, bool fresh) noexcept {
  Options options = asked;
  if (fresh && options.fresh_destination == FreshDestination::kOff)
    options.fresh_destination = FreshDestination::kAdvise;  // plans for all but kOff are alike
  options.device = target.kind;
  options.cuda_device = target.device;
  return options;
}

}  // namespace

CachedPlan cached_plan(const Layout& dst, const Layout& src, const Options& asked, const Target& target, bool fresh,
                       std::int64_t dst_align, std::int64_t src_align) {
  check(asked);  // also where a plan is there already
  if (!asked.family.empty()) {
    base::log("family '{}' is forced, so every copy is planned anew; hold a Plan", asked.family);
    return CachedPlan(make_plan(dst, src, on_target(asked, target, fresh), dst_align, src_align));
  }
  // A CPU's plan is the same for every address; only what is measured, and where, asks for it. All others depend on
  // where in a line of kOffsetPeriod bytes the first element lies.
  const bool anywhere = target.kind == DeviceKind::kCpu && asked.measurements == nullptr && !asked.measure;
  const auto kept = [&](const Layout& l) {
    // An offset that is refused stays as it is, so that no cached plan fits it.
    if (magnitude(l.offset_bytes) > kMaxBytes) return l.offset_bytes;
    return anywhere ? 0 : l.offset_bytes & (kOffsetPeriod - 1);
  };
  Hash hash;
  hash.add(dst);
  hash.add(src);
  Key key;
  key.hash = hash.value();
  key.dst_offset = kept(dst);
  key.src_offset = kept(src);
  key.dst_align = anywhere ? 1 : dst_align;
  key.src_align = anywhere ? 1 : src_align;
  key.threads = target.kind == DeviceKind::kCuda ? 0 : cpu::threads_allowed(asked);
  key.device = target.kind;
  key.cuda_device = target.device;
  key.result = asked.result;
  key.fresh = fresh;
  key.measure = asked.measure;
  key.reshape = asked.reshape;
  if (asked.measurements != nullptr) {
    key.measurements = &asked.measurements->state();
    key.generation = asked.measurements->state().generation;
  }
  if (LocalPlans* mine = LocalPlans::mine; mine != nullptr) {
    LocalEntry& local = mine->entries[key.hash % kLocal];
    if (local.key == key && local.plan && key.fits(*local.plan, dst, src)) return {*local.plan, local.users};
  }
  return shared_plan(key, dst, src, on_target(asked, target, fresh));
}

}  // namespace restride::api
