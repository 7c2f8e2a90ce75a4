#include "src/distributed/staged.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "src/base/checked.h"

namespace restride::distributed {
namespace {

/// Modes that a layout may get besides its own.
constexpr std::size_t kMostModes = 60;

Layout with_outer(const Layout& layout, Mode outer, std::int64_t offset) {
  Layout out;
  out.element = layout.element;
  out.offset_bytes = offset;
  out.modes.push_back(outer);
  for (const Mode& m : layout.modes) out.modes.push_back(m);
  return out;
}

/// Parcel number `i` of every message lies in `rounds[i]`. Returns the largest chunk's bytes.
std::int64_t place(const std::vector<PeerSteps>& messages, bool sent, std::int64_t parcel_bytes,
                   std::vector<StagedRound>& rounds) {
  for (const PeerSteps& m : messages) {
    std::size_t i = 0;
    for (PeerSteps& parcel : parcels_of(m, sent, parcel_bytes)) {
      if (i == rounds.size()) rounds.emplace_back();
      StagedRound& round = rounds[i++];
      (sent ? round.sends : round.receives).push_back(std::move(parcel));
    }
  }
  std::int64_t most = 0;
  for (StagedRound& round : rounds) {
    std::int64_t end = 0;
    for (PeerSteps& p : sent ? round.sends : round.receives) {
      if (p.in_place >= 0) continue;
      p.offset = end;
      end += ceil_div(p.bytes, kParcelAlignment) * kParcelAlignment;
      for (CopyStep step : p.steps) {
        (sent ? step.dst_offset : step.src_offset) += p.offset;
        (sent ? round.pack : round.unpack).push_back(step);
      }
    }
    most = std::max(most, end);
  }
  return most;
}

}  // namespace

std::vector<CopyStep> merged(const std::vector<CopyStep>& steps, PlanStore& plans) {
  std::vector<CopyStep> out;
  for (std::size_t i = 0; i < steps.size();) {
    CopyStep first = steps[i];
    std::size_t end = i + 1;
    std::int64_t dst_step = 0, src_step = 0;
    const auto follows = [&](std::size_t j) {
      return steps[j].plan == first.plan && steps[j].tensor == first.tensor &&
             steps[j].dst_offset - steps[j - 1].dst_offset == dst_step &&
             steps[j].src_offset - steps[j - 1].src_offset == src_step;
    };
    if (end < steps.size()) {
      dst_step = steps[end].dst_offset - first.dst_offset;
      src_step = steps[end].src_offset - first.src_offset;
      while (end < steps.size() && follows(end)) ++end;
    }
    const restride::Plan& plan = plans.plan(first.plan);
    const auto count = static_cast<std::int64_t>(end - i);
    if (count > 1 && plan.dst().modes.size() < kMostModes) {
      try {
        const Layout dst = with_outer(plan.dst(), {count, dst_step}, first.dst_offset);
        const Layout src = with_outer(plan.src(), {count, src_step}, first.src_offset);
        first.plan = plans.add(dst, src);
        first.message_bytes *= count;
        out.push_back(first);
        i = end;
        continue;
      } catch (const Error&) {  // one by one, then
      }
    }
    out.insert(out.end(), steps.begin() + static_cast<std::ptrdiff_t>(i),
               steps.begin() + static_cast<std::ptrdiff_t>(end));
    i = end;
  }
  return out;
}

StagedSchedule staged_schedule(const std::vector<PeerSteps>& sends, const std::vector<PeerSteps>& receives,
                               std::int64_t parcel_bytes, PlanStore& plans) {
  StagedSchedule out;
  out.send_chunk_bytes = place(sends, true, parcel_bytes, out.rounds);
  out.receive_chunk_bytes = place(receives, false, parcel_bytes, out.rounds);
  for (StagedRound& round : out.rounds) {
    round.pack = merged(round.pack, plans);
    round.unpack = merged(round.unpack, plans);
  }
  return out;
}

Staged::Staged(GpuLink& link, StagedSchedule schedule, std::vector<CopyStep> kept, std::chrono::milliseconds deadline)
    : link_(link), device_(link.device()), schedule_(std::move(schedule)), kept_(std::move(kept)) {
  workspace_bytes_ = 2 * (schedule_.send_chunk_bytes + schedule_.receive_chunk_bytes);
  if (workspace_bytes_ > 0) workspace_ = link_.allocate(workspace_bytes_);
  for (void*& event : packed_) event = device_.make_event();
  for (void*& event : arrived_) event = device_.make_event();
  word_ = reinterpret_cast<RunWord*>(device_.allocate_shared(sizeof *word_));
  link_.watch(word_, deadline);
}

Staged::~Staged() {
  if (word_ != nullptr) link_.forget(word_);
  for (void* event : packed_)
    if (event != nullptr) device_.destroy_event(event);
  for (void* event : arrived_)
    if (event != nullptr) device_.destroy_event(event);
  if (workspace_ != nullptr) link_.free(workspace_);
  if (word_ != nullptr) device_.free_shared(reinterpret_cast<std::byte*>(word_));
}

void Staged::connect(Deadline deadline) {
  if (schedule_.rounds.empty()) return;
  const StagedRound& first = schedule_.rounds[0];
  std::int64_t in_place = 0;
  for (const PeerSteps& p : first.sends) in_place = std::max(in_place, p.in_place < 0 ? 0 : p.bytes);
  std::byte* stand_in = in_place > 0 ? device_.allocate(in_place) : nullptr;
  std::vector<Message> sends;
  sends.reserve(first.sends.size());
  for (const PeerSteps& p : first.sends)
    sends.push_back({p.peer, p.in_place < 0 ? workspace_ + p.offset : stand_in, p.bytes});
  const auto into_chunk = [&](int) { return workspace_; };
  link_.connect(sends, messages(first.receives, workspace_ + 2 * schedule_.send_chunk_bytes, into_chunk), deadline);
  if (stand_in != nullptr) device_.free(stand_in);
}

bool Staged::is_running() const noexcept { return std::atomic_ref(word_->state).load() != 0; }

void Staged::copy(PlanStore& plans, int plan, std::byte* dst, const std::byte* src, void* stream) {
  if (!device_.is_host()) return plans.enqueue(plan, dst, src, stream);
  device_.call([&plans, plan, dst, src] { plans.run(plan, dst, src); }, stream);
}

std::vector<Message> Staged::messages(const std::vector<PeerSteps>& parcels, std::byte* chunk,
                                      const std::function<std::byte*(int tensor)>& base) const {
  std::vector<Message> out;
  out.reserve(parcels.size());
  for (const PeerSteps& p : parcels)
    out.push_back({p.peer, p.in_place < 0 ? chunk + p.offset : moved(base(p.in_place), p.in_place_offset), p.bytes});
  return out;
}

void Staged::enqueue(PlanStore& plans, const std::vector<void*>& dst, const std::vector<const void*>& src, void* stream,
                     Deadline deadline) {
  const auto to = [&](int tensor) { return static_cast<std::byte*>(dst[static_cast<std::size_t>(tensor)]); };
  const auto from = [&](int tensor) {
    return const_cast<std::byte*>(static_cast<const std::byte*>(src[static_cast<std::size_t>(tensor)]));
  };
  const std::vector<StagedRound>& rounds = schedule_.rounds;
  const auto send_chunk = [&](std::size_t round) {
    return workspace_ + static_cast<std::int64_t>(round % 2) * schedule_.send_chunk_bytes;
  };
  const auto receive_chunk = [&](std::size_t round) {
    return workspace_ + 2 * schedule_.send_chunk_bytes +
           static_cast<std::int64_t>(round % 2) * schedule_.receive_chunk_bytes;
  };
  const auto unpack = [&](std::size_t i) {
    device_.wait(arrived_[i % 2], stream);
    for (const CopyStep& s : rounds[i].unpack)
      copy(plans, s.plan, moved(to(s.tensor), s.dst_offset), receive_chunk(i) + s.src_offset, stream);
  };
  // While the first round is on its way, behind what the second one needs.
  const auto copy_kept = [&] {
    for (const CopyStep& s : kept_)
      copy(plans, s.plan, moved(to(s.tensor), s.dst_offset), moved(from(s.tensor), s.src_offset), stream);
  };
  void* lane = link_.lane();
  device_.set_word(&word_->state, RunWord::kBegun, stream);
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    for (const CopyStep& s : rounds[i].pack)
      copy(plans, s.plan, send_chunk(i) + s.dst_offset, moved(from(s.tensor), s.src_offset), stream);
    device_.record(packed_[i % 2], stream);
    device_.wait(packed_[i % 2], lane);
    link_.exchange(messages(rounds[i].sends, send_chunk(i), from), messages(rounds[i].receives, receive_chunk(i), to),
                   lane, deadline);
    device_.record(arrived_[i % 2], lane);
    if (i == 1) copy_kept();
    if (i > 0) unpack(i - 1);
  }
  if (rounds.size() < 2) copy_kept();
  if (!rounds.empty()) unpack(rounds.size() - 1);
  device_.set_word(&word_->state, RunWord::kEnded, stream);
}

}  // namespace restride::distributed
