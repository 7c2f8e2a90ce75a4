// One thread with as much stack as its work needs.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace restride::cpu {

/// Calls `work` on a thread of its own with so much stack, and returns when it is done; false where none can be
/// started. `stack_bytes` is no less than PTHREAD_STACK_MIN.
template <class Work>
bool run_on_stack(std::size_t stack_bytes, const Work& work) noexcept {
  const auto run = [](void* w) noexcept -> void* {
    (*static_cast<const Work*>(w))();
    return nullptr;
  };
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return false;
  pthread_t thread;
  const bool started = ::pthread_attr_setstacksize(&attributes, stack_bytes) == 0 &&
                       ::pthread_create(&thread, &attributes, run, const_cast<Work*>(&work)) == 0;
  ::pthread_attr_destroy(&attributes);
  if (started) ::pthread_join(thread, nullptr);
  return started;
}

}  // namespace restride::cpu
