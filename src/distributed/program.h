// One rank's part of an exchange as a list of copies: from the planner's parts and the ranks' layouts.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include <restride/copy.hpp>

#include "src/distributed/exchange.h"

namespace restride::distributed {

/// restride plans of pieces, each kept once: pieces of one shape and the same strides share one.
class PlanStore {
 public:
  explicit PlanStore(int threads) { options_.threads = threads, options_.device = DeviceKind::kCpu; }
  /// Of a GPU, when `options` say so. Plans are then made for data pointers that lie at multiples of 128 bytes, as
  /// those of cudaMalloc do.
  explicit PlanStore(const restride::Options& options) : options_(options) {}
  /// The number of the plan for these layouts, whose offsets are zero. Errors: as restride::Plan.
  int add(const Layout& dst, const Layout& src);
  void run(int plan, std::byte* dst, const std::byte* src) const noexcept {
    plans_[static_cast<std::size_t>(plan)].run(dst, src);
  }
  /// The same on a stream of the GPU. Where the pointers lie less aligned than the plan was promised, another one is
  /// made the first time. Errors: DeviceError; as restride::Plan.
  void enqueue(int plan, std::byte* dst, const std::byte* src, void* stream);
  const restride::Plan& plan(int number) const { return plans_[static_cast<std::size_t>(number)]; }
  std::size_t size() const noexcept { return plans_.size(); }

 private:
  struct Promise {
    std::int64_t dst = 0, src = 0;                     ///< bytes; 0: none
    auto operator<=>(const Promise&) const = default;  // NOLINT(modernize-use-nullptr): takes <=> for 0
  };
  Promise promise_for(std::int64_t dst_address, std::int64_t src_address) const;

  restride::Options options_;
  std::vector<restride::Plan> plans_;
  std::vector<Promise> promises_;  ///< that a plan was made with
  std::map<std::vector<std::int64_t>, int> by_layouts_;
  std::map<std::pair<int, Promise>, restride::Plan> less_aligned_;
};

/// A copy between the memory of tensor `tensor` and a message or another tensor's memory.
struct CopyStep {
  int plan = 0;
  int tensor = 0;
  std::int64_t dst_offset = 0;  ///< bytes, from the data pointer or the start of the message
  std::int64_t src_offset = 0;
  std::int64_t message_bytes = 0;  ///< that it takes of a message; 0 without one
};

/// Copies between this rank's memory and a peer's.
struct PeerCopies {
  int peer = 0;
  std::vector<CopyStep> steps;
};

/// All that goes to or comes from a peer, or as much of it as a workspace of bounded size holds.
struct PeerSteps {
  int peer = 0;
  std::int64_t bytes = 0;   ///< of the message
  std::int64_t offset = 0;  ///< of the message in the workspace
  /// The message is one run of a tensor's own memory: its bytes start at `in_place_offset` of `in_place`, no copy.
  int in_place = -1;
  std::int64_t in_place_offset = 0;
  bool carried = false;  ///< goes with the fingerprints, see Comm::allgather_with
  std::vector<CopyStep> steps;
  std::vector<Layout> pieces;  ///< of the tensor's own memory, in the order of `steps`, which may cut them
};

/// A message cut into parcels of at most `most_bytes` of whole steps, in order. Both ranks cut alike.
std::vector<PeerSteps> parcels_of(const PeerSteps& message, bool sent, std::int64_t most_bytes);

/// Makes the steps of one pair of ranks. Messages hold the pieces one behind the other, each dense in the memory order
/// of the target's distribution, which both ranks know.
class StepMaker {
 public:
  /// `most_bytes`: of a message that a step may take, an element at least.
  StepMaker(const Exchange::Impl& exchange, int tensor, PlanStore& plans,
            std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max())
      : x_(exchange), tensor_(tensor), plans_(plans), most_bytes_(most_bytes) {}

  /// From the source's memory into that of the target, both by their layouts.
  void straight(const PairParts& pair, const std::vector<Layout>& src, const std::vector<Layout>& dst,
                std::vector<CopyStep>& out);
  /// Appends to a message.
  void pack(const PairParts& pair, const std::vector<Layout>& src, PeerSteps& out);
  void unpack(const PairParts& pair, const std::vector<Layout>& dst, PeerSteps& out);

 private:
  const Exchange::Impl& x_;
  int tensor_;
  PlanStore& plans_;
  std::int64_t most_bytes_;
};

}  // namespace restride::distributed
