// A Device of the host: streams are threads that do one thing after the other, so what does not wait for an event runs
// too early now and then, as on a GPU.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "src/distributed/device.h"

namespace restride::distributed::test {

class HostDevice final : public Device {
 public:
  /// `jitter_us`: up to so long a stream waits before it does something, now and then.
  explicit HostDevice(int jitter_us = 0, unsigned seed = 1) : jitter_us_(jitter_us), seed_(seed) {}

  int number() const noexcept override { return -1; }
  bool is_host() const noexcept override { return true; }
  std::uint64_t host() override { return host_number; }
  std::uint64_t host_number = 1;  ///< for ranks of several hosts
  std::uint64_t identity() override { return 1; }
  std::string why_not_into(std::uint64_t) override { return why_not; }
  std::string why_not;  ///< for a test of what follows from it
  std::byte* allocate(std::int64_t bytes) override {
    auto* out = static_cast<std::byte*>(std::aligned_alloc(256, (static_cast<std::size_t>(bytes) + 255) / 256 * 256));
    std::memset(out, 0xcd, static_cast<std::size_t>(bytes));
    return out;
  }
  void free(std::byte* memory) noexcept override { std::free(memory); }
  std::byte* allocate_shared(std::int64_t bytes) override {
    std::byte* out = allocate(bytes);
    std::memset(out, 0, static_cast<std::size_t>(bytes));
    return out;
  }
  void free_shared(std::byte* memory) noexcept override { free(memory); }

  void* make_stream() override { return new Stream(jitter_us_, seed_++); }
  void* make_urgent_stream() override { return make_stream(); }
  void* make_link_stream() override { return make_stream(); }
  void destroy_stream(void* stream) noexcept override { delete static_cast<Stream*>(stream); }
  void* make_event() override { return new Event; }
  /// What was enqueued before may still need it.
  void destroy_event(void* event) noexcept override { delete static_cast<Event*>(event); }

  void record(void* event, void* stream) override {
    const std::shared_ptr<Event::State> state = static_cast<Event*>(event)->state;
    std::uint64_t ticket = 0;
    {
      const std::lock_guard lock(state->mutex);
      ticket = ++state->recorded;
    }
    call(
        [state, ticket] {
          const std::lock_guard lock(state->mutex);
          state->reached = std::max(state->reached, ticket);
          state->changed.notify_all();
        },
        stream);
  }
  void wait(void* event, void* stream) override {
    const std::shared_ptr<Event::State> state = static_cast<Event*>(event)->state;
    std::uint64_t ticket = 0;
    {
      const std::lock_guard lock(state->mutex);
      ticket = state->recorded;
    }
    call(
        [state, ticket] {
          std::unique_lock lock(state->mutex);
          state->changed.wait(lock, [&] { return state->reached >= ticket; });
        },
        stream);
  }
  bool is_finished(void* event) override {
    Event::State& state = *static_cast<Event*>(event)->state;
    const std::lock_guard lock(state.mutex);
    return state.reached == state.recorded;
  }

  void copy(void* dst, const void* src, std::int64_t bytes, void* stream) override {
    call([=] { std::memcpy(dst, src, static_cast<std::size_t>(bytes)); }, stream);
  }
  void set_word(std::uint32_t* word, unsigned char byte, void* stream) override {
    call([=] { std::atomic_ref<std::uint32_t>{*word}.store(byte * 0x01010101U); }, stream);
  }
  std::uint32_t* allocate_flags(std::int64_t count) override {
    return reinterpret_cast<std::uint32_t*>(allocate_shared(count * std::int64_t{sizeof(std::uint32_t)}));
  }
  void raise(std::span<std::uint32_t* const> flags, const std::uint32_t* released, void* stream) override {
    call(
        [some = std::vector<std::uint32_t*>(flags.begin(), flags.end()), released] {
          if (is_set(released)) return;
          for (std::uint32_t* flag : some)
            if (std::atomic_ref(*flag).exchange(1) != 0) std::abort();  // none is raised twice
        },
        stream);
  }
  void await(std::span<std::uint32_t* const> flags, const std::uint32_t* released, std::chrono::milliseconds most,
             void* stream) override {
    call(
        [some = std::vector<std::uint32_t*>(flags.begin(), flags.end()), released, most] {
          const auto end = std::chrono::steady_clock::now() + most;
          for (std::uint32_t* flag : some) {
            while (std::atomic_ref(*flag).load() == 0) {
              if (is_set(released) || std::chrono::steady_clock::now() > end) return;
              std::this_thread::sleep_for(std::chrono::microseconds(20));
            }
            std::atomic_ref(*flag).store(0);
          }
        },
        stream);
  }
  void call(std::function<void()> work, void* stream) override {
    (stream != nullptr ? static_cast<Stream*>(stream) : &default_)->add(std::move(work));
  }
  bool is_capturing(void*) override { return false; }

  /// Waits for all that was enqueued.
  void synchronize(void* stream) {
    void* event = make_event();
    record(event, stream);
    const std::shared_ptr<Event::State> state = static_cast<Event*>(event)->state;
    {
      std::unique_lock lock(state->mutex);
      state->changed.wait(lock, [&] { return state->reached == state->recorded; });
    }
    destroy_event(event);
  }

 private:
  static bool is_set(const std::uint32_t* word) {
    return std::atomic_ref(*const_cast<std::uint32_t*>(word)).load() != 0;
  }
  struct Event {
    struct State {
      std::mutex mutex;
      std::condition_variable changed;
      std::uint64_t recorded = 0, reached = 0;
    };
    std::shared_ptr<State> state = std::make_shared<State>();
  };

  class Stream {
   public:
    Stream(int jitter_us, unsigned seed) : jitter_us_(jitter_us), rng_(seed), thread_([this] { work(); }) {}
    ~Stream() {
      {
        const std::lock_guard lock(mutex_);
        ends_ = true;
      }
      changed_.notify_all();
      thread_.join();
    }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    void add(std::function<void()> some) {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(some));
      changed_.notify_all();
    }

   private:
    void work() {
      for (;;) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ends_ || !queue_.empty(); });
        if (queue_.empty()) return;
        const std::function<void()> next = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        if (jitter_us_ > 0 && rng_() % 4 == 0)
          std::this_thread::sleep_for(std::chrono::microseconds(rng_() % static_cast<unsigned>(jitter_us_)));
        next();
      }
    }

    int jitter_us_;
    std::minstd_rand rng_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> queue_;
    bool ends_ = false;
    std::thread thread_;
  };

  int jitter_us_;
  std::atomic<unsigned> seed_;
  Stream default_{jitter_us_, 0};
};

}  // namespace restride::distributed::test
