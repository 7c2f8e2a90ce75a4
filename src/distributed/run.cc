// A run of a plan: check the pointers, agree on the run, pack, send, unpack.
#include <fmt/format.h>

#include <optional>

#include <restride/detail/ranks.hpp>

#include "src/distributed/plan.h"

namespace restride::distributed {

/// Of first elements: a data pointer itself may lie outside its allocation.
void Plan::Impl::check_places() const {
  if (!fused && link == nullptr && stream != nullptr)
    throw ArgumentError("a stream for an exchange of memory of the host; plan with device = kCuda, or give none");
  const DeviceKind device = memory_kind();
  if (staged && device == DeviceKind::kCuda && !link->device().is_capturing(stream))
    detail::require_stream_of(memory_device(), stream);
  const auto check = [&](const char* which, std::size_t t, const void* data, const std::vector<Layout>& layouts) {
    for (const Layout& l : layouts) {
      if (l.elements() == 0) continue;
      const std::string why = detail::why_not_on(device, memory_device(), moved(data, l.offset_bytes));
      if (!why.empty()) throw DeviceError(fmt::format("{} of tensor {} on rank {} {}", which, t, comm.rank(), why));
    }
  };
  for (std::size_t t = 0; t < exchanges.size(); ++t) {
    check("dst", t, dst[t], local[t].dst);
    check("src", t, src[t], local[t].src);
  }
}

void Plan::Impl::check_pointers() const {
  if (dst.size() != exchanges.size() || src.size() != exchanges.size())
    throw ArgumentError(
        fmt::format("{} destinations and {} sources for a plan of {} tensors; give one pointer a tensor", dst.size(),
                    src.size(), exchanges.size()));
  for (std::size_t t = 0; t < exchanges.size(); ++t) {
    const bool no_dst = local[t].has_dst && dst[t] == nullptr, no_src = local[t].has_src && src[t] == nullptr;
    if (no_dst || no_src)
      throw ArgumentError(fmt::format("{} of tensor {} is null on rank {}, which has elements of it; give it memory",
                                      no_dst ? "dst" : "src", t, comm.rank()));
  }
  check_places();
  struct Range {
    const std::byte *lo, *hi;
  };
  const auto range = [](const void* data, const Layout& l) {
    const auto [lo, hi] = byte_range(l);
    const auto* base = static_cast<const std::byte*>(data);
    return Range{moved(base, lo), moved(base, hi)};
  };
  for (std::size_t i = 0; i < exchanges.size(); ++i)
    for (const Layout& to : local[i].dst) {
      if (to.elements() == 0) continue;
      const Range d = range(dst[i], to);
      for (std::size_t j = 0; j < exchanges.size(); ++j)
        for (const Layout& out : local[j].src) {
          if (out.elements() == 0) continue;
          const Range s = range(src[j], out);
          if (s.lo < d.hi && d.lo < s.hi)
            throw OverlapError(
                fmt::format("dst of tensor {} lies in the same memory as src of tensor {} on rank {}; "
                            "exchange into other memory",
                            i, j, comm.rank()));
        }
    }
}

void Plan::Impl::agree_on_run() {
  std::exception_ptr failed;
  try {
    check_pointers();
    std::optional<Device::Aside> aside;  // memory may have to be mapped, also in a capture
    if (link != nullptr) aside.emplace(link->device());
    if (fused) fused->enter(stream, targets(), deadline());
  } catch (const Error&) {
    failed = std::current_exception();
  }
  if (method != Method::kDirect && !options.check_runs) {
    if (failed) std::rethrow_exception(failed);
    return;
  }
  Fingerprint f = fingerprint;
  f.kind = CallKind::kRun;
  f.sequence = static_cast<std::uint32_t>(sequence);
  f.run = static_cast<std::uint32_t>(runs);
  if (carries) return agree_and_exchange(f, failed);
  agree(comm, f, failed, "run", deadline());
  if (fused) return fused->tell_addresses(deadline());
  if (method == Method::kDirect) {
    everyones.resize(exchanges.size() * static_cast<std::size_t>(comm.size()));
    comm.allgather(src.data(), everyones.data(), static_cast<std::int64_t>(src.size() * sizeof(void*)), "run",
                   deadline());
  }
}

/// Small messages come with the fingerprints. They lie in the engine's memory until all are equal: nothing of dst is
/// written before.
void Plan::Impl::agree_and_exchange(const Fingerprint& mine, const std::exception_ptr& failed) {
  carried_out.clear();
  carried_in.clear();
  if (!failed) {
    for (PeerSteps& p : sends) {
      if (!p.carried) continue;
      pack(p);
      carried_out.push_back({p.peer, message(p, false), p.bytes});
    }
    for (const PeerSteps& p : receives)
      if (p.carried) carried_in.push_back({p.peer, nullptr, p.bytes});
  }
  agree(comm, mine, failed, "run", deadline(), carried_out, carried_in);
  const auto first = receives.end() - static_cast<std::ptrdiff_t>(carried_in.size());
  for (std::size_t i = 0; i < carried_in.size(); ++i) {
    const PeerSteps& p = first[static_cast<std::ptrdiff_t>(i)];
    if (carried_in[i].bytes != p.bytes) {
      const std::string why =
          fmt::format("rank {} sent {} bytes to rank {}, which expects {}: they have different plans", p.peer,
                      carried_in[i].bytes, comm.rank(), p.bytes);
      comm.abort(why);
      throw AgreementError(why);
    }
    if (carried_in[i].data == nullptr) {
      const std::string why = fmt::format(
          "{} did not bring rank {}'s message to rank {}; override allgather_with where most_carried() is not 0",
          comm.engine(), p.peer, comm.rank());
      comm.abort(why);
      throw UnsupportedError(why);
    }
  }
  for (std::size_t i = 0; i < carried_in.size(); ++i)
    unpack_from(first[static_cast<std::ptrdiff_t>(i)], static_cast<const std::byte*>(carried_in[i].data));
}

void Plan::Impl::run_kept() const {
  for (const CopyStep& s : kept)
    plans.run(s.plan, moved(to(s.tensor), s.dst_offset), moved(from(s.tensor), s.src_offset));
}

void Plan::Impl::pull() {
  for (const PeerCopies& from_peer : direct)
    for (const CopyStep& s : from_peer.steps)
      plans.run(s.plan, moved(to(s.tensor), s.dst_offset),
                moved(static_cast<const std::byte*>(everyones[at(from_peer.peer, s.tensor)]), s.src_offset));
}

std::vector<Fused::Target> Plan::Impl::targets() const {
  std::vector<Fused::Target> out;
  for (std::size_t t = 0; t < dst.size(); ++t) {
    detail::MemoryRange& range = out.emplace_back(Fused::Target{dst[t], {}}).range;
    for (const Layout& l : local[t].dst) {
      if (l.elements() == 0) continue;
      const auto [lo, hi] = byte_range(l);
      const auto* data = static_cast<const std::byte*>(dst[t]);
      range.first = range.first == nullptr ? moved(data, lo) : std::min(range.first, moved(data, lo));
      range.end = std::max(range.end, moved(data, hi));
    }
  }
  return out;
}

void Plan::Impl::push() {
  std::exception_ptr failed;
  try {
    fused->open();
    int ready = comm.rank();
    for (const PeerCopies& to_peer : direct) {  // a peer's tensors follow each other
      if (to_peer.peer != ready) fused->wait_until_ready(ready = to_peer.peer);
      for (const CopyStep& s : to_peer.steps) {
        std::byte* theirs = fused->address(to_peer.peer, s.tensor);
        copy_on_stream(s.plan, moved(theirs, s.dst_offset), moved(from(s.tensor), s.src_offset), fused->lane());
      }
    }
    for (const CopyStep& s : kept)
      copy_on_stream(s.plan, moved(to(s.tensor), s.dst_offset), moved(from(s.tensor), s.src_offset), stream);
  } catch (const std::exception&) {
    failed = std::current_exception();
  }
  if (failed && link != nullptr) comm.abort(fmt::format("rank {} could not enqueue its run", comm.rank()));
  fused->leave(failed);
}

void Plan::Impl::copy_on_stream(int plan, std::byte* to, const std::byte* from, void* on) {
  if (link == nullptr || !link->device().is_host()) return plans.enqueue(plan, to, from, on);
  link->device().call([this, plan, to, from] { plans.run(plan, to, from); }, on);
}

/// The others may have begun: if this rank cannot enqueue its part, the run ends for all.
void Plan::Impl::enqueue_staged() {
  if (const std::string why = comm.unusable(); !why.empty())
    throw DeadlineError("the communicator is unusable: " + why + "; make a new one of the caller's");
  try {
    staged->enqueue(plans, dst, src, stream, deadline());
  } catch (const std::exception& e) {
    comm.abort(fmt::format("rank {} could not enqueue its run: {}", comm.rank(), e.what()));
    throw;
  }
  in_flight = true;
}

void Plan::Impl::pack(PeerSteps& p) {
  if (p.in_place >= 0) return;
  for (const CopyStep& s : p.steps)
    plans.run(s.plan, message(p, false) + s.dst_offset, moved(from(s.tensor), s.src_offset));
}

void Plan::Impl::unpack(PeerSteps& p) {
  if (p.in_place < 0) unpack_from(p, message(p, true));
}

void Plan::Impl::unpack_from(const PeerSteps& p, const std::byte* message) const {
  for (const CopyStep& s : p.steps) plans.run(s.plan, moved(to(s.tensor), s.dst_offset), message + s.src_offset);
}

void Plan::Impl::start_messages() {
  if (!rounds.empty()) {
    if (rounds[0].send >= 0) pack(sends[static_cast<std::size_t>(rounds[0].send)]);
    return begin_round(0);
  }
  if (prepared != nullptr) {
    const bool packed = method == Method::kAlltoallv;
    for (PeerSteps& p : sends) pack(p);
    const bool from_workspace = packed && (sends.empty() || sends[0].in_place < 0);
    const bool to_workspace = packed && (receives.empty() || receives[0].in_place < 0);
    posted = prepared->start(to_workspace ? workspace.data() : to(packed ? receives[0].in_place : 0),
                             from_workspace ? workspace.data() : from(packed ? sends[0].in_place : 0), "run");
    return;
  }
  if (carries && carried_in.size() == receives.size() && carried_out.size() == sends.size()) return;
  std::vector<Message> messages;
  messages.reserve(receives.size());
  for (PeerSteps& p : receives)
    if (!p.carried) messages.push_back({p.peer, message(p, true), p.bytes});
  posted = comm.post(messages, sequence, "run");
  for (PeerSteps& p : sends) {
    if (p.carried) continue;
    pack(p);
    posted->send({p.peer, message(p, false), p.bytes});
  }
}

void Plan::Impl::begin_round(std::size_t i) {
  const Round& round = rounds[i];
  std::vector<Message> in;
  if (round.receive >= 0) {
    PeerSteps& p = receives[static_cast<std::size_t>(round.receive)];
    in.push_back({p.peer, message(p, true), p.bytes});
  }
  posted = comm.post(in, sequence, "run");
  if (round.send >= 0) {
    PeerSteps& p = sends[static_cast<std::size_t>(round.send)];
    posted->send({p.peer, message(p, false), p.bytes});
  }
}

/// While a round is on its way the next one is packed and the one before unpacked.
void Plan::Impl::end_rounds() {
  const Deadline end = deadline();
  for (std::size_t i = 0; i <= rounds.size(); ++i) {
    if (i > 0 && i < rounds.size()) begin_round(i);
    if (i + 1 < rounds.size() && rounds[i + 1].send >= 0) pack(sends[static_cast<std::size_t>(rounds[i + 1].send)]);
    if (i > 0 && rounds[i - 1].receive >= 0) unpack(receives[static_cast<std::size_t>(rounds[i - 1].receive)]);
    if (i == rounds.size()) return;
    while (posted->received(end) >= 0) {
    }
    posted->finish(end);
  }
}

void Plan::start_all(std::span<void* const> dst, std::span<const void* const> src, void* stream) {
  Impl& p = *impl_;
  if (p.in_flight) throw ArgumentError("the plan is on its way already; call wait() before it starts again");
  p.dst.assign(dst.begin(), dst.end());
  p.src.assign(src.begin(), src.end());
  p.stream = stream;
  p.agree_on_run();
  ++p.runs;
  if (p.staged) return p.enqueue_staged();
  if (p.method != Method::kDirect) p.start_messages();
  p.in_flight = true;
  if (p.fused) return p.push();
  p.run_kept();
  if (p.method == Method::kDirect) p.pull();
}

void Plan::wait() {
  Impl& p = *impl_;
  if (!p.in_flight) throw ArgumentError("nothing is on its way; call start() before wait()");
  struct Ends {
    Impl& impl;
    ~Ends() {
      impl.posted.reset();
      impl.in_flight = false;
    }
  } ends{p};
  if (p.staged) return;
  if (p.fused) return p.fused->end(p.deadline());
  if (p.method == Method::kDirect) return p.comm.allgather(nullptr, nullptr, 0, "the end of run", p.deadline());
  if (!p.rounds.empty()) return p.end_rounds();
  if (p.posted == nullptr) return;  // all messages were carried
  const Deadline deadline = p.deadline();
  for (int i = p.posted->received(deadline); i >= 0; i = p.posted->received(deadline))
    p.unpack(p.receives[static_cast<std::size_t>(i)]);
  p.posted->finish(deadline);
}

RunStatus Plan::status() const {
  if (const std::string why = impl_->comm.unusable(); !why.empty())
    throw DeadlineError("the communicator is unusable: " + why);
  return (impl_->staged && impl_->staged->is_running()) || (impl_->fused && impl_->fused->is_running())
             ? RunStatus::kRunning
             : RunStatus::kIdle;
}

void Plan::run_all(std::span<void* const> dst, std::span<const void* const> src, void* stream) {
  start_all(dst, src, stream);
  wait();
}

void Plan::start(void* dst, const void* src, void* stream) { start_all({&dst, 1}, {&src, 1}, stream); }
void Plan::run(void* dst, const void* src, void* stream) { run_all({&dst, 1}, {&src, 1}, stream); }

}  // namespace restride::distributed
