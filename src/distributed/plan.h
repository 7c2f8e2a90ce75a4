// The parts of this rank's plan, and the state of a run: made by plan*.cc, run by run.cc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "src/distributed/agreement.h"
#include "src/distributed/fused.h"
#include "src/distributed/program.h"
#include "src/distributed/staged.h"

namespace restride::distributed {

/// All ranks' fingerprints. `failed`: why this rank cannot take part; it is thrown here, once the others know.
/// `sends` and `receives`: small messages that come with them.
void agree(Comm& comm, Fingerprint mine, const std::exception_ptr& failed, std::string_view what, Deadline deadline,
           std::span<const Message> sends = {}, std::span<Message> receives = {});

/// Every rank's layouts of every source or target, by rank and tensor, where ranks reach each other's memory.
std::vector<std::vector<std::vector<Layout>>> everyones_layouts(Side Transfer::*side,
                                                                std::span<const Transfer> transfers, Comm& comm,
                                                                Deadline deadline);

struct Plan::Impl {
  explicit Impl(Comm& c, const ExchangeOptions& o) : comm(c), options(o), plans(o.threads) {
    options.deadline = std::min(o.deadline, kLongestDeadline);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  /// What one rank has of a tensor's sides: layouts, and whether there is anything in them.
  struct Local {
    std::vector<Layout> src, dst;
    bool has_src = false, has_dst = false;
  };
  /// At most one parcel to a peer, and at most one from another; -1: none.
  struct Round {
    int send = -1, receive = -1;
  };

  Comm& comm;
  ExchangeOptions options;
  Method method = Method::kMessages;
  std::vector<Exchange> exchanges;
  std::vector<Local> local;
  PlanStore plans;
  Fingerprint fingerprint;
  std::int64_t sequence = 0, runs = 0;
  std::vector<CopyStep> kept;
  std::vector<PeerCopies> direct;          ///< kDirect: out of peers' memory; with `fused` into it
  std::unique_ptr<Fused> fused;            ///< of plans for GPUs
  GpuLink* link = nullptr;                 ///< the engine's own, of plans for GPUs
  std::vector<PeerSteps> sends, receives;  ///< all others; of `receives` those that are carried are the last
  bool carries = false;                    ///< some of them
  std::unique_ptr<Staged> staged;          ///< kMessages on GPUs
  std::string why_staged;                  ///< the reason against `fused`
  std::vector<Round> rounds;               ///< with a bounded workspace: `sends` and `receives` are parcels
  std::unique_ptr<Prepared> prepared;      ///< kAlltoallv, kAlltoallw
  std::vector<std::byte> workspace;
  std::int64_t sent_bytes = 0, received_bytes = 0;

  // Of the run that is on its way.
  bool in_flight = false;
  std::vector<void*> dst;
  std::vector<const void*> src;
  std::vector<const void*> everyones;  ///< kDirect of the host: a rank's sources, one behind the other
  void* stream = nullptr;
  std::unique_ptr<Posted> posted;
  std::vector<Message> carried_out, carried_in;

  /// In `everyones`.
  std::size_t at(int rank, int tensor) const {
    return static_cast<std::size_t>(rank) * exchanges.size() + static_cast<std::size_t>(tensor);
  }
  /// The parcels that a round of a staged run sends to all peers, and those that it receives.
  std::int64_t chunk_bytes() const {
    constexpr std::int64_t kUsual = std::int64_t{64} << 20;
    return options.most_workspace_bytes > 0 ? options.most_workspace_bytes / 4 : kUsual;
  }
  /// Where the memory of the tensors must lie.
  DeviceKind memory_kind() const {
    if (link != nullptr && link->device().is_host()) return DeviceKind::kCpu;
    return fused || link != nullptr ? DeviceKind::kCuda : DeviceKind::kCpu;
  }
  int memory_device() const { return fused ? fused->device() : link != nullptr ? link->device().number() : -1; }
  std::int64_t parcel_bytes() const { return options.most_workspace_bytes / 4; }
  int steps_to(int peer) const { return (peer - comm.rank() + comm.size()) % comm.size(); }
  int steps_from(int peer) const { return (comm.rank() - peer + comm.size()) % comm.size(); }
  /// The usual one where the caller's is refused: the other ranks have to learn of that.
  Deadline deadline() const {
    return std::chrono::steady_clock::now() +
           (options.deadline.count() > 0 ? options.deadline : ExchangeOptions{}.deadline);
  }
  std::byte* to(int tensor) const { return static_cast<std::byte*>(dst[static_cast<std::size_t>(tensor)]); }
  const std::byte* from(int tensor) const {
    return static_cast<const std::byte*>(src[static_cast<std::size_t>(tensor)]);
  }
  std::byte* message(PeerSteps& p, bool received) {
    if (p.in_place < 0) return workspace.data() + p.offset;
    const void* base = received ? to(p.in_place) : from(p.in_place);
    return moved(const_cast<std::byte*>(static_cast<const std::byte*>(base)), p.in_place_offset);
  }

  void make_local(std::span<const Transfer> transfers);
  void make_direct(const std::vector<std::vector<std::vector<Layout>>>& theirs);
  void connect();
  void make_messages();
  bool stays(const PairParts& pair) const;  ///< on this rank: copied, not sent
  void make_steps(std::int64_t most_bytes);
  /// Of messages to one rank, or from it.
  struct Load {
    std::int64_t peers = 0;    ///< ranks that it sends to or receives from, whichever are more
    std::int64_t longest = 0;  ///< bytes of its longest message
  };
  Load load() const;
  void make_staged(const Load& most);
  void plan_on_gpus(std::span<const Transfer> transfers);
  void choose_on_gpus();
  void require_room(std::int64_t bytes, const char* what) const;
  void prepare_alltoallv();
  void prepare_alltoallw();
  void place_in_workspace();
  void cut_into_rounds();
  void check_pairs();
  void check_pointers() const;
  void check_places() const;
  void agree_on_run();
  void agree_and_exchange(const Fingerprint& mine, const std::exception_ptr& failed);
  void pack(PeerSteps& p);
  void unpack(PeerSteps& p);
  void unpack_from(const PeerSteps& p, const std::byte* message) const;
  void choose_carried();
  void enqueue_staged();
  void start_messages();
  void begin_round(std::size_t i);
  void end_rounds();
  void run_kept() const;
  void pull();
  void push();
  void copy_on_stream(int plan, std::byte* to, const std::byte* from, void* on);
  std::vector<Fused::Target> targets() const;
};

}  // namespace restride::distributed
