// The engine for memory of GPUs: a rank's kernels store straight into the others' memory. Streams wait for each other's
// events; the ranks' threads talk to each other by their Comm.
//
// A run, of every rank: record `ready` on its stream -> agree -> its stream waits for the `ready` of each rank that it
// writes to, and copies -> record `done` -> the end of run -> its stream waits for the `done` of each rank that writes
// to it. No stream is made to wait for an event before that is recorded, so none waits for ever when a rank fails.
//
// With a link of the engine, NCCL's, streams wait for flags in the GPUs' memory instead of events, so a run is
// asynchronous also between processes, and a graph captures it. A rank has two flags for every other one: `ready`,
// which the other raises when its memory may be written, and `done`, which it raises behind its copies. A stream lowers
// a flag when it has waited for it. The other rank raises it again in the next run alone, and comes there after this
// rank has raised one for it, so no flag is raised twice before it is lowered.
//
// Without one, streams of ranks in other processes of the host are not waited for by events, which would have to
// outlive their process's use of them: a rank waits for its own stream before it agrees, and again before the end of
// run.
//
// Memory of other processes is mapped by CUDA IPC. Memory that this does not share lies in pieces that the driver's own
// calls have mapped, as by ncclMemAlloc: when all know the addresses of a run, a rank hands the pieces of a dst that it
// gives for the first time to those that write there, by file descriptors. Mappings last as long as the plan.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <restride/detail/ranks.hpp>
#include <restride/distributed.hpp>

#include "src/distributed/descriptors.h"
#include "src/distributed/gpu_link.h"

namespace restride::distributed {

class Fused {
 public:
  /// `link`: of the engine, if it has one. Errors: ArgumentError for another method, DeviceError where there is no such
  /// GPU.
  Fused(Comm& comm, const ExchangeOptions& options, GpuLink* link = nullptr);
  ~Fused();
  Fused(const Fused&) = delete;
  Fused& operator=(const Fused&) = delete;

  int device() const noexcept { return device_; }
  /// With `device` and no stream: for the plans.
  restride::Options plan_options() const;

  /// Tells the ranks of each other's GPUs and events. Collective.
  void greet(Deadline deadline);
  /// With a link, after `greet`: why this rank should not store into the memory of a target. Empty: it should.
  std::string why_not_into(int rank) const;
  /// This rank writes to `targets` and is written to by `writers`. The caller agrees on its success, and until then no
  /// rank ends its plan. Errors: DeviceError where the GPU does not reach another's; UnsupportedError.
  void connect(std::vector<int> targets, std::vector<int> writers);

  /// A tensor's dst of this rank, and the bytes of its elements.
  struct Target {
    void* data = nullptr;
    detail::MemoryRange range;
  };
  /// Before the agreement on a run. Errors: DeviceError, UnsupportedError, DeadlineError when the stream takes longer.
  void enter(void* stream, std::span<const Target> dst, Deadline deadline);
  /// Behind it: tells the ranks of each other's dst. Collective. Errors: DeviceError, DeadlineError, UnsupportedError.
  void tell_addresses(Deadline deadline);
  /// The lane begins behind the run's stream. With a link: tells the writers that this rank's memory may be written.
  void open();
  /// The stream of the copies into other ranks' memory. Where that lies on other GPUs it is not the run's, whose copies
  /// on its own GPU run beside.
  void* lane() const noexcept {
    if (link_ != nullptr) return link_->store_lane();
    return lane_ ? lane_->stream() : stream_;
  }
  /// What is enqueued from now on waits until the memory of a rank may be written. Errors: DeviceError.
  void wait_until_ready(int peer);
  /// A peer's dst as this rank's kernels reach it. Errors: DeviceError.
  std::byte* address(int peer, int tensor);
  /// All is enqueued, or as much as there was until `failed`.
  void leave(std::exception_ptr failed);
  /// Collective. What is enqueued behind it finds all that was to come. Errors: `failed`; AgreementError on the others.
  void end(Deadline deadline);

  std::string in_words() const;
  /// With a link: whether the stream is in a run, or in a replay of one.
  bool is_running() const noexcept { return word_ != nullptr && std::atomic_ref(word_->state).load() != 0; }

 private:
  bool is_model() const noexcept { return link_ == nullptr && device_ < 0; }
  bool is_host() const noexcept { return link_ != nullptr && link_->device().is_host(); }
  /// Two of a rank for each rank.
  enum class Flag : std::uint8_t { kReady, kDone };
  /// A rank's first one of a kind, as this rank's kernels reach it. Errors: DeviceError.
  std::uint32_t* flag_at(int rank, Flag flag);
  void find_flags();
  void await(std::span<std::uint32_t* const> flags, void* stream);
  struct Events;
  struct Registry;
  struct Parcel;

  Comm& comm_;
  GpuLink* link_;
  int device_;
  RunWord* word_ = nullptr;         ///< with a link
  std::uint32_t* flags_ = nullptr;  ///< with a link: this rank's, raised by others
  std::vector<std::uint32_t*> ready_there_, done_there_, done_here_;
  std::map<int, std::uint32_t*> ready_here_;    ///< by target
  void *opened_ = nullptr, *stored_ = nullptr;  ///< with a link: events by which its lane and the stream of a run wait
  std::chrono::milliseconds most_;
  // Without a link, where a target is on another GPU.
  std::unique_ptr<detail::LinkStream> lane_;
  std::unique_ptr<detail::StreamEvent> lane_done_;
  struct Greeting {
    std::int64_t device = 0;
    std::uint64_t events = 0;  ///< their number; 0: none
    std::uint64_t host = 0;
    std::int64_t process = 0;
    std::uint64_t gpu = 0;  ///< with a link, as what follows
    std::uint32_t* flags = nullptr;
    detail::SharedMemory shared_flags;
    DescriptorSocket::Name socket{};
  };
  struct Address {
    void* data = nullptr;
    detail::SharedMemory shared;
  };
  /// Memory of a rank by its handle.
  using Foreign = std::pair<int, std::array<std::byte, 64>>;
  /// Of this rank's dst, to a writer.
  struct ToGive {
    int rank;
    std::size_t tensor, next_piece;
  };
  const Address& address_of(int rank, std::size_t tensor) const {
    return everyones_[static_cast<std::size_t>(rank) * addresses_.size() + tensor];
  }
  bool gives(ToGive& parcel);
  void take_parcels();
  /// Gives and takes the pieces that are new. Errors: UnsupportedError, DeviceError, DeadlineError.
  void hand_over(Deadline deadline);
  bool is_thread(int rank) const { return greetings_[static_cast<std::size_t>(rank)].process == greeting_.process; }
  void wait_for_stream(Deadline deadline) const;

  Greeting greeting_;
  std::vector<Greeting> greetings_;  ///< every rank's
  bool blocks_ = false;              ///< some target or writer is in another process
  std::vector<Address> addresses_;   ///< this rank's
  std::vector<Address> everyones_;   ///< a rank's, one a tensor, one behind the other
  std::map<Foreign, detail::MappedMemory> mapped_;
  std::unique_ptr<DescriptorSocket> socket_;       ///< between processes
  std::vector<detail::MemoryRange> ranges_;        ///< of this rank's dst
  std::set<std::array<std::byte, 64>> given_;      ///< handles of it whose pieces all writers have
  std::map<Foreign, detail::SharedPieces> taken_;  ///< to be mapped; not all of a memory's may have come
  std::set<Foreign> missing_;                      ///< still to come; of hand_over
  std::vector<int> targets_, writers_;
  std::shared_ptr<Events> mine_;                 ///< none for a model
  std::vector<std::shared_ptr<Events>> theirs_;  ///< of targets and writers, by rank
  void* stream_ = nullptr;
  std::exception_ptr failed_;
};

}  // namespace restride::distributed
