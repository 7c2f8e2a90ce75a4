// What a plan for ranks on GPUs adds: which of them store into peers' memory, or how messages are staged.
#include <fmt/format.h>

#include <algorithm>
#include <set>

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
  std::int64_t most_peers = 0;
  if (fused) {
    targets = everyones_layouts(&Transfer::dst, transfers, comm, deadline());
  } else {
    const std::int64_t mine = peers();
    std::vector<std::int64_t> all(static_cast<std::size_t>(comm.size()));
    comm.allgather(&mine, all.data(), sizeof mine, "plan", deadline());
    most_peers = *std::max_element(all.begin(), all.end());
  }
  try {
    if (fused) {
      make_direct(targets);
      connect();
    } else {
      make_staged(most_peers);
    }
  } catch (const std::exception&) {
    failed = std::current_exception();
  }
  agree(comm, fingerprint, failed, "plan", deadline());
}

/// Ranks that this one sends to or receives from, whichever are more.
std::int64_t Plan::Impl::peers() const {
  std::set<int> to, from;
  for (const Exchange& x : exchanges) {
    for (const PairParts& pair : x.impl().sends(comm.rank())) to.insert(pair.peer);
    for (const PairParts& pair : x.impl().receives(comm.rank())) from.insert(pair.peer);
  }
  return static_cast<std::int64_t>(std::max(to.size(), from.size()));
}

/// All ranks have as many rounds as the longest message takes, with a share of a chunk for each of `most_peers`.
void Plan::Impl::make_staged(std::int64_t most_peers) {
  const std::int64_t share = chunk_bytes() / std::max<std::int64_t>(1, most_peers);
  const std::int64_t parcel = share / kParcelAlignment * kParcelAlignment;
  require_room(parcel, "a parcel for every peer");
  make_steps(parcel);
  staged = std::make_unique<Staged>(*link, staged_schedule(sends, receives, parcel, plans), std::move(kept),
                                    options.deadline);
}

}  // namespace restride::distributed
