// The engine for memory of GPUs: a rank's kernels store straight into the others' memory. Streams wait for each other's
// events; what the ranks' threads tell each other goes by their Comm.
//
// A run, of every rank: record `ready` on its stream -> agree -> its stream waits for the `ready` of each rank that it
// writes to, and copies -> record `done` -> the end of run -> its stream waits for the `done` of each rank that writes
// to it. No stream is made to wait for an event before that is recorded, so none waits for ever when a rank fails.
//
// Of ranks in other processes of the host the memory is mapped by CUDA IPC. Their streams are not waited for by events,
// which would have to outlive their process's use of them: a rank waits for its own stream before it agrees, and again
// before the end of run. Mappings last as long as the plan.
#pragma once

#include <array>
#include <exception>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <restride/detail/ranks.hpp>
#include <restride/distributed.hpp>

namespace restride::distributed {

class Fused {
 public:
  /// Errors: ArgumentError for another method, DeviceError where there is no such GPU.
  Fused(Comm& comm, const ExchangeOptions& options);

  int device() const noexcept { return device_; }
  /// With `device` and no stream: for the plans.
  restride::Options plan_options() const;

  /// Tells the ranks of each other's GPUs and events. Collective.
  void greet(Deadline deadline);
  /// This rank writes to `targets` and is written to by `writers`. The caller agrees on its success, and until then no
  /// rank ends its plan. Errors: DeviceError where the GPU does not reach another's; UnsupportedError.
  void connect(std::vector<int> targets, std::vector<int> writers);

  /// A tensor's dst of this rank, and an element of it; null without elements.
  struct Target {
    void* data = nullptr;
    const void* element = nullptr;
  };
  /// Before the agreement on a run. Errors: DeviceError, UnsupportedError, DeadlineError when the stream takes longer.
  void enter(void* stream, std::span<const Target> dst, Deadline deadline);
  /// Behind it: tells the ranks of each other's dst. Collective.
  void tell_addresses(Deadline deadline);
  /// What is enqueued from now on waits until the memory of a rank may be written. Errors: DeviceError.
  void wait_until_ready(int peer);
  /// A peer's dst as this rank's kernels reach it. Errors: DeviceError.
  std::byte* address(int peer, int tensor);
  /// All is enqueued, or as much as there was until `failed`.
  void leave(std::exception_ptr failed);
  /// Collective. What is enqueued behind it finds all that was to come. Errors: `failed`; AgreementError on the others.
  void end(Deadline deadline);

  std::string in_words() const;

 private:
  struct Events;
  struct Registry;

  Comm& comm_;
  int device_;
  struct Greeting {
    std::int64_t device = 0;
    std::uint64_t events = 0;  ///< their number; 0: none
    std::uint64_t host = 0;
    std::int64_t process = 0;
  };
  struct Address {
    void* data = nullptr;
    detail::SharedMemory shared;
  };
  bool is_thread(int rank) const { return greetings_[static_cast<std::size_t>(rank)].process == greeting_.process; }
  void wait_for_stream(Deadline deadline) const;

  Greeting greeting_;
  std::vector<Greeting> greetings_;  ///< every rank's
  bool blocks_ = false;              ///< some target or writer is in another process
  std::vector<Address> addresses_;   ///< this rank's
  std::vector<Address> everyones_;   ///< a rank's, one a tensor, one behind the other
  std::map<std::pair<int, std::array<std::byte, 64>>, detail::MappedMemory> mapped_;
  std::vector<int> targets_, writers_;
  std::shared_ptr<Events> mine_;                 ///< none for a model
  std::vector<std::shared_ptr<Events>> theirs_;  ///< of targets and writers, by rank
  void* stream_ = nullptr;
  std::exception_ptr failed_;
};

}  // namespace restride::distributed
