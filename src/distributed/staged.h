// The engine for memory of GPUs by messages of NCCL: packed, sent and unpacked in chunks.
//
// A message is cut into parcels of at most a share of a chunk, by a rule that all ranks know. Round i takes parcel i to
// every peer and from every peer, as one group; so a pair's parcels meet in their order, and no rank waits for others
// but in the same round. While round i is on its way by the link's lane, the caller's stream unpacks round i - 1 and
// packs round i + 1; what stays on the GPU is copied during round 0:
//
//     stream   pack 0 | pack 1 | what stays | unpack 0 | pack 2 | unpack 1 | ...
//     lane            | round 0             | round 1           | round 2
//
// Chunks take turns, so there are two. What round i needs is in one event: it is recorded behind pack i, which the
// stream comes to behind unpack i - 2, so both of the round's chunks are free. All waits are events of this rank's own
// two streams. So a run is asynchronous, and a graph of the stream captures all of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/distributed/gpu_link.h"
#include "src/distributed/program.h"

namespace restride::distributed {

/// A parcel to each peer and one from each, or fewer.
struct StagedRound {
  std::vector<PeerSteps> sends, receives;  ///< `offset`: in its chunk
  std::vector<CopyStep> pack, unpack;      ///< of all peers, by offsets in the chunk: one plan where they are alike
};

/// What a rank does in a run, and the memory that it needs. Pure.
struct StagedSchedule {
  std::vector<StagedRound> rounds;
  std::int64_t send_chunk_bytes = 0, receive_chunk_bytes = 0;  ///< there are two of each
};

/// Parcels start at multiples of this.
inline constexpr std::int64_t kParcelAlignment = 256;

/// `parcel_bytes`: at most that many in a parcel, the same on all ranks, and the steps are cut for it.
StagedSchedule staged_schedule(const std::vector<PeerSteps>& sends, const std::vector<PeerSteps>& receives,
                               std::int64_t parcel_bytes, PlanStore& plans);

/// Steps of one plan whose places are evenly spaced become one step of a plan with one more mode.
std::vector<CopyStep> merged(const std::vector<CopyStep>& steps, PlanStore& plans);

class Staged {
 public:
  /// Errors: DeviceError when there is no memory.
  Staged(GpuLink& link, StagedSchedule schedule, std::vector<CopyStep> kept, std::chrono::milliseconds deadline);
  ~Staged();
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;

  /// The first round's messages meet once. Errors: as GpuLink::connect, DeviceError.
  void connect(Deadline deadline);

  std::int64_t workspace_bytes() const noexcept { return workspace_bytes_; }
  const StagedSchedule& schedule() const noexcept { return schedule_; }
  /// Errors: as GpuLink::exchange, PlanStore::enqueue.
  void enqueue(PlanStore& plans, const std::vector<void*>& dst, const std::vector<const void*>& src, void* stream,
               Deadline deadline);
  /// Whether the stream is in a run, or in a replay of one.
  bool is_running() const noexcept;

 private:
  void copy(PlanStore& plans, int plan, std::byte* dst, const std::byte* src, void* stream);
  std::vector<Message> messages(const std::vector<PeerSteps>& parcels, std::byte* chunk,
                                const std::function<std::byte*(int tensor)>& base) const;

  GpuLink& link_;
  Device& device_;
  StagedSchedule schedule_;
  std::vector<CopyStep> kept_;
  std::int64_t workspace_bytes_ = 0;
  std::byte* workspace_ = nullptr;
  RunWord* word_ = nullptr;
  void* packed_[2] = {};
  void* arrived_[2] = {};
};

}  // namespace restride::distributed
