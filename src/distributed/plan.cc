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

void agree(Comm& comm, Fingerprint mine, const std::exception_ptr& failed, std::string_view what, Deadline deadline,
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
  // Without memory the process ends: what may still be written must not be given back.
  static auto* kept_workspaces = new std::deque<std::vector<std::byte>>;  // NOLINT(bugprone-unhandled-exception-at-new)
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
  // Of two H100s (bench/results/exchange-gpu). Stores into another GPU pack nothing: only what stays is copied.
  constexpr LinkCosts kFused{20, 340, 3900}, kStaged{100, 268, 1290};
  const LinkCosts costs = p.fused ? kFused : p.staged ? kStaged : LinkCosts{};
  for (const Exchange& x : p.exchanges) out += x.explain(p.comm.rank(), 16, costs);
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
