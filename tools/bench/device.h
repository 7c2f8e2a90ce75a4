// What a benchmark needs from a device: buffers in cold rotation, a clock, and the plain copies that make the
// ceiling. The CPU and CUDA differ only behind this interface; the runner above it is the same for both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <restride/copy.hpp>

#include "tools/bench/case.h"
#include "tools/bench/host_memory.h"

namespace restride::bench {

/// One pair of buffers, on the device. Layout offsets count from here.
struct Slot {
  std::byte* src = nullptr;
  std::byte* dst = nullptr;
};

/// Something that fills dst from src: the library, a ceiling, a peer. On CUDA it enqueues on the device's stream.
struct Contender {
  std::string name;
  std::function<void(const Slot&)> run;
};

/// What a process of its own says: the median of one copy whose output was checked, or why there is none.
struct TimedItself {
  double ns = -1;
  std::string why_none;
};

/// A contender whose output is held to the case's layouts.
struct Peer : Contender {
  std::function<TimedItself()> time_itself;  ///< in place of `run`: in a process of its own
  bool measures_itself() const { return static_cast<bool>(time_itself); }
};

/// Bytes a side of a plain copy that moves as many in all.
constexpr std::int64_t half_of(std::int64_t read_bytes, std::int64_t written_bytes) noexcept {
  return (read_bytes + written_bytes + 1) / 2;
}

class Device {
 public:
  virtual ~Device() = default;

  virtual DeviceKind kind() const = 0;
  /// Goes into the result's `machine`.
  virtual nlohmann::json describe() const = 0;
  /// Bytes of the last-level cache; rotation moves several times this between two uses of a slot. 0: nothing rotates.
  virtual std::int64_t cache_bytes() const = 0;
  /// Smallest piece of memory that is read whole: 64-byte lines, 32-byte sectors.
  virtual std::int64_t sector_bytes() const = 0;
  /// A timed batch lasts at least this long: the clock's and the launches' grain must not show.
  virtual double batch_ns() const = 0;
  /// How the library is asked to plan: device, threads, stream.
  virtual Options options() const = 0;

  /// Makes `slots` pairs whose sides hold `side_bytes` each, guards around them. Errors: MemoryError.
  virtual void reserve(std::int64_t side_bytes, int slots) = 0;
  virtual Slot slot(int index) = 0;

  /// Slot 0's source on the host, to be filled; publish_source takes it to every slot.
  virtual std::span<std::byte> host_source() = 0;
  virtual void publish_source() = 0;
  /// Poisons slot 0's destination and its guards.
  virtual void poison_destination() = 0;
  /// Slot 0's destination on the host, guards included: `kGuardBytes` on either side.
  virtual std::span<std::byte> fetch_destination() = 0;

  /// Waits until everything enqueued is done. Errors: DeviceError when something failed.
  virtual void finish() = 0;
  /// Nanoseconds a call, over `calls` calls on the slots first, first + 1, ... in rotation.
  virtual double time_ns(const Contender& contender, int first_slot, int calls) = 0;

  /// Plain copies from src to dst that read and write so many bytes in all; the fastest is the ceiling.
  virtual std::vector<Contender> ceilings(std::int64_t read_bytes, std::int64_t written_bytes) = 0;
  /// The peers that can do this case, with what they cost to set up already paid.
  virtual std::vector<Peer> peers(const Case& c) = 0;
  /// Names of the peers that this build and machine have.
  virtual std::vector<std::string> peer_names() const = 0;
  /// A call that does nothing, as a floor for small work; empty `run` when the device has none.
  virtual Contender nothing() { return {}; }
};

/// What timed calls find: memory that is in no cache, the same as the call before, or destinations without pages.
enum class Memory { kCold, kWarm, kFresh };

std::unique_ptr<Device> make_cpu_device(int threads, Pages pages = Pages::kSmall, Memory memory = Memory::kCold);
/// Errors: DeviceError when there is no usable GPU, UnsupportedError when the build has no CUDA.
std::unique_ptr<Device> make_cuda_device();

}  // namespace restride::bench
