#include "tools/bench/team.h"

namespace restride::bench {

Team::Team(int threads) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
}

Team::~Team() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  start_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Team::run(const std::function<void(int)>& body) {
  if (workers_.empty()) return body(0);
  {
    const std::lock_guard lock(mutex_);
    body_ = &body;
    running_ = static_cast<int>(workers_.size());
    ++round_;
  }
  start_.notify_all();
  body(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return running_ == 0; });
}

void Team::work(int index) {
  long seen = 0;
  for (;;) {
    const std::function<void(int)>* body = nullptr;
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return stop_ || round_ != seen; });
      if (stop_) return;
      seen = round_;
      body = body_;
    }
    (*body)(index);
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) done_.notify_one();
  }
}

}  // namespace restride::bench
