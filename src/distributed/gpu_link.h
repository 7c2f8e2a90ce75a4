// What a Comm offers besides, when its ranks' memory lies on GPUs of any hosts and it moves that itself.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>

#include <restride/distributed.hpp>

#include "src/distributed/device.h"

namespace restride::distributed {

class GpuLink {
 public:
  virtual ~GpuLink() = default;
  virtual Device& device() noexcept = 0;
  /// In tests of one rank: bytes that stay on their rank are sent, too.
  virtual bool sends_to_itself() const noexcept { return false; }
  /// A stream for messages, beside the caller's.
  virtual void* lane() = 0;
  /// Enqueues all of them on a stream, as one group, so that none waits for another. Messages of a pair of ranks arrive
  /// in the order of the calls. Errors: DeadlineError when the engine does not take them in time.
  virtual void exchange(std::span<const Message> sends, std::span<const Message> receives, void* stream,
                        Deadline deadline) = 0;

  /// A run's word, in shared memory: the stream sets it to kBegun and to kEnded. While it says kBegun for longer than
  /// `most`, or the engine reports an error, the link is broken off, so that no stream waits for ever.
  static constexpr unsigned char kBegun = 1, kEnded = 0;
  virtual void watch(std::uint32_t* word, std::chrono::milliseconds most) = 0;
  virtual void forget(std::uint32_t* word) noexcept = 0;
};

}  // namespace restride::distributed
