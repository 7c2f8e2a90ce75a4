// The messages of a plan: packed, in rounds where the workspace is bounded, or by an engine's collectives.
#include <fmt/format.h>

#include <algorithm>

#include "src/distributed/plan.h"

namespace restride::distributed {

void Plan::Impl::require_room(std::int64_t bytes, const char* what) const {
  for (const Exchange& x : exchanges)
    if (const Element wire = x.wire_element(); bytes < wire.size_bytes)
      throw ArgumentError(fmt::format("a workspace of {} bytes has no room for {} of {}; give it more",
                                      options.most_workspace_bytes, what, to_string(wire)));
}

bool Plan::Impl::stays(const PairParts& pair) const {
  return pair.peer == comm.rank() && (link == nullptr || !link->sends_to_itself());
}

/// All messages, of steps of at most `most_bytes`.
void Plan::Impl::make_steps(std::int64_t most_bytes) {
  const auto of = [](std::vector<PeerSteps>& all, int peer) -> PeerSteps& {
    for (PeerSteps& p : all)
      if (p.peer == peer) return p;
    all.emplace_back().peer = peer;
    return all.back();
  };
  for (std::size_t t = 0; t < exchanges.size(); ++t) {
    const Exchange::Impl& x = exchanges[t].impl();
    StepMaker make(x, static_cast<int>(t), plans, most_bytes);
    for (const PairParts& pair : x.sends(comm.rank())) {
      if (stays(pair))
        make.straight(pair, local[t].src, local[t].dst, kept);
      else
        make.pack(pair, local[t].src, of(sends, pair.peer));
    }
    for (const PairParts& pair : x.receives(comm.rank()))
      if (!stays(pair)) make.unpack(pair, local[t].dst, of(receives, pair.peer));
  }
  // Each rank begins with another peer, so that not all send to one at once.
  std::sort(sends.begin(), sends.end(),
            [&](const PeerSteps& a, const PeerSteps& b) { return steps_to(a.peer) < steps_to(b.peer); });
  std::sort(receives.begin(), receives.end(),
            [&](const PeerSteps& a, const PeerSteps& b) { return steps_from(a.peer) < steps_from(b.peer); });
  for (const PeerSteps& p : sends) sent_bytes += p.bytes;
  for (const PeerSteps& p : receives) received_bytes += p.bytes;
}

void Plan::Impl::make_messages() {
  const bool bounded = method == Method::kMessages && options.most_workspace_bytes > 0;
  if (bounded) require_room(parcel_bytes(), "four elements");
  make_steps(bounded ? parcel_bytes() : std::numeric_limits<std::int64_t>::max());
  if (method == Method::kAlltoallw) return prepare_alltoallw();
  if (method == Method::kAlltoallv)  // one base a side: the workspace, unless all are runs of one tensor's memory
    for (std::vector<PeerSteps>* side : {&sends, &receives})
      if (std::any_of(side->begin(), side->end(),
                      [&](const PeerSteps& p) { return p.in_place != (*side)[0].in_place; }))
        for (PeerSteps& p : *side) p.in_place = -1;
  if (bounded) return cut_into_rounds();
  if (method == Method::kMessages) choose_carried();
  place_in_workspace();
  if (method == Method::kAlltoallv) prepare_alltoallv();
}

/// Round (d, c) takes parcel c to the rank d further on, and parcel c from the rank d before. A rank waits for others
/// in their earlier rounds alone, so no ranks wait for each other.
void Plan::Impl::cut_into_rounds() {
  std::map<std::pair<int, int>, Round> by_key;
  const auto cut = [&](std::vector<PeerSteps>& messages, bool sent) {
    std::vector<PeerSteps> parcels;
    for (const PeerSteps& m : messages) {
      int c = 0;
      for (PeerSteps& p : parcels_of(m, sent, parcel_bytes())) {
        Round& round = by_key[{sent ? steps_to(p.peer) : steps_from(p.peer), c++}];
        (sent ? round.send : round.receive) = static_cast<int>(parcels.size());
        parcels.push_back(std::move(p));
      }
    }
    messages = std::move(parcels);
  };
  cut(sends, true);
  cut(receives, false);
  // Buffers 0 and 1 are for sending, 2 and 3 for receiving: rounds take turns.
  std::int64_t most = 0;
  for (const auto* side : {&sends, &receives})
    for (const PeerSteps& p : *side)
      if (p.in_place < 0) most = std::max(most, p.bytes);
  for (const auto& [key, round] : by_key) {
    const auto turn = static_cast<std::int64_t>(rounds.size() % 2);
    if (round.send >= 0) sends[static_cast<std::size_t>(round.send)].offset = turn * most;
    if (round.receive >= 0) receives[static_cast<std::size_t>(round.receive)].offset = (2 + turn) * most;
    rounds.push_back(round);
  }
  workspace.resize(static_cast<std::size_t>(4 * most));
}

/// Both ranks of a pair know how long their message is, so they come to the same.
void Plan::Impl::choose_carried() {
  if (!options.check_runs) return;  // nothing that they could come with
  for (std::vector<PeerSteps>* side : {&sends, &receives})
    for (PeerSteps& p : *side) {
      p.carried = p.bytes > 0 && p.bytes <= comm.most_carried();
      carries = carries || p.carried;
    }
  std::stable_partition(receives.begin(), receives.end(), [](const PeerSteps& p) { return !p.carried; });
}

void Plan::Impl::place_in_workspace() {
  std::int64_t end = 0;
  constexpr std::int64_t kLine = 64;
  for (std::vector<PeerSteps>* side : {&sends, &receives})
    for (PeerSteps& p : *side) {
      if (p.in_place >= 0 || (p.carried && side == &receives)) continue;  // the latter lie in the engine's memory
      p.offset = end;
      end += ceil_div(p.bytes, kLine) * kLine;
    }
  workspace.resize(static_cast<std::size_t>(end));
}

void Plan::Impl::prepare_alltoallv() {
  std::vector<PlacedMessage> out, in;
  for (const PeerSteps& p : sends) out.push_back({p.peer, p.in_place < 0 ? p.offset : p.in_place_offset, p.bytes});
  for (const PeerSteps& p : receives) in.push_back({p.peer, p.in_place < 0 ? p.offset : p.in_place_offset, p.bytes});
  prepared = comm.alltoallv(out, in);
}

void Plan::Impl::prepare_alltoallw() {
  if (exchanges.size() != 1 || exchanges[0].src_element() != exchanges[0].dst_element())
    throw ArgumentError("datatypes of MPI move one tensor a run, without a cast; use Method::kMessages");
  std::vector<StridedMessage> out, in;
  for (const PeerSteps& p : sends) out.push_back({p.peer, p.pieces});
  for (const PeerSteps& p : receives) in.push_back({p.peer, p.pieces});
  prepared = comm.alltoallw(out, in);
  for (std::vector<PeerSteps>* side : {&sends, &receives})
    for (PeerSteps& p : *side) p.in_place = 0;  // all of them, by their datatypes
}

/// Every rank's bytes to and from every other, compared by every rank alike.
void Plan::Impl::check_pairs() {
  const auto n = static_cast<std::size_t>(comm.size());
  std::vector<std::int64_t> mine(2 * n), all(2 * n * n);
  for (const PeerSteps& p : sends) mine[static_cast<std::size_t>(p.peer)] += p.bytes;
  for (const PeerSteps& p : receives) mine[n + static_cast<std::size_t>(p.peer)] += p.bytes;
  comm.allgather(mine.data(), all.data(), static_cast<std::int64_t>(mine.size() * sizeof(std::int64_t)), "plan",
                 deadline());
  for (std::size_t from = 0; from < n; ++from)
    for (std::size_t to = 0; to < n; ++to)
      if (const std::int64_t sent = all[from * 2 * n + to], expected = all[to * 2 * n + n + from]; sent != expected)
        throw AgreementError(
            fmt::format("rank {} would send {} bytes to rank {}, which expects {}: they have different plans; "
                        "nothing was sent",
                        from, sent, to, expected));
}

}  // namespace restride::distributed
