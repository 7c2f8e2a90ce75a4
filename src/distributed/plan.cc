// Plan: agree with the other ranks, make the steps. run.cc runs them.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <set>

#include "src/distributed/plan.h"

namespace restride::distributed {

std::string_view name(Method method) noexcept {
  switch (method) {
    case Method::kDirect: return "direct";
    case Method::kMessages: return "messages";
    case Method::kAlltoallv: return "alltoallv";
    case Method::kAlltoallw: return "alltoallw";
    default: return "auto";
  }
}

namespace {

/// The layouts of one side, checked against what the rank has.
std::vector<Layout> local_of(const Side& side, int rank, const char* which) {
  std::vector<Layout> dense = local_layouts(side.distribution, rank, side.element);
  if (side.local.empty()) return dense;
  if (side.local.size() != dense.size())
    throw ShapeError(fmt::format("{}: rank {} has {} regions of {}, but {} layouts; give one a region, or none", which,
                                 rank, dense.size(), to_string(side.distribution), side.local.size()));
  for (std::size_t r = 0; r < dense.size(); ++r) {
    const Layout &mine = side.local[r], &wanted = dense[r];
    validate(mine);
    if (mine.element != side.element)
      throw ArgumentError(fmt::format("{}: the layout {} of rank {} is of {}, the tensor is of {}; use one element",
                                      which, to_string(mine), rank, to_string(mine.element), to_string(side.element)));
    if (mine.rank() != wanted.rank())
      throw ShapeError(
          fmt::format("{}: the layout {} of rank {} has {} modes, the tensor {} axes; give one mode an axis", which,
                      to_string(mine), rank, mine.rank(), wanted.rank()));
    for (std::size_t a = 0; a < mine.modes.size(); ++a)
      if (mine.modes[a].extent != wanted.modes[a].extent)
        throw ShapeError(
            fmt::format("{}: rank {} has {} indices of axis {}, but mode {} of its layout {} has {}; give it "
                        "the shape that local_shape says",
                        which, rank, wanted.modes[a].extent, a, a, to_string(mine), mine.modes[a].extent));
  }
  return side.local;
}

bool any_element(const std::vector<Layout>& layouts) {
  return std::any_of(layouts.begin(), layouts.end(), [](const Layout& l) { return l.elements() > 0; });
}

/// Errors: OverlapError when the layout writes an element twice.
void require_one_to_one(const Layout& dst) {
  std::vector<std::int64_t> extents;
  for (const Mode& m : dst.modes) extents.push_back(m.extent);
  restride::Options options;
  options.device = DeviceKind::kCpu;
  options.threads = 1;
  const restride::Plan check(dst, contiguous(dst.element, extents), options);
}

/// Every rank's layouts of every source or target, where ranks reach each other's memory.
std::vector<std::vector<std::vector<Layout>>> everyones_layouts(Side Transfer::*side,
                                                                std::span<const Transfer> transfers, Comm& comm,
                                                                Deadline deadline) {
  std::string mine;  // a tensor ends with a line break; nothing: the dense layouts
  for (const Transfer& t : transfers) {
    for (const Layout& l : (t.*side).local) mine += to_string(l) + ';';
    mine += '\n';
  }
  const auto n = static_cast<std::size_t>(comm.size());
  const auto bytes = static_cast<std::int64_t>(mine.size());
  std::vector<std::int64_t> lengths(n);
  comm.allgather(&bytes, lengths.data(), sizeof bytes, "plan", deadline);
  const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  mine.resize(static_cast<std::size_t>(longest), ' ');
  std::string all(n * static_cast<std::size_t>(longest), ' ');
  comm.allgather(mine.data(), all.data(), longest, "plan", deadline);
  std::vector<std::vector<std::vector<Layout>>> out(n);
  for (std::size_t r = 0; r < n; ++r) {
    std::string_view text =
        std::string_view(all).substr(r * static_cast<std::size_t>(longest), static_cast<std::size_t>(lengths[r]));
    for (const Transfer& t : transfers) {
      const std::size_t end = text.find('\n');
      std::string_view layouts = text.substr(0, end);
      text.remove_prefix(end + 1);
      std::vector<Layout>& of = out[r].emplace_back();
      if (layouts.empty()) of = local_layouts((t.*side).distribution, static_cast<int>(r), (t.*side).element);
      for (; !layouts.empty(); layouts.remove_prefix(layouts.find(';') + 1))
        of.push_back(parse_layout(layouts.substr(0, layouts.find(';'))));
    }
  }
  return out;
}

Fingerprint fingerprint_of(std::span<const Transfer> transfers, const ExchangeOptions& options, Method method) {
  std::string shapes, elements, sources, targets;
  for (const Transfer& t : transfers) {
    shapes += listed(t.src.distribution.shape) + listed(t.dst.distribution.shape);
    elements += to_string(t.src.element) + ' ' + to_string(t.dst.element) + ' ';
    sources += to_string(t.src.distribution) + '\n';
    targets += to_string(t.dst.distribution) + '\n';
  }
  Fingerprint f;
  f.version = hash_of(version());
  f.shapes = hash_of(shapes);
  f.elements = hash_of(elements);
  f.sources = hash_of(sources);
  f.targets = hash_of(targets);
  f.options = hash_of(fmt::format("{} {} {} {} {}", name(method), options.check_runs, options.check_pairs,
                                  options.most_workspace_bytes, options.device == DeviceKind::kCuda));
  return f;
}

/// Of the first rank that sends to others, the shortest run of bytes that is contiguous on both sides;
/// 0: no rank sends to another.
std::int64_t shortest_run(const Exchange& x) {
  const Exchange::Impl& p = x.impl();
  const auto long_axes = [&](std::vector<int> order) {
    std::erase_if(order, [&](int axis) { return x.src().shape[static_cast<std::size_t>(axis)] == 1; });
    return order;
  };
  std::vector<int> shared = long_axes(p.src_order);
  const std::vector<int> other = long_axes(p.dst_order);
  const auto first = std::mismatch(shared.rbegin(), shared.rend(), other.rbegin()).first;
  shared.erase(shared.begin(), first.base());
  for (int rank = 0; rank < x.ranks(); ++rank) {
    std::int64_t shortest = 0;
    bool any = false;
    p.visit_sends(rank, [&](const PartView& v) {
      any = true;
      if (v.peer == rank) return;
      const std::int64_t run = std::min(runs_of(v.axes, shared, &AxisMeeting::src).shortest,
                                        runs_of(v.axes, shared, &AxisMeeting::dst).shortest);
      shortest = shortest == 0 ? run : std::min(shortest, run);
    });
    if (any) return shortest * p.wire.size_bytes;
  }
  return 0;
}

/// What kAuto comes to: of the arguments that all ranks share.
Method preferred(const std::vector<Exchange>& exchanges, const Comm& comm) {
  if (comm.shares_memory()) return comm.preferred(0, 0);
  std::int64_t bytes = 0;
  for (const Exchange& x : exchanges) {
    std::int64_t of_one = x.wire_element().size_bytes;
    for (const std::int64_t n : x.src().shape)
      if (__builtin_mul_overflow(of_one, n, &of_one)) return Method::kMessages;
    if (__builtin_add_overflow(bytes, of_one, &bytes)) return Method::kMessages;
  }
  const bool strided = exchanges.size() == 1 && exchanges[0].src_element() == exchanges[0].dst_element();
  return comm.preferred(bytes, strided ? shortest_run(exchanges[0]) : 0);
}

/// For the plans of the copies.
restride::Options link_options(GpuLink& link, const ExchangeOptions& options) {
  restride::Options out;
  const int device = link.device().number();
  if (options.cuda_device != kCurrentDevice && options.cuda_device != device)
    throw ArgumentError(
        fmt::format("the plan is for cuda:{}, but the NCCL communicator has cuda:{} for this rank; "
                    "leave ExchangeOptions::cuda_device at kCurrentDevice",
                    options.cuda_device, device));
  out.device = link.device().is_host() ? DeviceKind::kCpu : DeviceKind::kCuda;
  out.threads = link.device().is_host() ? options.threads : 1;
  if (!link.device().is_host()) out.cuda_device = device;
  return out;
}

}  // namespace

void agree(Comm& comm, Fingerprint mine, std::exception_ptr failed, std::string_view what, Deadline deadline,
           std::span<const Message> sends, std::span<Message> receives) {
  if (failed) mine.status = static_cast<std::uint16_t>(ErrorCode::kInternal);
  std::vector<Fingerprint> all(static_cast<std::size_t>(comm.size()));
  if (sends.empty() && receives.empty())
    comm.allgather(&mine, all.data(), sizeof mine, what, deadline);
  else
    comm.allgather_with(&mine, all.data(), sizeof mine, sends, receives, what, deadline);
  if (failed) std::rethrow_exception(failed);
  require_agreement(all);
}

Plan::Impl::~Impl() {
  if (in_flight && link == nullptr)
    comm.abort(fmt::format("rank {} destroyed a plan between start and wait", comm.rank()));
  if (workspace.empty() || comm.unusable().empty()) return;
  static std::mutex mutex;  // an engine may still read and write what was on its way: kept until the process ends
  static auto* kept_workspaces = new std::deque<std::vector<std::byte>>;
  const std::lock_guard lock(mutex);
  kept_workspaces->push_back(std::move(workspace));
}

void Plan::Impl::make_local(std::span<const Transfer> transfers) {
  if (transfers.empty()) throw ArgumentError("no tensors to exchange; give one transfer at least");
  if (options.threads < 0)
    throw ArgumentError(fmt::format("threads = {}; use 0 for the default or a positive count", options.threads));
  if (options.deadline.count() <= 0)
    throw ArgumentError(fmt::format("a deadline of {} ms; use a positive one", options.deadline.count()));
  if (options.most_workspace_bytes < 0)
    throw ArgumentError(fmt::format("a workspace of at most {} bytes; use a positive number, or 0 for no bound",
                                    options.most_workspace_bytes));
  if (options.most_workspace_bytes > 0 && method == Method::kAlltoallv)
    throw ArgumentError("alltoallv packs all messages at once; use Method::kMessages, whose workspace can be bounded");
  for (const Transfer& t : transfers) {
    const Exchange& x = exchanges.emplace_back(t.src.distribution, t.src.element, t.dst.distribution, t.dst.element);
    if (x.ranks() > comm.size())
      throw ArgumentError(
          fmt::format("the distributions name rank {}, but the communicator has ranks 0 to {}; use a larger "
                      "one, or other ranks",
                      x.ranks() - 1, comm.size() - 1));
    Local mine;
    mine.src = local_of(t.src, comm.rank(), "src");
    mine.dst = local_of(t.dst, comm.rank(), "dst");
    for (const Layout& l : mine.dst) require_one_to_one(l);
    mine.has_src = any_element(mine.src);
    mine.has_dst = any_element(mine.dst);
    local.push_back(std::move(mine));
  }
}

/// What is reached is the side whose rank does not copy: the others' sources, or, where kernels store, their targets.
void Plan::Impl::make_direct(const std::vector<std::vector<std::vector<Layout>>>& theirs) {
  for (std::size_t t = 0; t < exchanges.size(); ++t) {
    StepMaker make(exchanges[t].impl(), static_cast<int>(t), plans);
    const std::vector<PairParts> incoming = exchanges[t].impl().receives(comm.rank()),
                                 outgoing = exchanges[t].impl().sends(comm.rank());
    for (const PairParts& pair : fused ? outgoing : incoming) {
      std::vector<CopyStep>& out =
          pair.peer == comm.rank() ? kept : direct.emplace_back(PeerCopies{pair.peer, {}}).steps;
      const std::vector<Layout>& reached = theirs[static_cast<std::size_t>(pair.peer)][t];
      make.straight(pair, fused ? local[t].src : reached, fused ? reached : local[t].dst, out);
    }
    for (const PairParts& pair : incoming)
      if (pair.peer != comm.rank()) received_bytes += pair.elements * exchanges[t].wire_element().size_bytes;
    for (const PairParts& pair : outgoing)
      if (pair.peer != comm.rank()) sent_bytes += pair.elements * exchanges[t].wire_element().size_bytes;
  }
}

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

void Plan::Impl::require_room(std::int64_t bytes, const char* what) const {
  for (const Exchange& x : exchanges)
    if (const Element wire = x.wire_element(); bytes < wire.size_bytes)
      throw ArgumentError(fmt::format("a workspace of {} bytes has no room for {} of {}; give it more",
                                      options.most_workspace_bytes, what, to_string(wire)));
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

/// All messages, of steps of at most `most_bytes`.
void Plan::Impl::make_steps(std::int64_t most_bytes) {
  const auto of = [](std::vector<PeerSteps>& all, int peer) -> PeerSteps& {
    for (PeerSteps& p : all)
      if (p.peer == peer) return p;
    all.emplace_back().peer = peer;
    return all.back();
  };
  const auto stays = [&](const PairParts& pair) {
    return pair.peer == comm.rank() && (link == nullptr || !link->sends_to_itself());
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

Method Plan::method() const noexcept { return impl_->method; }
std::int64_t Plan::workspace_bytes() const noexcept {
  return impl_->staged ? impl_->staged->workspace_bytes() : static_cast<std::int64_t>(impl_->workspace.size());
}
std::int64_t Plan::sent_bytes() const noexcept { return impl_->sent_bytes; }
std::int64_t Plan::received_bytes() const noexcept { return impl_->received_bytes; }
int Plan::tensors() const noexcept { return static_cast<int>(impl_->exchanges.size()); }

const Exchange& Plan::exchange(int tensor) const {
  if (tensor < 0 || tensor >= tensors())
    throw ArgumentError(fmt::format("tensor {} of a plan of {}; use one of 0 to {}", tensor, tensors(), tensors() - 1));
  return impl_->exchanges[static_cast<std::size_t>(tensor)];
}

std::string Plan::explain() const {
  const Impl& p = *impl_;
  std::string out;
  for (const Exchange& x : p.exchanges) out += x.explain(p.comm.rank());
  const auto engine = [&] {
    if (p.fused) return p.fused->in_words();
    if (p.staged)
      return fmt::format("staged of {} by {}: {} rounds, because {}", p.comm.size(), p.comm.engine(),
                         p.staged->schedule().rounds.size(), p.why_staged.empty() ? "it was asked for" : p.why_staged);
    return fmt::format("{} of {} by {}", name(p.method), p.comm.size(), p.comm.engine());
  };
  out += fmt::format("{:<11}{}\n", "engine", engine());
  const auto leave_in_place = std::count_if(p.sends.begin(), p.sends.end(), [](auto& s) { return s.in_place >= 0; });
  const auto arrive_in_place =
      std::count_if(p.receives.begin(), p.receives.end(), [](auto& s) { return s.in_place >= 0 && !s.carried; });
  out += fmt::format("{:<11}rank {} sends {} bytes, gets {}, has {} bytes of workspace and {} copy plans", "here",
                     p.comm.rank(), p.sent_bytes, p.received_bytes, workspace_bytes(), p.plans.size());
  if (p.method != Method::kDirect)
    out += fmt::format("; {} of {} messages leave and {} of {} arrive where they lie", leave_in_place, p.sends.size(),
                       arrive_in_place, p.receives.size());
  const auto carried = [](const std::vector<PeerSteps>& all) {
    return std::count_if(all.begin(), all.end(), [](const PeerSteps& s) { return s.carried; });
  };
  if (p.carries)
    out += fmt::format("; {} leave and {} arrive with the check of a run, these in memory of the engine",
                       carried(p.sends), carried(p.receives));
  return out + '\n';
}

Plan plan(std::span<const Transfer> transfers, Comm& comm, const ExchangeOptions& options) {
  auto p = std::make_shared<Plan::Impl>(comm, options);
  p->sequence = comm.next_sequence();
  if (options.device != DeviceKind::kCpu) p->link = comm.gpu_link();
  const bool on_gpus = options.device == DeviceKind::kCuda || p->link != nullptr;
  p->method = options.method;
  if (p->method == Method::kAuto && on_gpus && p->link == nullptr) p->method = Method::kDirect;
  std::exception_ptr failed;
  try {
    if (comm.gpu_link() != nullptr && p->link == nullptr)
      throw ArgumentError("NCCL moves memory of GPUs; set ExchangeOptions::device to kCuda");
    if (on_gpus) {
      if (p->link != nullptr) p->plans = PlanStore(link_options(*p->link, options));
      if (p->link == nullptr || options.method != Method::kMessages)
        p->fused = std::make_unique<Fused>(comm, options, p->link);
      if (p->link == nullptr) p->plans = PlanStore(p->fused->plan_options());
    }
    if (p->method == Method::kDirect && !on_gpus && !comm.shares_memory())
      throw ArgumentError(
          fmt::format("ranks of {} do not read each other's memory; use Method::kMessages", comm.engine()));
    if (p->method != Method::kAuto && (!on_gpus || p->link != nullptr) && !comm.offers(p->method))
      throw ArgumentError(fmt::format("{} has no method {}; use Method::kMessages", comm.engine(), name(p->method)));
    p->make_local(transfers);
    if (p->method == Method::kAuto && !on_gpus) p->method = preferred(p->exchanges, comm);
    p->fingerprint = fingerprint_of(transfers, options, p->method);
    if (!on_gpus && p->method != Method::kDirect) p->make_messages();
  } catch (const std::exception&) {
    failed = std::current_exception();
  }
  p->fingerprint.version = hash_of(version());
  p->fingerprint.sequence = static_cast<std::uint32_t>(p->sequence);
  agree(comm, p->fingerprint, failed, "plan", p->deadline());
  if (on_gpus) p->plan_on_gpus(transfers);
  if (options.check_pairs && p->method != Method::kDirect) p->check_pairs();
  if (p->method == Method::kDirect && !on_gpus)
    p->make_direct(everyones_layouts(&Transfer::src, transfers, comm, p->deadline()));
  return Plan(std::move(p));
}

Plan plan(const Side& src, const Side& dst, Comm& comm, const ExchangeOptions& options) {
  const Transfer one{src, dst};
  return plan({&one, 1}, comm, options);
}

}  // namespace restride::distributed
