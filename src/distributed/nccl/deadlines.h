// Waiting for what may never come.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <restride/distributed.hpp>

namespace restride::distributed {

/// Between two looks at something: the longer it takes, the less often.
inline void pause(int turns) {
  if (turns < 100) return;
  if (turns < 2000)
    std::this_thread::yield();
  else
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

/// Runs `body` by a thread of its own. False: it has not ended by the deadline, and goes on by itself.
template <class Body>
bool by_deadline(Deadline deadline, Body body) {
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
  };
  auto state = std::make_shared<State>();
  std::thread([state, body = std::move(body)]() mutable {
    body();
    const std::lock_guard lock(state->mutex);
    state->done = true;
    state->changed.notify_all();
  }).detach();
  std::unique_lock lock(state->mutex);
  return state->changed.wait_until(lock, deadline, [&] { return state->done; });
}

}  // namespace restride::distributed
