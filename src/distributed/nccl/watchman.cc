#include "src/distributed/nccl/watchman.h"

#include <atomic>
#include <utility>

namespace restride::distributed {

using std::chrono::milliseconds;

Watchman::Watchman(std::shared_ptr<Device> device, std::function<std::string()> fault,
                   std::function<void(const std::string&)> stop)
    : device_(std::move(device)), fault_(std::move(fault)), stop_(std::move(stop)) {}

Watchman::~Watchman() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Watchman::watch(RunWord* word, milliseconds most) {
  const std::lock_guard lock(mutex_);
  watched_[word] = {most, {}};
  if (released_) std::atomic_ref(word->released).store(1);
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_all();
}

void Watchman::forget(RunWord* word) noexcept {
  const std::lock_guard lock(mutex_);
  watched_.erase(word);
}

void Watchman::release() noexcept {
  const std::lock_guard lock(mutex_);
  released_ = true;
  for (auto& [word, w] : watched_) std::atomic_ref(word->released).store(1);
}

std::string Watchman::late(Clock::time_point now) {
  std::string why;
  for (auto& [word, w] : watched_) {
    const std::atomic_ref<std::uint32_t> state(word->state);
    const std::uint32_t was = state.load();
    if (was == 0) continue;
    if (was != RunWord::kSeen) {  // another run than the last time; it may have ended meanwhile
      std::uint32_t begun = was;
      if (state.compare_exchange_strong(begun, RunWord::kSeen)) w.since = now;
    } else if (now - w.since > w.most) {
      why = "a run was not done before the deadline, so a rank has stopped in it";
    }
  }
  return why;
}

void Watchman::work() {
  const Device::Aside aside(*device_);
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (watched_.empty() || released_) {
      changed_.wait(lock);
      continue;
    }
    std::string why = late(Clock::now());
    lock.unlock();
    if (std::string other = fault_(); !other.empty()) why = std::move(other);
    if (!why.empty()) stop_(why);
    lock.lock();
    changed_.wait_for(lock, milliseconds(10), [this] { return ends_; });
  }
}

}  // namespace restride::distributed
