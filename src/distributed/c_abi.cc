// The C ABI of exchanges: C structures in, the C++ API called, exceptions turned into status codes.
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

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

dist::Side side_of(const restride_side* s) {
  require(s != nullptr, "dst or src is NULL");
  check_struct_size(s->struct_size, sizeof(restride_side), "side", "RESTRIDE_SIDE_INIT");
  require(s->distribution != nullptr, "side.distribution is NULL");
  require(s->regions >= 0 && (s->regions == 0 || s->local != nullptr), "side.local is NULL, or side.regions negative");
  dist::Side out{dist::parse_distribution(s->distribution), element_of(s->dtype, s->element_bytes, "side"), {}};
  for (int32_t r = 0; r < s->regions; ++r) out.local.push_back(layout_of(&s->local[r], "side.local"));
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
  check_struct_size(c->struct_size, sizeof(restride_exchange_options), "options", "RESTRIDE_EXCHANGE_OPTIONS_INIT");
  require(c->method >= RESTRIDE_METHOD_AUTO && c->method <= RESTRIDE_METHOD_ALLTOALLW,
          "options.method is no restride_method");
  out.deadline = milliseconds_of(c->deadline_ms);
  out.method = static_cast<dist::Method>(c->method);
  out.check_runs = c->check_runs != 0;
  out.check_pairs = c->check_pairs != 0;
  out.most_workspace_bytes = c->most_workspace_bytes;
  out.threads = c->threads;
  return out;
}

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
    for (int32_t i = 0; i < tensors; ++i) transfers.push_back({side_of(&src[i]), side_of(&dst[i])});
    *exchange = new restride_exchange{dist::plan(transfers, *comm->comm, options_of(options))};
  });
}

restride_status restride_exchange_start(restride_exchange* exchange, void* const* dst, const void* const* src) {
  return guarded([&] {
    require(exchange != nullptr && dst != nullptr && src != nullptr, "exchange, dst or src is NULL");
    const auto n = static_cast<std::size_t>(exchange->plan.tensors());
    exchange->plan.start_all({dst, n}, {src, n});
  });
}

restride_status restride_exchange_wait(restride_exchange* exchange) {
  return guarded([&] {
    require(exchange != nullptr, "exchange is NULL");
    exchange->plan.wait();
  });
}

restride_status restride_exchange_run(restride_exchange* exchange, void* const* dst, const void* const* src) {
  const restride_status status = restride_exchange_start(exchange, dst, src);
  return status == RESTRIDE_OK ? restride_exchange_wait(exchange) : status;
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
    const dist::Side from = side_of(src), to = side_of(dst);
    write_text(dist::Exchange(from.distribution, from.element, to.distribution, to.element).explain(rank), buffer,
               capacity, length);
  });
}

}  // extern "C"
