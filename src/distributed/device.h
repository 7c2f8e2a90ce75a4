// Memory, streams and events of one GPU, as an engine that moves memory of GPUs needs them. The module for NCCL has one
// of CUDA; tests have one of the host, whose streams are threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "src/distributed/host.h"

namespace restride::distributed {

/// Streams and events are the device's own handles. All calls but `is_finished` only enqueue. Errors: DeviceError.
class Device {
 public:
  virtual ~Device() = default;
  virtual int number() const noexcept = 0;
  /// Memory of the host, in tests.
  virtual bool is_host() const noexcept { return false; }

  /// The device's host. Ranks of other hosts do not reach its memory.
  virtual std::uint64_t host() { return this_host(); }
  /// The same of all processes that see this GPU, and of no other GPU.
  virtual std::uint64_t identity() = 0;
  /// Why kernels of this one should not store into the memory of that GPU: not seen, not reached, slow to reach. Empty:
  /// they should.
  virtual std::string why_not_into(std::uint64_t identity) = 0;

  virtual std::byte* allocate(std::int64_t bytes) = 0;
  virtual void free(std::byte* memory) noexcept = 0;
  /// Waits until all that was enqueued on any stream is done.
  virtual void wait_for_all() noexcept {}
  /// Memory of the host that the device reads and writes, all zero.
  virtual std::byte* allocate_shared(std::int64_t bytes) = 0;
  virtual void free_shared(std::byte* memory) noexcept = 0;

  virtual void* make_stream() = 0;
  /// A stream of the highest priority: its kernels begin before those that are ready on other streams.
  virtual void* make_urgent_stream() = 0;
  /// One for stores into other GPUs' memory: also urgent, and on a part of the GPU where the driver can do so.
  virtual void* make_link_stream() = 0;
  virtual void destroy_stream(void* stream) noexcept = 0;
  virtual void* make_event() = 0;
  virtual void destroy_event(void* event) noexcept = 0;
  virtual void record(void* event, void* stream) = 0;
  virtual void wait(void* event, void* stream) = 0;
  virtual bool is_finished(void* event) = 0;

  virtual void copy(void* dst, const void* src, std::int64_t bytes, void* stream) = 0;
  /// All bytes of a word of shared memory become `byte`.
  virtual void set_word(std::uint32_t* word, unsigned char byte, void* stream) = 0;

  /// Words of the device's memory, all zero, by which streams of devices that reach it wait for each other.
  virtual std::uint32_t* allocate_flags(std::int64_t count) = 0;
  /// Behind all that was enqueued before: the flags, of any devices that this one reaches, become 1; not so when
  /// `released`, in shared memory, is not 0.
  virtual void raise(std::span<std::uint32_t* const> flags, const std::uint32_t* released, void* stream) = 0;
  /// What is enqueued from now on waits until each of the flags, which are this device's, is 1; each becomes 0 again.
  /// It waits no longer than `most`, and no more when `released` is not 0.
  virtual void await(std::span<std::uint32_t* const> flags, const std::uint32_t* released,
                     std::chrono::milliseconds most, void* stream) = 0;

  /// A device of the host alone: calls it when the stream is there.
  virtual void call(std::function<void()> work, void* stream) = 0;

  virtual bool is_capturing(void* stream) = 0;
  /// While one lives, this thread's calls to the device do not disturb a capture of the program, nor join it.
  class Aside {
   public:
    explicit Aside(Device& device) : device_(device), mode_(device.set_mode(kRelaxed)) {}
    ~Aside() { device_.set_mode(mode_); }
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;

   private:
    Device& device_;
    int mode_;
  };

 protected:
  static constexpr int kRelaxed = 2;  ///< cudaStreamCaptureModeRelaxed
  /// How this thread's calls interact with captures; returns the mode before.
  virtual int set_mode(int mode) noexcept {
    static_cast<void>(mode);
    return 0;
  }
};

}  // namespace restride::distributed
