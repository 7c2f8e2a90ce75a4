// What a plan for ranks on GPUs adds: which of them store into peers' memory, or how messages are staged.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/base/checked.h"
#include "src/distributed/plan.h"

namespace restride::distributed {

void Plan::Impl::connect() {
  std::stable_sort(direct.begin(), direct.end(),
                   [&](const PeerCopies& a, const PeerCopies& b) { return steps_to(a.peer) < steps_to(b.peer); });
  std::vector<int> targets, writers;
  for (const PeerCopies& p : direct)
    if (targets.empty() || targets.back() != p.peer) targets.push_back(p.peer);
  for (const Exchange& x : exchanges)
    for (const PairParts& pair : x.impl().receives(comm.rank()))
      if (pair.peer != comm.rank()) writers.push_back(pair.peer);
  std::sort(writers.begin(), writers.end());
  writers.erase(std::unique(writers.begin(), writers.end()), writers.end());
  fused->connect(std::move(targets), std::move(writers));
}

/// Stores into peers' memory when every rank may and should; else messages. All ranks come to the same.
void Plan::Impl::choose_on_gpus() {
  constexpr std::int64_t kShortestRun = 32;  // bytes: a sector of a GPU's memory
  std::string why;
  for (const Exchange& x : exchanges)
    for (const Pair& pair : x.sends(comm.rank())) {
      if (pair.to == comm.rank() || !why.empty()) continue;
      why = fused->why_not_into(pair.to);
      if (why.empty() && pair.write_run < kShortestRun)
        why = fmt::format("rank {} would store runs of {} bytes into rank {}", comm.rank(), pair.write_run, pair.to);
    }
  constexpr std::size_t kText = 200;
  why.resize(kText);
  std::string all(kText * static_cast<std::size_t>(comm.size()), ' ');
  comm.allgather(why.data(), all.data(), kText, "plan", deadline());
  method = Method::kDirect;
  for (std::size_t at = 0; at < all.size() && method == Method::kDirect; at += kText) {
    why_staged = all.c_str() + at;
    if (!why_staged.empty()) method = Method::kMessages;
  }
  if (method == Method::kMessages) fused.reset();
}

void Plan::Impl::plan_on_gpus(std::span<const Transfer> transfers) {
  if (fused) fused->greet(deadline());
  if (method == Method::kAuto) choose_on_gpus();
  std::exception_ptr failed;
  std::vector<std::vector<std::vector<Layout>>> targets;
  Load most;
  if (fused) {
    targets = everyones_layouts(&Transfer::dst, transfers, comm, deadline());
  } else {
    const Load mine = load();
    std::vector<Load> all(static_cast<std::size_t>(comm.size()));
    comm.allgather(&mine, all.data(), sizeof mine, "plan", deadline());
    for (const Load& rank : all) most = {std::max(most.peers, rank.peers), std::max(most.longest, rank.longest)};
  }
  try {
    if (fused) {
      make_direct(targets);
      connect();
    } else {
      make_staged(most);
    }
  } catch (const std::exception&) {
    failed = std::current_exception();
  }
  agree(comm, fingerprint, failed, "plan", deadline());
  if (staged) staged->connect(deadline());
}

Plan::Impl::Load Plan::Impl::load() const {
  std::map<int, std::int64_t> to, from;
  for (const Exchange& x : exchanges) {
    for (const PairParts& pair : x.impl().sends(comm.rank()))
      if (!stays(pair)) to[pair.peer] += pair.elements * x.wire_element().size_bytes;
    for (const PairParts& pair : x.impl().receives(comm.rank()))
      if (!stays(pair)) from[pair.peer] += pair.elements * x.wire_element().size_bytes;
  }
  Load out{static_cast<std::int64_t>(std::max(to.size(), from.size())), 0};
  for (const auto* messages : {&to, &from})
    for (const auto& [peer, bytes] : *messages) out.longest = std::max(out.longest, bytes);
  return out;
}

/// All ranks have as many rounds as the longest message takes, with a share of a chunk for each peer. Rounds are about
/// as long as each other, with room for the steps that a parcel holds whole.
void Plan::Impl::make_staged(const Load& most) {
  const std::int64_t share = chunk_bytes() / std::max<std::int64_t>(1, most.peers);
  std::int64_t parcel = share;
  if (most.longest > share && share > 0) {
    const std::int64_t even = most.longest / ceil_div(most.longest, share);
    parcel = std::min(share, even + even / 16 + kParcelAlignment);
  }
  parcel = parcel / kParcelAlignment * kParcelAlignment;
  require_room(parcel, "a parcel for every peer");
  make_steps(parcel);
  // Measured on two H100s: NCCL receives 64 MiB in 275 us into a chunk, in 470 into the tensor.
  for (PeerSteps& p : receives) p.in_place = -1;
  staged = std::make_unique<Staged>(*link, staged_schedule(sends, receives, parcel, plans), std::move(kept),
                                    options.deadline);
}

}  // namespace restride::distributed
