// MPI's collectives of messages, packed (MPI_Ialltoallv) or described by datatypes (MPI_Ialltoallw).
#include <algorithm>
#include <climits>
#include <string>
#include <utility>
#include <vector>

#include "src/base/checked.h"
#include "src/distributed/mpi/comm.h"

namespace restride::distributed {
namespace {

/// The arguments of a collective, a number a rank. MPI looks at them until it is complete.
struct Collective {
  explicit Collective(int ranks) {
    for (auto* list : {&send_counts, &send_offsets, &receive_counts, &receive_offsets})
      list->assign(static_cast<std::size_t>(ranks), 0);
  }
  Collective(const Collective&) = delete;
  ~Collective() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized != 0) return;
    for (std::vector<MPI_Datatype>* types : {&send_types, &receive_types})
      for (MPI_Datatype& t : *types)
        if (t != MPI_BYTE) MPI_Type_free(&t);
  }
  std::vector<int> send_counts, send_offsets, receive_counts, receive_offsets;
  std::int64_t send_base = 0, receive_base = 0;  // the offsets are from here on
  bool sends = false, receives = false;          // anything
  std::vector<MPI_Datatype> send_types, receive_types;
};

/// A collective on its way. One that is given up keeps its arguments for good: MPI may still look at them.
class MpiCollective final : public Posted {
 public:
  MpiCollective(MpiComm& comm, std::shared_ptr<Collective> arguments, std::size_t receives, std::string_view what)
      : comm_(comm),
        arguments_(std::make_unique<std::shared_ptr<Collective>>(std::move(arguments))),
        receives_(receives),
        what_(what) {}
  ~MpiCollective() override {
    if (request_ != MPI_REQUEST_NULL) static_cast<void>(arguments_.release());
  }

  MPI_Request* request() noexcept { return &request_; }
  void send(const Message&) override { throw Error(ErrorCode::kInternal, "a collective takes all messages at once"); }
  int received(Deadline deadline) override {
    finish(deadline);
    return next_ < receives_ ? static_cast<int>(next_++) : -1;
  }
  void finish(Deadline deadline) override {
    comm_.wait_until(
        [&] {
          int done = 0;
          require_mpi(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Ialltoall");
          return done != 0;
        },
        what_, deadline);
  }

 private:
  MpiComm& comm_;
  std::unique_ptr<std::shared_ptr<Collective>> arguments_;
  std::size_t receives_, next_ = 0;
  std::string what_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

int fits(std::int64_t n, const char* what) {
  if (n < INT_MIN || n > INT_MAX)
    throw ArgumentError(std::string(what) + " of " + std::to_string(n) +
                        " bytes or elements does not fit the int of MPI's collectives; use Method::kMessages, which "
                        "splits messages");
  return static_cast<int>(n);
}

/// Frees the inner type of a derived one.
MPI_Datatype derived(int code, const MPI_Datatype& made, MPI_Datatype inner, const char* call) {
  require_mpi(code, call);
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
  MPI_Type_get_envelope(inner, &integers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&inner);
  return made;
}

/// A piece without its offset: the innermost run as a block of the next mode's vector.
MPI_Datatype type_of(const Layout& piece) {
  MPI_Datatype type = MPI_BYTE;
  std::int64_t block = piece.element.size_bytes;
  switch (block) {  // numbers, which MPIs copy faster than bytes
    case 2: type = MPI_INT16_T, block = 1; break;
    case 4: type = MPI_INT32_T, block = 1; break;
    case 8: type = MPI_INT64_T, block = 1; break;
    case 16: type = MPI_INT64_T, block = 2; break;
    default: break;
  }
  std::int64_t run = piece.element.size_bytes;
  std::size_t modes = piece.modes.size();
  for (; modes > 0 && piece.modes[modes - 1].stride_bytes == run; --modes) {
    block *= piece.modes[modes - 1].extent;
    run *= piece.modes[modes - 1].extent;
  }
  MPI_Datatype made = MPI_DATATYPE_NULL;
  if (modes == 0) {
    const int code = MPI_Type_contiguous(fits(block, "a run"), type, &made);
    return derived(code, made, type, "MPI_Type_contiguous");
  }
  for (std::size_t m = modes; m-- > 0; block = 1) {
    const Mode& mode = piece.modes[m];
    const int count = fits(mode.extent, "an extent"), of_each = fits(block, "a run");
    if (mode.stride_bytes < 0) {  // Open MPI 4.1.4 unpacks vectors of bytes that lie backwards in the wrong places
      std::vector<MPI_Aint> places;
      for (std::int64_t i = 0; i < mode.extent; ++i) places.push_back(i * mode.stride_bytes);
      type = derived(MPI_Type_create_hindexed_block(count, of_each, places.data(), type, &made), made, type,
                     "MPI_Type_create_hindexed_block");
      continue;
    }
    type = derived(MPI_Type_create_hvector(count, of_each, mode.stride_bytes, type, &made), made, type,
                   "MPI_Type_create_hvector");
  }
  return type;
}

MPI_Datatype type_of(const StridedMessage& message) {
  std::vector<int> ones(message.pieces.size(), 1);
  std::vector<MPI_Aint> offsets;
  std::vector<MPI_Datatype> types;
  for (const Layout& piece : message.pieces) {
    offsets.push_back(piece.offset_bytes);
    types.push_back(type_of(piece));
  }
  MPI_Datatype made = MPI_DATATYPE_NULL;
  require_mpi(MPI_Type_create_struct(fits(static_cast<std::int64_t>(types.size()), "a number of pieces"), ones.data(),
                                     offsets.data(), types.data(), &made),
              "MPI_Type_create_struct");
  for (MPI_Datatype& t : types) MPI_Type_free(&t);
  require_mpi(MPI_Type_commit(&made), "MPI_Type_commit");
  return made;
}

/// One collective of given arguments. Without datatypes it is MPI_Ialltoallv of bytes.
class MpiPrepared final : public Prepared {
 public:
  MpiPrepared(MpiComm& comm, std::shared_ptr<Collective> arguments, std::size_t receives)
      : comm_(comm), arguments_(std::move(arguments)), receives_(receives) {}

  std::unique_ptr<Posted> start(void* to, const void* from, std::string_view what) override {
    comm_.require_usable();
    auto posted = std::make_unique<MpiCollective>(comm_, arguments_, receives_, what);
    const Collective& a = *arguments_;
    from = moved(static_cast<const std::byte*>(from), a.send_base);
    to = moved(static_cast<std::byte*>(to), a.receive_base);
    // Open MPI takes equal pointers for MPI_IN_PLACE.
    static std::byte nothing;
    if (from == to && !a.sends) from = &nothing;
    if (from == to && !a.receives) to = &nothing;
    if (a.send_types.empty())
      require_mpi(
          MPI_Ialltoallv(from, a.send_counts.data(), a.send_offsets.data(), MPI_BYTE, to, a.receive_counts.data(),
                         a.receive_offsets.data(), MPI_BYTE, comm_.comm(), posted->request()),
          "MPI_Ialltoallv");
    else
      require_mpi(MPI_Ialltoallw(from, a.send_counts.data(), a.send_offsets.data(), a.send_types.data(), to,
                                 a.receive_counts.data(), a.receive_offsets.data(), a.receive_types.data(),
                                 comm_.comm(), posted->request()),
                  "MPI_Ialltoallw");
    return posted;
  }

 private:
  MpiComm& comm_;
  std::shared_ptr<Collective> arguments_;
  std::size_t receives_;
};

}  // namespace

std::unique_ptr<Prepared> MpiComm::alltoallv(std::span<const PlacedMessage> sends,
                                             std::span<const PlacedMessage> receives) {
  auto a = std::make_shared<Collective>(size_);
  const auto place = [](std::span<const PlacedMessage> all, std::vector<int>& counts, std::vector<int>& offsets) {
    std::int64_t base = INT64_MAX;
    for (const PlacedMessage& m : all) base = std::min(base, m.offset);
    for (const PlacedMessage& m : all) {
      counts[static_cast<std::size_t>(m.peer)] = fits(m.bytes, "a message");
      offsets[static_cast<std::size_t>(m.peer)] = fits(m.offset - base, "an offset");
    }
    return all.empty() ? 0 : base;
  };
  a->send_base = place(sends, a->send_counts, a->send_offsets);
  a->receive_base = place(receives, a->receive_counts, a->receive_offsets);
  a->sends = !sends.empty();
  a->receives = !receives.empty();
  return std::make_unique<MpiPrepared>(*this, std::move(a), receives.size());
}

std::unique_ptr<Prepared> MpiComm::alltoallw(std::span<const StridedMessage> sends,
                                             std::span<const StridedMessage> receives) {
  auto a = std::make_shared<Collective>(size_);
  a->send_types.assign(static_cast<std::size_t>(size_), MPI_BYTE);
  a->receive_types = a->send_types;
  const auto place = [](std::span<const StridedMessage> all, std::vector<int>& counts,
                        std::vector<MPI_Datatype>& types) {
    for (const StridedMessage& m : all) {
      types[static_cast<std::size_t>(m.peer)] = type_of(m);
      counts[static_cast<std::size_t>(m.peer)] = 1;
    }
  };
  place(sends, a->send_counts, a->send_types);
  place(receives, a->receive_counts, a->receive_types);
  a->sends = !sends.empty();
  a->receives = !receives.empty();
  return std::make_unique<MpiPrepared>(*this, std::move(a), receives.size());
}

}  // namespace restride::distributed
