// Tensors that lie over many ranks: distributions, and exchanges of any one into any other.
//
// A global tensor is a shape. A Distribution says which of its elements each rank has. A Layout, the same as
// everywhere in restride, says where they lie in that rank's memory: it has one mode a tensor axis, whose extent is the
// number of indices the rank has on that axis. A permutation is a matter of the layouts' strides.
//
// The notation of a distribution, the same in tests, errors, command line and reports:
//
//     (8192,512) as (block[0],*) over (4)                      4 ranks, rows in balanced blocks, columns whole
//     (8192,512) as (*,block[0]) over (4)@4                    ranks 4 to 7, columns
//     (100,70) as (ceil[0],block[1]) over (2,3)                rank 3*i+j has block i of the rows and j of the columns
//     (100,70) as (cyclic:8[0],cyclic:8[1]) over (2,3):(1,2)   blocks of 8 dealt round; rank i+2*j: column by column
//     (100,70) as (block[1,0],*) over (2,3)                    one axis over two of the grid, grid axis 1 the major one
//     (100,70) as (ceil[0]/ceil[1],*) over (2,3)               each part of grid axis 0 is split over grid axis 1
//     (100,70) as (cyclic[0]@1,*) over (2)=(5,3)               block size 1, the first block on the second rank of 5, 3
//     (100,70) as (*,*) over (4)                               grid axes that split nothing replicate: 4 copies
//     (9,9) boxes 0[0:5,0:9] 1[5:9,0:4] 1[5:9,4:9]             explicit boxes, some a rank, or none
//     (8192,512) as (block[0],*) over (4) order (1,0)          each rank's part lies with axis 0 fastest
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <restride/copy.hpp>
#include <restride/detail/visibility.hpp>
#include <restride/error.hpp>
#include <restride/layout.hpp>

namespace restride {
namespace distributed RESTRIDE_PUBLIC {

/// Ranks are numbered from 0; a planner takes up to this many.
inline constexpr int kMaxRanks = 1 << 20;

/// How the indices of one tensor axis are dealt out to the parts of a split.
enum class SplitKind : std::uint8_t {
  kBlock,   ///< n indices over p parts: the first n % p parts have one more than the others
  kCeil,    ///< parts of ceil(n / p) indices; the last ones may be shorter, or empty. As DTensor and JAX do
  kCyclic,  ///< blocks of `block` indices are dealt round and round. As ScaLAPACK does
};

/// One tensor axis, or a part of it, over one or several axes of the process grid.
struct Split {
  SplitKind kind = SplitKind::kBlock;
  std::vector<int> grid_axes;  ///< the major one first
  std::int64_t block = 1;      ///< kCyclic: indices a block, >= 1
  std::int64_t first = 0;      ///< kCyclic: the part that has the first block
  friend bool operator==(const Split&, const Split&) = default;
};

/// The ranks in a grid: that at (i, j, ...) is first + i*strides[0] + j*strides[1] + ..., or the one listed in
/// `ranks` at its place in C order.
struct Grid {
  std::vector<std::int64_t> sizes;    ///< each >= 1
  std::vector<std::int64_t> strides;  ///< empty: C order, the last axis fastest
  std::int64_t first = 0;             ///< the rank at (0, 0, ...)
  std::vector<int> ranks;             ///< empty, or one rank a place; then strides and first have no meaning
  friend bool operator==(const Grid&, const Grid&) = default;
};

/// Indices [lo, hi) on every tensor axis, on one rank.
struct Box {
  int rank = 0;
  std::vector<std::int64_t> lo, hi;
  friend bool operator==(const Box&, const Box&) = default;
};

/// Which rank has which elements of a global tensor: splits over a grid, or boxes. Elements may lie on several ranks.
/// Filled in by hand or parsed; every call that takes one checks it.
/// Example: `Distribution d{{8192, 512}}; d.grid.sizes = {4}; d.axes = {{{SplitKind::kBlock, {0}}}, {}};`
struct Distribution {
  std::vector<std::int64_t> shape;       ///< of the global tensor; up to kMaxRank axes
  std::vector<std::vector<Split>> axes;  ///< a tensor axis each: {}: whole; a second split divides the first's parts
  Grid grid;
  bool by_boxes = false;   ///< `boxes` instead of `axes` and `grid`
  std::vector<Box> boxes;  ///< a rank's are its regions, in the order of this list
  std::vector<int> order;  ///< tensor axes as each rank's memory has them, outermost first; {}: C order
  friend bool operator==(const Distribution&, const Distribution&) = default;
};

/// Throws where a distribution is wrong; the message names the axis or rank, and the remedy.
/// Errors: ArgumentError, ShapeError, RangeError.
void validate(const Distribution& d);

/// How many ranks there must be: the highest that is named, and one.
int ranks_of(const Distribution& d);

/// How many regions a rank has: 1 with splits over a grid (0 where the rank is not in it), one a box with boxes.
int regions_of(const Distribution& d, int rank);

/// The shape of one region of a rank: how many indices of each tensor axis it has.
std::vector<std::int64_t> local_shape(const Distribution& d, int rank, int region = 0);

/// The global index on `axis` of the local index `i` of a region. Errors: ArgumentError when it has none such.
std::int64_t global_index(const Distribution& d, int rank, int region, int axis, std::int64_t i);

/// Where a rank's elements lie unless somebody says otherwise: dense, in the distribution's memory order, its regions
/// one behind the other.
std::vector<Layout> local_layouts(const Distribution& d, int rank, Element element);

/// Prints a distribution in the notation above; `parse_distribution` reads it back to an equal one.
std::string to_string(const Distribution& d);
/// Errors: ParseError with the column; and as `validate`.
Distribution parse_distribution(std::string_view text);

/// All that one rank sends to one other, or keeps: from the two distributions alone.
struct Pair {
  int from = 0;
  int to = 0;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;      ///< on the wire: of the smaller of the two elements
  std::int64_t pieces = 0;     ///< strided copies it takes
  std::int64_t read_run = 0;   ///< bytes of the shortest contiguous run in the sender's dense memory
  std::int64_t write_run = 0;  ///< and in the receiver's
  friend bool operator==(const Pair&, const Pair&) = default;
};

/// What a prediction counts with. The defaults are of ranks that are processes of one host, as measured
/// (bench/results/exchange-mpi); give those of your network.
struct LinkCosts {
  double message_us = 3;  ///< of a message
  double link_gbps = 6;   ///< of a rank, each way, in 10^9 bytes a second
  double copy_gbps = 8;   ///< what a rank packs, unpacks, or keeps
};

/// The figures of a whole exchange, over all ranks.
struct Summary {
  std::int64_t minimum_bytes = 0;  ///< of elements whose target rank does not have them in the source
  std::int64_t moved_bytes = 0;    ///< between ranks; always the minimum
  std::int64_t kept_bytes = 0;     ///< that stay on their rank
  std::int64_t messages = 0;       ///< pairs of unlike ranks with something to send
  std::int64_t most_messages = 0;  ///< that one rank sends or receives
  std::int64_t longest_message = 0, shortest_message = 0;          ///< bytes
  std::int64_t longest_read_run = 0, shortest_read_run = 0;        ///< bytes, in the senders' dense memory
  std::int64_t longest_write_run = 0, shortest_write_run = 0;      ///< and in the receivers'
  std::int64_t most_sent = 0, most_received = 0, most_staged = 0;  ///< bytes of one rank; staged: sent and received
  int senders = 0, receivers = 0;                                  ///< ranks that send, that receive
  double predicted_us = 0;  ///< of the rank that is slowest when messages are packed, one step after the other
};

/// Everything that must move for a tensor in one distribution to lie in another. Pure: needs no ranks, no memory, no
/// MPI and no GPU, and says the same on every rank.
///
/// Who sends an element that several ranks of the source have: a target rank that has it itself keeps it; else it
/// reads from its own replica of the source (ranks outside of the source's grid take turns), and with boxes from the
/// owners in turns.
/// Cost: making one, microseconds, and with boxes their number times its logarithm; a rank's pairs, the sum over the
/// axes of grid sizes, plus the pairs.
/// Example: `Exchange(parse_distribution("(64,64) as (block[0],*) over (4)"), DType::kF32,
///                    parse_distribution("(64,64) as (*,block[0]) over (4)"), DType::kF32).explain()`
class Exchange {
 public:
  /// Errors: as `validate`; ShapeError when the shapes differ or an index of the target lies on no rank of the source,
  /// the first of which is named; CastError.
  Exchange(const Distribution& src, Element src_element, const Distribution& dst, Element dst_element);

  const Distribution& src() const noexcept;
  const Distribution& dst() const noexcept;
  Element src_element() const noexcept;
  Element dst_element() const noexcept;
  Element wire_element() const noexcept;  ///< the smaller of the two: the sender or the receiver casts
  int ranks() const noexcept;             ///< how many there must be for both sides

  /// The pairs that a rank sends, by ascending receiver, itself included.
  std::vector<Pair> sends(int rank) const;
  /// The pairs that a rank receives, by ascending sender, itself included. The same pairs as the senders' say.
  std::vector<Pair> receives(int rank) const;
  /// Cost: that of every rank's pairs.
  Summary summary(const LinkCosts& costs = {}) const;

  /// The figures in words; `rank` >= 0 adds that rank's pairs, at most `most` of them.
  std::string explain(int rank = -1, int most = 16, const LinkCosts& costs = {}) const;
  /// One JSON object; `deserialize` makes the same exchange from it.
  /// Errors of `deserialize`: ParseError when the text is no exchange, has more than 16 MiB, or was made by another
  /// planner's rules; and as the constructor.
  std::string serialize() const;
  static Exchange deserialize(std::string_view json);

  struct Impl;
  const Impl& impl() const noexcept { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

// ---- Running an exchange ----

using Deadline = std::chrono::steady_clock::time_point;

/// A contiguous message to or from a peer.
struct Message {
  int peer = 0;
  void* data = nullptr;  ///< of a message that is sent, never written through
  std::int64_t bytes = 0;
};

/// A message as a run of bytes behind a pointer that each run of a plan brings.
struct PlacedMessage {
  int peer = 0;
  std::int64_t offset = 0, bytes = 0;
};

/// A message whose elements an engine takes from a tensor's memory, or puts there, as they lie.
struct StridedMessage {
  int peer = 0;
  std::vector<Layout> pieces;  ///< one behind the other in the message, outermost mode first; offsets from the pointer
};

/// Messages on their way. One is made by each rank of an exchange; all calls come from one thread.
class Posted {
 public:
  virtual ~Posted() = default;
  /// Begins to send; `m.data` stays as it is until `finish` returns.
  virtual void send(const Message& m) = 0;
  /// The place in the list of a receive that is complete and has not been returned yet; -1 when none is left. Waits.
  /// Errors: DeadlineError that names the ranks that have not sent; AgreementError for a message of other bytes.
  virtual int received(Deadline deadline) = 0;
  /// Waits until all that was sent has left its memory. Errors: DeadlineError.
  virtual void finish(Deadline deadline) = 0;
};

/// How the bytes go. `kAuto` takes what the engine prefers, see Comm::preferred.
enum class Method : std::uint8_t {
  kAuto,
  kDirect,     ///< each rank copies straight between its memory and the others': no workspace
  kMessages,   ///< packed, sent, unpacked, a message a pair, the next packed while others are on their way
  kAlltoallv,  ///< MPI: all messages packed, then one MPI_Ialltoallv
  kAlltoallw,  ///< MPI: one MPI_Ialltoallw of datatypes, which MPI packs: no workspace of ours. One tensor, no cast
};
std::string_view name(Method method) noexcept;

/// A collective of an engine, prepared for the runs of a plan. `Posted::received` gives every place once all are there.
class Prepared {
 public:
  virtual ~Prepared() = default;
  virtual std::unique_ptr<Posted> start(void* to, const void* from, std::string_view what) = 0;
};

class GpuLink;

/// The ranks of an exchange, as one of them sees them: the interface of an engine. `Threads` and `mpi` make some; a
/// program may bring its own. Used by one thread at a time.
class Comm {
 public:
  virtual ~Comm() = default;
  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  virtual std::string_view engine() const noexcept = 0;  ///< "threads", "mpi (Open MPI)"
  /// Why no further call can succeed: a deadline passed and its messages may still come. Empty: usable.
  virtual std::string unusable() const { return {}; }
  /// True when every rank reads every other's memory by its pointers.
  virtual bool shares_memory() const noexcept { return false; }
  /// Every rank's `bytes` bytes, in the order of ranks. Collective. `what` is for messages: "plan", "run".
  /// Errors: DeadlineError that names the ranks that did not come.
  virtual void allgather(const void* mine, void* all, std::int64_t bytes, std::string_view what, Deadline deadline) = 0;
  /// The longest message, in bytes, that `allgather_with` takes along, the same on all ranks; 0: none. An engine that
  /// says more than 0 overrides `allgather_with`, too.
  virtual std::int64_t most_carried() const noexcept { return 0; }
  /// `allgather`, and each message of `sends` comes along, so that a small exchange needs no second round. Each of
  /// `receives` says how many bytes are expected; afterwards it says how many came, and `data` is where they lie until
  /// the next call: in memory of the engine, so that the caller may compare what was gathered before it takes them.
  /// At most one message to a peer and one from it, none longer than `most_carried()`; `bytes` is a fingerprint's, 64.
  /// A rank that has none, or that failed, calls `allgather` in the same place: the two meet each other, and the number
  /// of bytes that come may differ from what a rank expects. Errors: those of `allgather`.
  virtual void allgather_with(const void* mine, void* all, std::int64_t bytes, std::span<const Message> sends,
                              std::span<Message> receives, std::string_view what, Deadline deadline) {
    static_cast<void>(sends), static_cast<void>(receives);
    allgather(mine, all, bytes, what, deadline);
  }
  /// Begins an exchange of messages; `tag` is the same on all ranks and unlike that of any other on its way.
  virtual std::unique_ptr<Posted> post(std::span<const Message> receives, std::int64_t tag, std::string_view what) = 0;
  /// Whether the engine has that method.
  virtual bool offers(Method method) const noexcept {
    return method == Method::kMessages || (method == Method::kDirect && shares_memory());
  }
  /// The method that kAuto takes: the same on all ranks, of figures that all know. `bytes`: of the exchange, all ranks
  /// together; `run_bytes`: the shortest run that both sides of a rank share; 0: kAlltoallw cannot do it.
  virtual Method preferred(std::int64_t bytes, std::int64_t run_bytes) const noexcept {
    static_cast<void>(bytes), static_cast<void>(run_bytes);
    return shares_memory() ? Method::kDirect : Method::kMessages;
  }
  /// kAlltoallv and kAlltoallw, once for a plan. Errors: ArgumentError when a count does not fit the engine's.
  virtual std::unique_ptr<Prepared> alltoallv(std::span<const PlacedMessage> sends,
                                              std::span<const PlacedMessage> receives) {
    static_cast<void>(sends), static_cast<void>(receives);
    throw UnsupportedError("this engine has no alltoallv; use Method::kMessages");
  }
  virtual std::unique_ptr<Prepared> alltoallw(std::span<const StridedMessage> sends,
                                              std::span<const StridedMessage> receives) {
    static_cast<void>(sends), static_cast<void>(receives);
    throw UnsupportedError("this engine has no alltoallw; use Method::kMessages");
  }
  /// Of engines that move memory of GPUs themselves, as NCCL; for those of this library.
  virtual GpuLink* gpu_link() noexcept { return nullptr; }
  /// Makes every call of every rank fail from now on, with this reason. For a rank that cannot go on.
  virtual void abort(const std::string& reason) = 0;
  /// A number that counts the collective plans made with this communicator.
  std::int64_t next_sequence() noexcept { return sequence_++; }

 private:
  std::int64_t sequence_ = 0;
};

/// Ranks that are threads of this process: for tests, and for programs that share work by threads.
/// `comm(r)` is for the thread that is rank r. The object outlives them all.
/// Example: examples/exchange_threads.cc
class Threads {
 public:
  /// Errors: ArgumentError for fewer than 1 or more than 4096 ranks.
  explicit Threads(int ranks);
  ~Threads();
  Threads(Threads&&) noexcept;
  Threads& operator=(Threads&&) noexcept;
  Comm& comm(int rank);
  int size() const noexcept;

 private:
  struct World;
  std::unique_ptr<World> world_;
};

/// Ranks of MPI: a communicator of the caller's. `mpi_comm` points to an MPI_Comm, which is duplicated, so that no
/// message of ours meets one of the caller's. Collective over it; MPI is initialised before and finalised after the
/// result is gone. Which MPI is found out from the process; a module of ours that was built against it is loaded
/// (librestride_mpi_openmpi.so, librestride_mpi_mpich.so: beside the library, in its folder restride/, or in
/// $RESTRIDE_MODULES).
/// After a DeadlineError messages may still be on their way: keep the memory of the run, end the job by MPI_Abort.
/// Errors: UnsupportedError (no MPI in the process, no module for it), ArgumentError (MPI is not initialised),
/// DeadlineError.
/// Example: examples/exchange_mpi.cc
std::unique_ptr<Comm> mpi(const void* mpi_comm, std::chrono::milliseconds deadline = std::chrono::minutes(10));

/// Ranks of NCCL: a communicator of the caller's, `nccl_comm` an ncclComm_t, which lives as long as the result. It is
/// split into two of ours, so that no message of ours meets one of the caller's; both have the caller's ranks and GPUs.
/// All exchanges are of memory of GPUs. Collective over it, one thread a rank. The process has loaded NCCL 2.19 or
/// newer; a module of ours (librestride_nccl.so) is found as those for MPI are. NCCL must not run the caller's groups
/// beside ours in another order on another rank: order both by streams.
/// A rank that stops is noticed when a deadline passes: our communicators are then aborted, which ends what streams
/// wait for, and the result is unusable; the caller's own communicator stays as it was.
/// Errors: UnsupportedError (no NCCL in the process, no module for it, built without CUDA), ArgumentError, DeviceError,
/// DeadlineError.
/// Example: examples/exchange_nccl.cc
std::unique_ptr<Comm> nccl(void* nccl_comm, std::chrono::milliseconds deadline = std::chrono::minutes(10));

/// How to plan and run an exchange; the default is right for most. Equal on all ranks, but for `threads` and
/// `cuda_device`.
struct ExchangeOptions {
  /// How long any wait for other ranks may take. A rank may be reading a checkpoint: be generous.
  std::chrono::milliseconds deadline = std::chrono::minutes(10);
  Method method = Method::kAuto;
  /// Each run begins with 64 bytes from every rank, so that one that runs something else, or cannot run, is named at
  /// once. Without it such ranks are named when the deadline passes. kDirect always has it. With kMessages and MPI
  /// short messages come with them, and wait in memory of the engine until all ranks' bytes are compared.
  bool check_runs = true;
  /// Checked mode: before anything is sent, plan() compares the bytes of every pair of ranks, as the sender and as the
  /// receiver have them, by two numbers a pair from every rank. MPI takes a message that is too short for a success.
  bool check_pairs = false;
  /// An upper bound of Plan::workspace_bytes with kMessages; 0: none. Messages are cut into parcels of a quarter of it:
  /// one is packed and one unpacked while one of each is on its way. Ranks then wait for several plans in one order.
  std::int64_t most_workspace_bytes = 0;
  int threads = 1;  ///< for the copies of one rank; 0: as restride::Options::threads says
  /// Where all ranks' memory lies: on GPUs with kCuda, and with a Comm of NCCL always; else in memory of the host. On
  /// GPUs of one host kDirect's kernels store straight into the others' memory. NCCL has kMessages, too.
  DeviceKind device = DeviceKind::kAuto;
  /// kCuda: this rank's GPU. Ranks may share one, or have GPUs that reach each other. With kModelDevice a plan is made
  /// without a GPU, to be explained; it runs nothing.
  int cuda_device = kCurrentDevice;
};

/// A tensor on one side of an exchange, as this rank has it.
struct Side {
  Distribution distribution;
  Element element;
  /// One a region of this rank, all from one data pointer, each of the region's shape; empty: local_layouts().
  std::vector<Layout> local;
};

struct Transfer {
  Side src, dst;
};

enum class RunStatus : std::uint8_t {
  kIdle,     ///< nothing is on its way, or has not come to its turn on the stream
  kRunning,  ///< the stream is in the run
};

/// One rank's part of an exchange of one tensor or several, made once by all ranks together.
///
/// Belongs to the communicator that it was made with, which outlives it. One run at a time; plans of one communicator
/// run in the same order on all ranks, and may be destroyed in any.
class Plan {
 public:
  /// Runs the exchange. Collective; returns when this rank has all that it is to get and its source may be changed.
  /// dst, src: one pointer a tensor of the plan; where this rank has no element of it, null will do.
  /// Alias: dst may not overlap src, on this rank or, where memory is shared, on another.
  /// Stream: of a plan for GPUs `stream` is a cudaStream_t of this rank's, null the legacy default stream. The call
  /// returns when all ranks have enqueued their copies, and synchronises with no GPU: dst is written behind what this
  /// rank enqueued on its stream before, and what it enqueues afterwards finds all of dst, and may change src.
  /// Where ranks are processes, the call also waits for this rank's stream, before the exchange and for its own copies;
  /// a dst is freed after all ranks' plans have ended. With NCCL it waits for no stream, and a stream may be captured:
  /// the graph is replayed by all ranks, as often and in the same order, while the plan lives.
  /// Memory: on GPUs that of cudaMalloc, or other memory that the GPUs of all ranks reach. After a DeadlineError copies
  /// of other ranks may still be on their way, on GPUs into dst: keep it until all GPUs are synchronised. With kDirect
  /// other threads may still read src: keep it until their calls have returned, also when a plan is destroyed between
  /// start and wait.
  /// Errors: ArgumentError (null, another number of pointers, a stream for memory of the host), OverlapError,
  /// DeviceError (memory or a stream of another place than was planned for), UnsupportedError (a stream that is being
  /// captured, without NCCL), before dst is written, and then AgreementError on the other ranks when runs are
  /// checked; AgreementError when a rank runs another plan; DeadlineError that names the ranks that did not come. Cost:
  /// nothing is allocated but an engine's own requests; on GPUs the first run with pointers at other than multiples of
  /// 128 bytes plans for them. Workspace is the plan's, see workspace_bytes().
  ///
  /// Example: examples/exchange_threads.cc
  void run(void* dst, const void* src, void* stream = nullptr);
  /// The same of several tensors. Not one more `run`: an array of pointers would be taken for one.
  void run_all(std::span<void* const> dst, std::span<const void* const> src, void* stream = nullptr);
  /// `run` in two parts: between them messages travel and the caller is free to work. `src` stays as it is and
  /// `dst` is unknown until `wait` returns, on a GPU until what the stream has behind it.
  void start(void* dst, const void* src, void* stream = nullptr);
  void start_all(std::span<void* const> dst, std::span<const void* const> src, void* stream = nullptr);
  void wait();

  /// How the last run of a plan for NCCL goes on, or a replay of a graph that has captured one. Does not wait. Errors:
  /// DeadlineError once it was broken off, because it was not done before the deadline or NCCL has reported an error.
  RunStatus status() const;

  Method method() const noexcept;
  /// Bytes of the buffers for packed messages: 0 with kDirect and kAlltoallw, and where messages are runs of the
  /// tensors' own memory; at most ExchangeOptions::most_workspace_bytes.
  std::int64_t workspace_bytes() const noexcept;
  std::int64_t sent_bytes() const noexcept;      ///< to other ranks, each run
  std::int64_t received_bytes() const noexcept;  ///< from other ranks
  int tensors() const noexcept;
  const Exchange& exchange(int tensor = 0) const;
  /// The exchange in words, of each tensor, and this rank's copies for it.
  std::string explain() const;

  struct Impl;
  explicit Plan(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<Impl> impl_;
};

/// Plans an exchange. Collective: every rank of `comm` calls it, with its own local layouts and the same of all else.
/// Ranks that a distribution does not name take part with nothing on that side.
///
/// Shapes: local layouts have the shape of this rank's regions, any strides, negative too; those of dst write no
/// element twice, and different regions' do not overlap.
/// Cast: when the elements differ, as docs/casts.md says; the smaller one crosses the wire.
/// Errors: as Exchange and restride::Plan, and ArgumentError when there are fewer ranks than a distribution names; then
/// AgreementError on all other ranks. AgreementError on every rank when shapes, elements, distributions, options, the
/// number of plans made before, or the version differ. DeadlineError that names the ranks that did not come.
/// Cost: microseconds a pair, one or two allgathers.
Plan plan(const Side& src, const Side& dst, Comm& comm, const ExchangeOptions& options = {});
Plan plan(std::span<const Transfer> transfers, Comm& comm, const ExchangeOptions& options = {});

}  // namespace distributed
}  // namespace restride
