// The C ABI of exchanges: C structures in, the C++ API called, exceptions turned into status codes.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <restride/distributed.h>
#include <restride/distributed.hpp>

#include "src/api/c_inputs.h"

namespace {

using restride::api::c::check_struct_size;
using restride::api::c::element_of;
using restride::api::c::layout_of;
using restride::api::c::require;
using restride::api::c::write_text;
namespace dist = restride::distributed;

static_assert(int{RESTRIDE_METHOD_AUTO} == static_cast<int>(dist::Method::kAuto));
static_assert(int{RESTRIDE_METHOD_DIRECT} == static_cast<int>(dist::Method::kDirect));
static_assert(int{RESTRIDE_METHOD_MESSAGES} == static_cast<int>(dist::Method::kMessages));
static_assert(int{RESTRIDE_METHOD_ALLTOALLV} == static_cast<int>(dist::Method::kAlltoallv));
static_assert(int{RESTRIDE_METHOD_ALLTOALLW} == static_cast<int>(dist::Method::kAlltoallw));

thread_local restride::api::c::LastError last_error;

template <class Body>
restride_status guarded(const Body& body) noexcept {
  return last_error.guard(body);
}

// `who` is what the caller calls it: dst[0].
dist::Side side_of(const restride_side* s, const std::string& who) {
  require(s != nullptr, who.c_str(), " is NULL");
  check_struct_size(s->struct_size, sizeof(restride_side), who.c_str(), "RESTRIDE_SIDE_INIT");
  require(s->distribution != nullptr, who.c_str(), ".distribution is NULL");
  require(s->regions >= 0, who.c_str(), ".regions is negative; 0 means dense memory");
  require(s->regions == 0 || s->local != nullptr, who.c_str(), ".local is NULL with regions above 0");
  dist::Side out{dist::parse_distribution(s->distribution), element_of(s->dtype, s->element_bytes, who.c_str()), {}};
  for (int32_t r = 0; r < s->regions; ++r)
    out.local.push_back(layout_of(&s->local[r], fmt::format("{}.local[{}]", who, r).c_str()));
  return out;
}

// Beyond a century the clock's sums would not fit.
std::chrono::milliseconds milliseconds_of(int64_t ms) {
  constexpr int64_t kCentury = int64_t{100} * 366 * 24 * 3600 * 1000;
  return std::chrono::milliseconds(ms < kCentury ? ms : kCentury);
}

dist::ExchangeOptions options_of(const restride_exchange_options* c) {
  dist::ExchangeOptions out;
  if (c == nullptr) return out;
  check_struct_size(c->struct_size, sizeof(restride_exchange_options), "options", "RESTRIDE_EXCHANGE_OPTIONS_INIT",
                    offsetof(restride_exchange_options, device));
  require(c->method >= RESTRIDE_METHOD_AUTO && c->method <= RESTRIDE_METHOD_ALLTOALLW,
          "options.method is no restride_method");
  out.deadline = milliseconds_of(c->deadline_ms);
  out.method = static_cast<dist::Method>(c->method);
  out.check_runs = c->check_runs != 0;
  out.check_pairs = c->check_pairs != 0;
  out.most_workspace_bytes = c->most_workspace_bytes;
  out.threads = c->threads;
  if (c->struct_size < sizeof(restride_exchange_options)) return out;  // of a program from before GPUs
  require(c->device >= RESTRIDE_DEVICE_AUTO && c->device <= RESTRIDE_DEVICE_CUDA,
          "options.device is no restride_device");
  require(c->cuda_device >= RESTRIDE_MODEL_DEVICE, "options.cuda_device is no device; -1 is the current one");
  out.device = static_cast<restride::DeviceKind>(c->device);
  out.cuda_device = c->cuda_device;
  return out;
}

/// Ranks of a program's own, by its functions. `exchange` takes a whole round, so messages gather until one is waited
/// for.
class FunctionsComm final : public dist::Comm {
 public:
  explicit FunctionsComm(const restride_comm_functions& f) : f_(f), engine_(f.engine) {}
  int rank() const noexcept override { return f_.rank; }
  int size() const noexcept override { return f_.size; }
  std::string_view engine() const noexcept override { return engine_; }
  std::string unusable() const override { return broken_; }
  void abort(const std::string& reason) override {
    if (!broken_.empty()) return;
    broken_ = reason;
    if (f_.abort != nullptr) f_.abort(f_.user, reason.c_str());
  }
  void allgather(const void* mine, void* all, std::int64_t bytes, std::string_view what,
                 dist::Deadline deadline) override {
    call(what, deadline, [&](const char* name, std::int64_t ms, char* why, std::size_t capacity) {
      return f_.allgather(f_.user, mine, all, bytes, name, ms, why, capacity);
    });
  }
  std::unique_ptr<dist::Posted> post(std::span<const dist::Message> receives, std::int64_t,
                                     std::string_view what) override {
    return std::make_unique<Round>(*this, receives, what);
  }

 private:
  class Round final : public dist::Posted {
   public:
    Round(FunctionsComm& comm, std::span<const dist::Message> receives, std::string_view what)
        : comm_(comm), what_(what) {
      for (const dist::Message& m : receives) receives_.push_back({m.peer, m.data, m.bytes});
    }
    void send(const dist::Message& m) override { sends_.push_back({m.peer, m.data, m.bytes}); }
    int received(dist::Deadline deadline) override {
      finish(deadline);
      return next_ < receives_.size() ? static_cast<int>(next_++) : -1;
    }
    void finish(dist::Deadline deadline) override {
      if (done_) return;
      comm_.call(what_, deadline, [&](const char* name, std::int64_t ms, char* why, std::size_t capacity) {
        return comm_.f_.exchange(comm_.f_.user, sends_.data(), static_cast<std::int32_t>(sends_.size()),
                                 receives_.data(), static_cast<std::int32_t>(receives_.size()), name, ms, why,
                                 capacity);
      });
      done_ = true;
    }

   private:
    FunctionsComm& comm_;
    std::string what_;
    std::vector<restride_message> sends_, receives_;
    std::size_t next_ = 0;
    bool done_ = false;
  };

  template <class Function>
  void call(std::string_view what, dist::Deadline deadline, const Function& function) {
    if (!broken_.empty())
      throw restride::DeadlineError("the communicator is unusable: " + broken_ + "; make a new one");
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    char why[1024] = "";
    const restride_status status =
        function(std::string(what).c_str(), std::max<std::int64_t>(1, left.count()), why, sizeof why);
    if (status == RESTRIDE_OK) return;
    why[sizeof why - 1] = '\0';
    broken_ = why[0] != '\0' ? why : "a function of " + engine_ + " has failed in " + std::string(what);
    if (status == RESTRIDE_DEADLINE) throw restride::DeadlineError(broken_);
    if (status == RESTRIDE_AGREEMENT) throw restride::AgreementError(broken_);
    throw restride::Error(restride::ErrorCode::kInternal, broken_);
  }

  restride_comm_functions f_;
  std::string engine_, broken_;
};

}  // namespace

struct restride_comm {
  std::shared_ptr<void> owner;  // of what `comm` is a part of
  dist::Comm* comm;
};

struct restride_exchange {
  dist::Plan plan;
};

extern "C" {

const char* restride_distributed_last_error(void) { return last_error.text(); }

restride_status restride_comm_create_threads(restride_comm** comms, int32_t count) {
  return guarded([&] {
    require(comms != nullptr, "comms is NULL");
    const auto world = std::make_shared<dist::Threads>(count);
    std::vector<std::unique_ptr<restride_comm>> made;
    made.reserve(static_cast<std::size_t>(count));
    for (int32_t r = 0; r < count; ++r) made.emplace_back(new restride_comm{world, &world->comm(r)});
    for (int32_t r = 0; r < count; ++r) comms[r] = made[static_cast<std::size_t>(r)].release();
  });
}

restride_status restride_comm_create_mpi(restride_comm** comm, const void* mpi_comm, int64_t deadline_ms) {
  if (comm != nullptr) *comm = nullptr;
  return guarded([&] {
    require(comm != nullptr && mpi_comm != nullptr, "comm or mpi_comm is NULL");
    std::shared_ptr<dist::Comm> made = dist::mpi(mpi_comm, milliseconds_of(deadline_ms));
    dist::Comm* plain = made.get();
    *comm = new restride_comm{std::move(made), plain};
  });
}

restride_status restride_comm_create_nccl(restride_comm** comm, void* nccl_comm, int64_t deadline_ms) {
  if (comm != nullptr) *comm = nullptr;
  return guarded([&] {
    require(comm != nullptr && nccl_comm != nullptr, "comm or nccl_comm is NULL");
    std::shared_ptr<dist::Comm> made = dist::nccl(nccl_comm, milliseconds_of(deadline_ms));
    dist::Comm* plain = made.get();
    *comm = new restride_comm{std::move(made), plain};
  });
}

restride_status restride_comm_create(restride_comm** comm, const restride_comm_functions* functions) {
  if (comm != nullptr) *comm = nullptr;
  return guarded([&] {
    require(comm != nullptr && functions != nullptr, "comm or functions is NULL");
    check_struct_size(functions->struct_size, sizeof(restride_comm_functions), "functions", "its size and members");
    require(functions->size >= 1 && functions->rank >= 0 && functions->rank < functions->size,
            "functions.rank is none of functions.size");
    require(functions->allgather != nullptr && functions->exchange != nullptr && functions->engine != nullptr,
            "functions.allgather, .exchange or .engine is NULL");
    auto made = std::make_shared<FunctionsComm>(*functions);
    dist::Comm* plain = made.get();
    *comm = new restride_comm{std::move(made), plain};
  });
}

void restride_comm_destroy(restride_comm* comm) { delete comm; }
int32_t restride_comm_rank(const restride_comm* comm) { return comm != nullptr ? comm->comm->rank() : -1; }
int32_t restride_comm_size(const restride_comm* comm) { return comm != nullptr ? comm->comm->size() : -1; }

restride_status restride_comm_abort(restride_comm* comm, const char* reason) {
  return guarded([&] {
    require(comm != nullptr && reason != nullptr, "comm or reason is NULL");
    comm->comm->abort(reason);
  });
}

restride_status restride_exchange_create(restride_exchange** exchange, const restride_side* dst,
                                         const restride_side* src, int32_t tensors, restride_comm* comm,
                                         const restride_exchange_options* options) {
  if (exchange != nullptr) *exchange = nullptr;
  return guarded([&] {
    require(exchange != nullptr && comm != nullptr, "exchange or comm is NULL");
    require(tensors >= 1 && dst != nullptr && src != nullptr, "tensors is below 1, or dst or src is NULL");
    std::vector<dist::Transfer> transfers;
    transfers.reserve(static_cast<std::size_t>(tensors));
    for (int32_t i = 0; i < tensors; ++i)
      transfers.push_back({side_of(&src[i], fmt::format("src[{}]", i)), side_of(&dst[i], fmt::format("dst[{}]", i))});
    *exchange = new restride_exchange{dist::plan(transfers, *comm->comm, options_of(options))};
  });
}

restride_status restride_exchange_start(restride_exchange* exchange, void* const* dst, const void* const* src) {
  return restride_exchange_start_on(exchange, dst, src, nullptr);
}

restride_status restride_exchange_start_on(restride_exchange* exchange, void* const* dst, const void* const* src,
                                           void* stream) {
  return guarded([&] {
    require(exchange != nullptr && dst != nullptr && src != nullptr, "exchange, dst or src is NULL");
    const auto n = static_cast<std::size_t>(exchange->plan.tensors());
    exchange->plan.start_all({dst, n}, {src, n}, stream);
  });
}

restride_status restride_exchange_wait(restride_exchange* exchange) {
  return guarded([&] {
    require(exchange != nullptr, "exchange is NULL");
    exchange->plan.wait();
  });
}

restride_status restride_exchange_run(restride_exchange* exchange, void* const* dst, const void* const* src) {
  return restride_exchange_run_on(exchange, dst, src, nullptr);
}

restride_status restride_exchange_run_on(restride_exchange* exchange, void* const* dst, const void* const* src,
                                         void* stream) {
  const restride_status status = restride_exchange_start_on(exchange, dst, src, stream);
  return status == RESTRIDE_OK ? restride_exchange_wait(exchange) : status;
}

restride_status restride_exchange_status(const restride_exchange* exchange, int32_t* running) {
  return guarded([&] {
    require(exchange != nullptr && running != nullptr, "exchange or running is NULL");
    *running = exchange->plan.status() == dist::RunStatus::kRunning ? 1 : 0;
  });
}

void restride_exchange_destroy(restride_exchange* exchange) { delete exchange; }

restride_status restride_exchange_explain(const restride_exchange* exchange, char* buffer, size_t capacity,
                                          size_t* length) {
  return guarded([&] {
    require(exchange != nullptr, "exchange is NULL");
    write_text(exchange->plan.explain(), buffer, capacity, length);
  });
}

restride_status restride_distribution_regions(const char* distribution, int32_t rank, int32_t* regions) {
  return guarded([&] {
    require(distribution != nullptr && regions != nullptr, "distribution or regions is NULL");
    require(rank >= 0, "rank is negative; ranks count from 0");
    *regions = dist::regions_of(dist::parse_distribution(distribution), rank);
  });
}

restride_status restride_distribution_shape(const char* distribution, int32_t rank, int32_t region, int64_t* extents,
                                            int32_t capacity, int32_t* axes) {
  return guarded([&] {
    require(distribution != nullptr && axes != nullptr, "distribution or axes is NULL");
    require(capacity == 0 || extents != nullptr, "extents is NULL with a capacity above 0");
    const std::vector<int64_t> shape = dist::local_shape(dist::parse_distribution(distribution), rank, region);
    *axes = static_cast<int32_t>(shape.size());
    require(*axes <= capacity, "the distribution has more axes than `capacity`: give arrays of 64, which any fits");
    for (std::size_t a = 0; a < shape.size(); ++a) extents[a] = shape[a];
  });
}

restride_status restride_distribution_indices(const char* distribution, int32_t rank, int32_t region, int32_t axis,
                                              int64_t* indices, int64_t capacity) {
  return guarded([&] {
    require(distribution != nullptr, "distribution is NULL");
    const dist::Distribution d = dist::parse_distribution(distribution);
    const std::vector<int64_t> shape = dist::local_shape(d, rank, region);
    require(axis >= 0 && static_cast<std::size_t>(axis) < shape.size(), "axis is none of the distribution's");
    const int64_t count = shape[static_cast<std::size_t>(axis)];
    require(count <= capacity, "`capacity` is below the region's extent: see restride_distribution_shape");
    require(count == 0 || indices != nullptr, "indices is NULL");
    for (int64_t i = 0; i < count; ++i) indices[i] = dist::global_index(d, rank, region, axis, i);
  });
}

restride_status restride_distribution_explain(const restride_side* dst, const restride_side* src, int32_t rank,
                                              char* buffer, size_t capacity, size_t* length) {
  return guarded([&] {
    const dist::Side from = side_of(src, "src"), to = side_of(dst, "dst");
    const dist::Exchange x(from.distribution, from.element, to.distribution, to.element);
    if (rank >= x.ranks())
      throw restride::ArgumentError(fmt::format("rank {}: there are ranks 0 to {}", rank, x.ranks() - 1));
    write_text(x.explain(rank), buffer, capacity, length);
  });
}

}  // extern "C"
