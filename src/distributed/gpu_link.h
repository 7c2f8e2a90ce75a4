// What a Comm offers besides, when its ranks' memory lies on GPUs of any hosts and it moves that itself.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>

#include <restride/distributed.hpp>

#include "src/distributed/device.h"

namespace restride::distributed {

/// Of a plan's runs, in shared memory of its Device.
struct RunWord {
  static constexpr unsigned char kBegun = 1, kEnded = 0;  ///< bytes of `state`, set by the stream
  static constexpr std::uint32_t kSeen = 2;               ///< set by who watches: the run is not new
  std::uint32_t state = 0;
  std::uint32_t released = 0;  ///< set by who watches: streams wait for other ranks no more
};

class GpuLink {
 public:
  virtual ~GpuLink() = default;
  virtual Device& device() noexcept = 0;
  /// In tests of one rank: bytes that stay on their rank are sent, too.
  virtual bool sends_to_itself() const noexcept { return false; }
  /// A stream for messages, beside the caller's.
  virtual void* lane() = 0;
  /// A stream for stores into other ranks' memory.
  virtual void* store_lane() = 0;
  /// Memory for messages, which the engine brings there without a copy between. Errors: DeviceError.
  virtual std::byte* allocate(std::int64_t bytes) = 0;
  /// Waits for the GPU.
  virtual void free(std::byte* memory) noexcept = 0;
  /// Exchanges messages once and waits for it, so that a later `exchange` of the same ones waits for no rank's thread.
  /// What they bring is of no use. Errors: DeadlineError.
  virtual void connect(std::span<const Message> sends, std::span<const Message> receives, Deadline deadline) = 0;
  /// Enqueues all of them on a stream, as one group, so that none waits for another. Messages of a pair of ranks arrive
  /// in the order of the calls. Errors: DeadlineError when the engine does not take them in time.
  virtual void exchange(std::span<const Message> sends, std::span<const Message> receives, void* stream,
                        Deadline deadline) = 0;

  /// While a word says kBegun for longer than `most`, or the engine reports an error, the link is broken off, so that
  /// no stream waits for ever.
  virtual void watch(RunWord* word, std::chrono::milliseconds most) = 0;
  virtual void forget(RunWord* word) noexcept = 0;
};

}  // namespace restride::distributed
