// Plan: agree, make the steps, run them.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include <restride/detail/ranks.hpp>

#include "src/distributed/agreement.h"
#include "src/distributed/fused.h"
#include "src/distributed/program.h"

namespace restride::distributed {

std::string_view name(Method method) noexcept {
  switch (method) {
    case Method::kDirect: return "direct";
    case Method::kMessages: return "messages";
    default: return "auto";
  }
}

struct Plan::Impl {
  explicit Impl(Comm& c, const ExchangeOptions& o) : comm(c), options(o), plans(o.threads) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (in_flight) comm.abort(fmt::format("rank {} destroyed a plan between start and wait", comm.rank()));
  }

  /// What one rank has of a tensor's sides: layouts, and whether there is anything in them.
  struct Local {
    std::vector<Layout> src, dst;
    bool has_src = false, has_dst = false;
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
  std::vector<PeerSteps> sends, receives;  ///< kMessages
  std::vector<std::byte> workspace;
  std::int64_t sent_bytes = 0, received_bytes = 0;

  // Of the run that is on its way.
  bool in_flight = false;
  std::vector<void*> dst;
  std::vector<const void*> src;
  std::vector<const void*> everyones;  ///< kDirect: a rank's sources, with `fused` its targets, one behind the other
  void* stream = nullptr;
  std::unique_ptr<Posted> posted;

  /// In `everyones`.
  std::size_t at(int rank, int tensor) const {
    return static_cast<std::size_t>(rank) * exchanges.size() + static_cast<std::size_t>(tensor);
  }
  Deadline deadline() const { return std::chrono::steady_clock::now() + options.deadline; }
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
  void check_pointers() const;
  void check_places() const;
  void agree_on_run();
  void start_messages();
  void run_kept() const;
  void pull();
  void push();
};

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
  f.options = hash_of(fmt::format("{} {} {}", name(method), options.check_runs, options.device == DeviceKind::kCuda));
  return f;
}

/// All ranks' fingerprints. `failed` is what this rank cannot take part for: thrown here, once the others know.
void agree(Comm& comm, Fingerprint mine, std::exception_ptr failed, std::string_view what, Deadline deadline) {
  if (failed) mine.status = static_cast<std::uint16_t>(ErrorCode::kInternal);
  std::vector<Fingerprint> all(static_cast<std::size_t>(comm.size()));
  comm.allgather(&mine, all.data(), sizeof mine, what, deadline);
  if (failed) std::rethrow_exception(failed);
  require_agreement(all);
}

}  // namespace

void Plan::Impl::make_local(std::span<const Transfer> transfers) {
  if (transfers.empty()) throw ArgumentError("no tensors to exchange; give one transfer at least");
  if (options.threads < 0)
    throw ArgumentError(fmt::format("threads = {}; use 0 for the default or a positive count", options.threads));
  if (options.deadline.count() <= 0)
    throw ArgumentError(fmt::format("a deadline of {} ms; use a positive one", options.deadline.count()));
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
  const auto distance = [&](const PeerCopies& p) { return (p.peer - comm.rank() + comm.size()) % comm.size(); };
  std::stable_sort(direct.begin(), direct.end(),
                   [&](const PeerCopies& a, const PeerCopies& b) { return distance(a) < distance(b); });
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

void Plan::Impl::make_messages() {
  const auto of = [](std::vector<PeerSteps>& all, int peer) -> PeerSteps& {
    for (PeerSteps& p : all)
      if (p.peer == peer) return p;
    all.emplace_back().peer = peer;
    return all.back();
  };
  for (std::size_t t = 0; t < exchanges.size(); ++t) {
    const Exchange::Impl& x = exchanges[t].impl();
    StepMaker make(x, static_cast<int>(t), plans);
    for (const PairParts& pair : x.sends(comm.rank())) {
      if (pair.peer == comm.rank())
        make.straight(pair, local[t].src, local[t].dst, kept);
      else
        make.pack(pair, local[t].src, of(sends, pair.peer));
    }
    for (const PairParts& pair : x.receives(comm.rank()))
      if (pair.peer != comm.rank()) make.unpack(pair, local[t].dst, of(receives, pair.peer));
  }
  // Each rank begins with another peer, so that not all send to one at once.
  const auto distance = [&](const PeerSteps& p) { return (p.peer - comm.rank() + comm.size()) % comm.size(); };
  const auto nearer = [&](const PeerSteps& a, const PeerSteps& b) { return distance(a) < distance(b); };
  std::sort(sends.begin(), sends.end(), nearer);
  std::sort(receives.begin(), receives.end(), nearer);
  std::int64_t end = 0;
  constexpr std::int64_t kLine = 64;
  const auto place = [&](PeerSteps& p) {
    if (p.in_place >= 0) return;
    p.offset = end;
    end += ceil_div(p.bytes, kLine) * kLine;
  };
  for (PeerSteps& p : sends) {
    place(p);
    sent_bytes += p.bytes;
  }
  for (PeerSteps& p : receives) {
    place(p);
    received_bytes += p.bytes;
  }
  workspace.resize(static_cast<std::size_t>(end));
}

/// Of first elements: a data pointer itself may lie outside its allocation.
void Plan::Impl::check_places() const {
  if (!fused && stream != nullptr)
    throw ArgumentError("a stream for an exchange of memory of the host; plan with device = kCuda, or give none");
  const DeviceKind device = fused ? DeviceKind::kCuda : DeviceKind::kCpu;
  const auto check = [&](const char* which, std::size_t t, const void* data, const std::vector<Layout>& layouts) {
    for (const Layout& l : layouts) {
      if (l.elements() == 0) continue;
      const std::string why = detail::why_not_on(device, fused ? fused->device() : -1, moved(data, l.offset_bytes));
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
    if (fused) fused->enter(stream);
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
  agree(comm, f, failed, "run", deadline());
  if (method == Method::kDirect) {
    everyones.resize(exchanges.size() * static_cast<std::size_t>(comm.size()));
    comm.allgather(fused ? static_cast<const void*>(dst.data()) : src.data(), everyones.data(),
                   static_cast<std::int64_t>(src.size() * sizeof(void*)), "run", deadline());
  }
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

void Plan::Impl::push() {
  std::exception_ptr failed;
  try {
    for (const CopyStep& s : kept)
      plans.enqueue(s.plan, moved(to(s.tensor), s.dst_offset), moved(from(s.tensor), s.src_offset), stream);
    for (const PeerCopies& to_peer : direct) {
      fused->wait_until_ready(to_peer.peer);
      for (const CopyStep& s : to_peer.steps) {
        auto* theirs = static_cast<std::byte*>(const_cast<void*>(everyones[at(to_peer.peer, s.tensor)]));
        plans.enqueue(s.plan, moved(theirs, s.dst_offset), moved(from(s.tensor), s.src_offset), stream);
      }
    }
  } catch (const std::exception&) {
    failed = std::current_exception();
  }
  fused->leave(failed);
}

void Plan::Impl::start_messages() {
  std::vector<Message> messages;
  messages.reserve(receives.size());
  for (PeerSteps& p : receives) messages.push_back({p.peer, message(p, true), p.bytes});
  posted = comm.post(messages, sequence, "run");
  for (PeerSteps& p : sends) {
    std::byte* data = message(p, false);
    if (p.in_place < 0)
      for (const CopyStep& s : p.steps) plans.run(s.plan, data + s.dst_offset, moved(from(s.tensor), s.src_offset));
    posted->send({p.peer, data, p.bytes});
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
  if (p.method == Method::kMessages) p.start_messages();
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
  if (p.fused) return p.fused->end(p.deadline());
  if (p.method == Method::kDirect) return p.comm.allgather(nullptr, nullptr, 0, "the end of run", p.deadline());
  const Deadline deadline = p.deadline();
  for (int i = p.posted->received(deadline); i >= 0; i = p.posted->received(deadline)) {
    PeerSteps& from = p.receives[static_cast<std::size_t>(i)];
    if (from.in_place >= 0) continue;
    const std::byte* data = p.message(from, true);
    for (const CopyStep& s : from.steps) p.plans.run(s.plan, moved(p.to(s.tensor), s.dst_offset), data + s.src_offset);
  }
  p.posted->finish(deadline);
}

void Plan::run_all(std::span<void* const> dst, std::span<const void* const> src, void* stream) {
  start_all(dst, src, stream);
  wait();
}

void Plan::start(void* dst, const void* src, void* stream) { start_all({&dst, 1}, {&src, 1}, stream); }
void Plan::run(void* dst, const void* src, void* stream) { run_all({&dst, 1}, {&src, 1}, stream); }

Method Plan::method() const noexcept { return impl_->method; }
std::int64_t Plan::workspace_bytes() const noexcept { return static_cast<std::int64_t>(impl_->workspace.size()); }
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
  out += fmt::format(
      "{:<11}{}\n", "engine",
      p.fused ? p.fused->in_words() : fmt::format("{} of {} by {}", name(p.method), p.comm.size(), p.comm.engine()));
  const auto in_place = [](const std::vector<PeerSteps>& all) {
    return std::count_if(all.begin(), all.end(), [](const PeerSteps& s) { return s.in_place >= 0; });
  };
  out += fmt::format("{:<11}rank {} sends {} bytes, gets {}, has {} bytes of workspace and {} copy plans", "here",
                     p.comm.rank(), p.sent_bytes, p.received_bytes, p.workspace.size(), p.plans.size());
  if (p.method == Method::kMessages)
    out += fmt::format("; {} of {} messages leave and {} of {} arrive where they lie", in_place(p.sends),
                       p.sends.size(), in_place(p.receives), p.receives.size());
  return out + '\n';
}

Plan plan(std::span<const Transfer> transfers, Comm& comm, const ExchangeOptions& options) {
  auto p = std::make_shared<Plan::Impl>(comm, options);
  p->sequence = comm.next_sequence();
  const bool on_gpus = options.device == DeviceKind::kCuda;
  p->method = options.method == Method::kAuto ? (comm.shares_memory() || on_gpus ? Method::kDirect : Method::kMessages)
                                              : options.method;
  std::exception_ptr failed;
  try {
    if (on_gpus) {
      p->fused = std::make_unique<Fused>(comm, options);
      p->plans = PlanStore(p->fused->plan_options());
    }
    if (p->method == Method::kDirect && !comm.shares_memory())
      throw ArgumentError(
          fmt::format("ranks of {} do not read each other's memory; use Method::kMessages", comm.engine()));
    p->make_local(transfers);
    p->fingerprint = fingerprint_of(transfers, options, p->method);
    if (p->method == Method::kMessages) p->make_messages();
  } catch (const std::exception&) {
    failed = std::current_exception();
  }
  p->fingerprint.version = hash_of(version());
  p->fingerprint.sequence = static_cast<std::uint32_t>(p->sequence);
  const Deadline deadline = p->deadline();
  agree(comm, p->fingerprint, failed, "plan", deadline);
  if (p->method == Method::kDirect && !on_gpus)
    p->make_direct(everyones_layouts(&Transfer::src, transfers, comm, deadline));
  if (on_gpus) {
    const auto targets = everyones_layouts(&Transfer::dst, transfers, comm, deadline);
    p->fused->greet(deadline);
    try {
      p->make_direct(targets);
      p->connect();
    } catch (const std::exception&) {
      failed = std::current_exception();
    }
    agree(comm, p->fingerprint, failed, "plan", deadline);
  }
  return Plan(std::move(p));
}

Plan plan(const Side& src, const Side& dst, Comm& comm, const ExchangeOptions& options) {
  const Transfer one{src, dst};
  return plan({&one, 1}, comm, options);
}

}  // namespace restride::distributed
