// Ranks of MPI by point-to-point messages. Compiled once for each MPI (src/CMakeLists.txt); uses MPI 3.0 alone.
//
// Nothing blocks: every wait polls requests and looks at the clock. A rank whose deadline passes calls the roll: it
// sends a note to all others, and ranks that wait somewhere answer. A rank that does not answer is named.
// Few ranks meet by a message from each to each, which begins with a Head. Small messages of a run come with it, in
// parts that MPIs send without asking the receiver first.
#include "src/distributed/mpi/module.h"

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <deque>
#include <thread>
#include <utility>

#include "src/base/checked.h"
#include "src/distributed/named_ranks.h"

namespace restride::distributed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNoteTag = 32000;           // tags go to 32767 at least
constexpr int kMeetTag = 31999;           // of few ranks' small meetings
constexpr int kPartTags = 1000;           // and of the parts behind their first, below it
constexpr int kFewRanks = 8;              // that meet by messages, which MPIs send faster than nonblocking collectives
constexpr std::int64_t kFewBytes = 4096;  // of a rank
constexpr int kTags = 30000;              // of messages, from 1 on
constexpr std::int64_t kChunk = 1 << 30;  // counts are int: longer messages go in several
constexpr std::size_t kNoteBytes = 512;   // text of a note: empty, or an abort's reason

// Measured by bench/exchange_mpi.cc on ranks of one host. Open MPI asks the receiver from 4,096 bytes on, headers
// included, which takes as long as the copy; its datatypes are faster than parts from 64 KiB on.
#if defined(OPEN_MPI)
constexpr std::int64_t kPart = 3968, kMostCarried = 16 << 10;
#else
constexpr std::int64_t kPart = 7936, kMostCarried = 64 << 10;
#endif
constexpr std::int64_t kLine = 64;
static_assert(kPart % kLine == 0);

/// In front of a rank's message to a meeting: what follows, first `bytes` of the rank's own, then a message. As long as
/// a line, as fingerprints are, so that the message lies at a line.
struct alignas(kLine) Head {
  std::int64_t bytes = 0, carried = 0;
};

std::string_view this_mpi() {
#if defined(OPEN_MPI)
  return "mpi (Open MPI)";
#elif defined(MPICH)
  return "mpi (MPICH)";
#else
  return "mpi";
#endif
}

std::string error_text(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return {text, static_cast<std::size_t>(length)};
}

void require_mpi(int code, const char* call) {
  if (code != MPI_SUCCESS) throw Error(ErrorCode::kInternal, std::string(call) + " failed: " + error_text(code));
}

/// Requests that were given up, and the notes: MPI may look at them until the process ends.
std::deque<std::vector<char>>& kept_notes() {
  static auto* notes = new std::deque<std::vector<char>>;
  return *notes;
}

class MpiComm final : public Comm {
 public:
  MpiComm(MPI_Comm user, std::chrono::milliseconds deadline) {
    MPI_Comm_rank(user, &rank_);
    MPI_Comm_size(user, &size_);
    MPI_Request request = MPI_REQUEST_NULL;
    require_mpi(MPI_Comm_idup(user, &comm_, &request), "MPI_Comm_idup");
    // No notes yet: there is no communicator of our own to send them by.
    const Deadline end = Clock::now() + deadline;
    for (int done = 0, turns = 0; done == 0; pause(turns++)) {
      require_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (done == 0 && Clock::now() > end)
        throw DeadlineError(
            "not all ranks of the MPI communicator came to mpi() before the deadline; all ranks call it");
    }
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }

  ~MpiComm() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0 && broken_.empty()) MPI_Comm_free(&comm_);
  }

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  std::string_view engine() const noexcept override { return this_mpi(); }
  std::string unusable() const override { return broken_; }

  void allgather(const void* mine, void* all, std::int64_t bytes, std::string_view what, Deadline deadline) override {
    require_usable();
    if (size_ <= kFewRanks && bytes <= kFewBytes) return meet(mine, all, bytes, {}, {}, what, deadline);
    // Buffers of our own, kept when the others do not come: MPI may write to them whenever they do.
    auto* in = new std::vector<char>(static_cast<std::size_t>(bytes));
    auto* out = new std::vector<char>(static_cast<std::size_t>(bytes) * static_cast<std::size_t>(size_));
    if (bytes > 0) std::memcpy(in->data(), mine, static_cast<std::size_t>(bytes));
    MPI_Request request = MPI_REQUEST_NULL;
    const int n = static_cast<int>(bytes);
    require_mpi(MPI_Iallgather(in->data(), n, MPI_BYTE, out->data(), n, MPI_BYTE, comm_, &request), "MPI_Iallgather");
    wait_until(
        [&] {
          int done = 0;
          require_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Iallgather");
          return done != 0;
        },
        what, deadline);
    if (bytes > 0) std::memcpy(all, out->data(), out->size());
    delete in;
    delete out;
  }

  std::int64_t most_carried() const noexcept override { return size_ <= kFewRanks ? kMostCarried : 0; }

  void allgather_with(const void* mine, void* all, std::int64_t bytes, std::span<const Message> sends,
                      std::span<Message> receives, std::string_view what, Deadline deadline) override {
    require_usable();
    const auto fits = [](const Message& m) { return m.bytes >= 0 && m.bytes <= kMostCarried; };
    if (size_ > kFewRanks || bytes < 0 || bytes > kFewBytes || !std::all_of(sends.begin(), sends.end(), fits) ||
        !std::all_of(receives.begin(), receives.end(), fits))
      throw ArgumentError("up to " + std::to_string(kFewRanks) + " ranks of MPI gather up to " +
                          std::to_string(kFewBytes) + " bytes with messages of up to " + std::to_string(kMostCarried) +
                          "; use allgather and post for more");
    meet(mine, all, bytes, sends, receives, what, deadline);
  }

  std::unique_ptr<Posted> post(std::span<const Message> receives, std::int64_t tag, std::string_view what) override;

  bool offers(Method method) const noexcept override { return method != Method::kDirect; }
  Method preferred(std::int64_t bytes, std::int64_t run_bytes) const noexcept override;
  std::unique_ptr<Prepared> alltoallv(std::span<const PlacedMessage> sends,
                                      std::span<const PlacedMessage> receives) override;
  std::unique_ptr<Prepared> alltoallw(std::span<const StridedMessage> sends,
                                      std::span<const StridedMessage> receives) override;

  void abort(const std::string& reason) override {
    if (!broken_.empty()) return;
    broken_ = reason;
    send_notes(reason);
  }

  void require_usable() const {
    if (!broken_.empty())
      throw DeadlineError("the communicator is unusable: " + broken_ + "; end the job by MPI_Abort");
  }

  /// Polls `done` until it holds. Errors: DeadlineError.
  template <class Done>
  void wait_until(const Done& done, std::string_view what, Deadline deadline) {
    for (int turns = 1; !done(); pause(turns++)) {
      if (turns % 64 != 0) continue;
      int note = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, kNoteTag, comm_, &note, MPI_STATUS_IGNORE);
      if (note != 0 || Clock::now() > deadline) give_up(what);
    }
  }

  [[noreturn]] void give_up(std::string_view what) {
    broken_ = "a deadline passed";
    send_notes("");
    std::vector<bool> here(static_cast<std::size_t>(size_), false);
    here[static_cast<std::size_t>(rank_)] = true;
    std::string reason;
    // Those that wait look for notes all the time; two seconds are for a machine with more ranks than cores.
    const Deadline end = Clock::now() + std::chrono::seconds(2);
    for (int turns = 0; Clock::now() < end && !std::all_of(here.begin(), here.end(), [](bool h) { return h; });
         pause(turns++)) {
      int note = 0;
      MPI_Status status;
      MPI_Iprobe(MPI_ANY_SOURCE, kNoteTag, comm_, &note, &status);
      if (note == 0) continue;
      char text[kNoteBytes] = "";
      MPI_Recv(text, kNoteBytes, MPI_BYTE, status.MPI_SOURCE, kNoteTag, comm_, MPI_STATUS_IGNORE);
      text[kNoteBytes - 1] = '\0';
      here[static_cast<std::size_t>(status.MPI_SOURCE)] = true;
      if (text[0] != '\0') reason = text;
    }
    std::vector<int> missing;
    for (int r = 0; r < size_; ++r)
      if (!here[static_cast<std::size_t>(r)]) missing.push_back(r);
    if (!reason.empty())
      broken_ = reason;
    else if (missing.empty())
      broken_ = "the ranks wait for different things; the one that was last is at " + std::string(what);
    else
      broken_ = named_ranks(missing) + " did not come to " + std::string(what) +
                " before the deadline; all ranks call it, or ExchangeOptions::deadline must be longer";
    throw DeadlineError(broken_);
  }

  [[noreturn]] void fail(const std::string& why) {
    abort(why);
    throw AgreementError(why);
  }

  MPI_Comm comm() const noexcept { return comm_; }

 private:
  static void pause(int turns) {
    if (turns < 200) return;
    if (turns < 20000)
      sched_yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }

  void send_notes(const std::string& reason) {
    std::vector<char>& note = kept_notes().emplace_back(kNoteBytes, '\0');
    std::memcpy(note.data(), reason.data(), std::min(reason.size(), kNoteBytes - 1));
    for (int r = 0; r < size_; ++r) {
      if (r == rank_) continue;
      MPI_Request request = MPI_REQUEST_NULL;
      if (MPI_Isend(note.data(), kNoteBytes, MPI_BYTE, r, kNoteTag, comm_, &request) == MPI_SUCCESS)
        MPI_Request_free(&request);
    }
  }

  /// Memory of meetings. MPI may write to it as long as a rank has not come.
  struct Meeting {
    static constexpr std::int64_t kFirst = std::max(kPart, static_cast<std::int64_t>(sizeof(Head)) + kFewBytes);
    static constexpr std::int64_t kSlot = kFirst + kMostCarried + kPart;  // parts behind the first have room for kPart
    static_assert(kFirst % kLine == 0 && kSlot % kLine == 0);
    struct alignas(kLine) Line {
      char bytes[kLine];
    };

    explicit Meeting(int ranks)
        : to(static_cast<std::size_t>(ranks * kFirst / kLine)), from(static_cast<std::size_t>(ranks * kSlot / kLine)) {}
    char* to_rank(int r) { return to[static_cast<std::size_t>(r * kFirst / kLine)].bytes; }
    char* from_rank(int r) { return from[static_cast<std::size_t>(r * kSlot / kLine)].bytes; }
    std::vector<Line> to, from;
    std::vector<MPI_Request> firsts, others;  ///< of what begins with a Head; of later parts, and of what is sent
    std::vector<MPI_Status> statuses;
    std::array<std::size_t, kFewRanks> parts{};  ///< in `others`: the first of a rank's later parts
  };

  /// How long a message to a meeting is that carries `carried`, and its first part.
  static std::int64_t whole(std::int64_t bytes, std::int64_t carried) {
    return static_cast<std::int64_t>(sizeof(Head)) + bytes + carried;
  }
  static std::int64_t first_part(std::int64_t bytes, std::int64_t carried) {
    return std::min(whole(bytes, carried), std::max(kPart, whole(bytes, 0)));
  }
  static std::int64_t later_parts(std::int64_t bytes, std::int64_t carried) {
    return (whole(bytes, carried) - first_part(bytes, carried) + kPart - 1) / kPart;
  }

  /// A message from each rank to each other. One that came with another number of bytes is found out; one that carries
  /// another number is taken as it is, and the caller told.
  void meet(const void* mine, void* all, std::int64_t bytes, std::span<const Message> sends,
            std::span<Message> receives, std::string_view what, Deadline deadline) {
    const int tag = kMeetTag - 1 - static_cast<int>(meetings_++ % kPartTags);
    try {
      if (meeting_ == nullptr) meeting_ = std::make_unique<Meeting>(size_);
      Meeting& m = *meeting_;
      m.firsts.assign(static_cast<std::size_t>(size_ - 1), MPI_REQUEST_NULL);
      m.others.clear();
      for (int d = 1; d < size_; ++d) {
        const int from = (rank_ + size_ - d) % size_;
        require_mpi(MPI_Irecv(m.from_rank(from), static_cast<int>(Meeting::kFirst), MPI_BYTE, from, kMeetTag, comm_,
                              &m.firsts[static_cast<std::size_t>(d - 1)]),
                    "MPI_Irecv");
        m.parts[static_cast<std::size_t>(from)] = m.others.size();
        receive_parts(m, from, tag, bytes, 0, later_parts(bytes, message_with(receives, from).bytes));
      }
      for (int d = 1; d < size_; ++d) send_to_meeting(m, (rank_ + d) % size_, tag, mine, bytes, sends);
      test_all(m.firsts, m, what, deadline);
      for (int d = 1; d < size_; ++d) take_head(m, (rank_ + size_ - d) % size_, tag, bytes, receives, what);
      test_all(m.others, m, what, deadline);
      const auto n = static_cast<std::size_t>(bytes);
      for (int r = 0; r < size_ && n > 0; ++r)
        std::memcpy(static_cast<char*>(all) + static_cast<std::size_t>(r) * n,
                    r == rank_ ? static_cast<const char*>(mine) : m.from_rank(r) + sizeof(Head), n);
    } catch (const std::exception& e) {
      static_cast<void>(meeting_.release());  // MPI may write to it whenever the others come
      abort("rank " + std::to_string(rank_) + " could not come to " + std::string(what) + ": " + e.what());
      throw;
    }
  }

  static Message message_with(std::span<const Message> messages, int peer) {
    for (const Message& m : messages)
      if (m.peer == peer) return m;
    return {};
  }

  void receive_parts(Meeting& m, int from, int tag, std::int64_t bytes, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      m.others.push_back(MPI_REQUEST_NULL);
      require_mpi(MPI_Irecv(m.from_rank(from) + std::max(kPart, whole(bytes, 0)) + i * kPart, static_cast<int>(kPart),
                            MPI_BYTE, from, tag, comm_, &m.others.back()),
                  "MPI_Irecv");
    }
  }

  void send_to_meeting(Meeting& m, int to, int tag, const void* mine, std::int64_t bytes,
                       std::span<const Message> sends) {
    const Message message = message_with(sends, to);
    const Head head{bytes, message.bytes};
    const std::int64_t first = first_part(bytes, head.carried), with_first = first - whole(bytes, 0);
    char* at = m.to_rank(to);
    std::memcpy(at, &head, sizeof head);
    if (bytes > 0) std::memcpy(at + sizeof head, mine, static_cast<std::size_t>(bytes));
    const char* data = static_cast<const char*>(message.data);
    if (with_first > 0) std::memcpy(at + whole(bytes, 0), data, static_cast<std::size_t>(with_first));
    const auto send = [&](const char* part, std::int64_t n, int with) {
      m.others.push_back(MPI_REQUEST_NULL);
      require_mpi(MPI_Isend(part, static_cast<int>(n), MPI_BYTE, to, with, comm_, &m.others.back()), "MPI_Isend");
    };
    send(at, first, kMeetTag);
    for (std::int64_t i = with_first; i < head.carried; i += kPart)
      send(data + i, std::min(kPart, head.carried - i), tag);
  }

  /// A rank's first part is there: as many later parts as it says are received.
  void take_head(Meeting& m, int from, int tag, std::int64_t bytes, std::span<Message> receives,
                 std::string_view what) {
    Head head;
    std::memcpy(&head, m.from_rank(from), sizeof head);
    if (head.bytes != bytes)
      fail("rank " + std::to_string(from) + " came to " + std::string(what) + " with " + std::to_string(head.bytes) +
           " bytes where rank " + std::to_string(rank_) + " has " + std::to_string(bytes) +
           ": ranks call different things");
    if (head.carried < 0 || head.carried > kMostCarried)
      fail("rank " + std::to_string(from) + " came to " + std::string(what) + " with a message of " +
           std::to_string(head.carried) + " bytes, longer than the " + std::to_string(kMostCarried) +
           " that may come with it: ranks have different versions of the module");
    const std::int64_t expected = later_parts(bytes, message_with(receives, from).bytes);
    const std::int64_t sent = later_parts(bytes, head.carried);
    for (std::int64_t i = sent; i < expected; ++i) {
      MPI_Request& r = m.others[m.parts[static_cast<std::size_t>(from)] + static_cast<std::size_t>(i)];
      MPI_Cancel(&r);
      MPI_Request_free(&r);
    }
    receive_parts(m, from, tag, bytes, expected, sent);
    for (Message& r : receives)
      if (r.peer == from) r.bytes = head.carried, r.data = m.from_rank(from) + whole(bytes, 0);
  }

  void test_all(std::vector<MPI_Request>& requests, Meeting& m, std::string_view what, Deadline deadline) {
    m.statuses.resize(requests.size());
    wait_until(
        [&] {
          int done = 0;
          require_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, m.statuses.data()),
                      "a meeting");
          return done != 0;
        },
        what, deadline);
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::unique_ptr<Meeting> meeting_;
  std::int64_t meetings_ = 0;
  std::string broken_;
};

class MpiPosted final : public Posted {
 public:
  MpiPosted(MpiComm& comm, std::span<const Message> receives, std::int64_t tag, std::string_view what)
      : comm_(comm), tag_(static_cast<int>(1 + tag % kTags)), what_(what), open_(receives.size(), 0) {
    for (std::size_t i = 0; i < receives.size(); ++i)
      in_chunks(receives[i], [&](char* data, int bytes) {
        pieces_.push_back({i, receives[i].peer, bytes});
        receives_.push_back(MPI_REQUEST_NULL);
        ++open_[i];
        require_mpi(MPI_Irecv(data, bytes, MPI_BYTE, receives[i].peer, tag_, comm_.comm(), &receives_.back()),
                    "MPI_Irecv");
      });
  }

  ~MpiPosted() override {  // after a failure: messages that have not begun are cancelled, MPI has the rest
    for (MPI_Request& r : receives_) {
      if (r == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&r);
      MPI_Request_free(&r);
    }
    for (MPI_Request& r : sends_)
      if (r != MPI_REQUEST_NULL) MPI_Request_free(&r);
  }

  void send(const Message& m) override {
    comm_.require_usable();
    in_chunks(m, [&](const char* data, int bytes) {
      sends_.push_back(MPI_REQUEST_NULL);
      require_mpi(MPI_Isend(data, bytes, MPI_BYTE, m.peer, tag_, comm_.comm(), &sends_.back()), "MPI_Isend");
    });
  }

  int received(Deadline deadline) override {
    for (;;) {
      int at = MPI_UNDEFINED;
      bool none = receives_.empty();
      if (none) return -1;
      comm_.wait_until(
          [&] {
            int done = 0;
            MPI_Status status;
            const int code = MPI_Testany(static_cast<int>(receives_.size()), receives_.data(), &at, &done, &status);
            if (done == 0 && code == MPI_SUCCESS) return false;
            if (at == MPI_UNDEFINED) {
              none = true;
              return true;
            }
            const Piece& p = pieces_[static_cast<std::size_t>(at)];
            int bytes = -1;
            if (code == MPI_SUCCESS) MPI_Get_count(&status, MPI_BYTE, &bytes);
            // MPI takes a short message for a success.
            if (bytes != p.bytes)
              comm_.fail("rank " + std::to_string(p.peer) + " sent " + (bytes < 0 ? "more" : std::to_string(bytes)) +
                         " bytes to rank " + std::to_string(comm_.rank()) + ", which expects " +
                         std::to_string(p.bytes) + ": they have different plans");
            return true;
          },
          what_, deadline);
      if (none) return -1;
      const std::size_t message = pieces_[static_cast<std::size_t>(at)].message;
      if (--open_[message] == 0) return static_cast<int>(message);
    }
  }

  void finish(Deadline deadline) override {
    comm_.wait_until(
        [&] {
          int done = 0;
          require_mpi(MPI_Testall(static_cast<int>(sends_.size()), sends_.data(), &done, MPI_STATUSES_IGNORE),
                      "MPI_Isend");
          return done != 0;
        },
        what_, deadline);
  }

 private:
  struct Piece {
    std::size_t message;
    int peer, bytes;
  };

  template <class F>
  static void in_chunks(const Message& m, const F& f) {
    const std::int64_t most = m.bytes <= kMostCarried ? kPart : kChunk;
    for (std::int64_t at = 0; at < m.bytes; at += most)
      f(static_cast<char*>(m.data) + at, static_cast<int>(std::min(most, m.bytes - at)));
  }

  MpiComm& comm_;
  int tag_;
  std::string what_;
  std::vector<int> open_;  // a message's chunks that have not come
  std::vector<Piece> pieces_;
  std::vector<MPI_Request> receives_, sends_;
};

std::unique_ptr<Posted> MpiComm::post(std::span<const Message> receives, std::int64_t tag, std::string_view what) {
  require_usable();
  return std::make_unique<MpiPosted>(*this, receives, tag, what);
}

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
      : comm_(comm), arguments_(std::move(arguments)), receives_(receives), what_(what) {}
  ~MpiCollective() override {
    if (request_ != MPI_REQUEST_NULL) new std::shared_ptr<Collective>(arguments_);
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
  std::shared_ptr<Collective> arguments_;
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

/// As measured on ranks of one host (bench/results/exchange-mpi): Open MPI's datatypes beat packing where runs are
/// long, by as much as one copy less; elements one by one they move slowly, and the check before a run is a round more
/// than small messages take, which come with it. MPICH's were slower in almost every layout.
Method MpiComm::preferred(std::int64_t bytes, std::int64_t run_bytes) const noexcept {
#if defined(OPEN_MPI)
  constexpr std::int64_t kLongRun = 128;
  if (bytes / size_ / size_ <= most_carried()) return Method::kMessages;
  if (run_bytes >= kLongRun && bytes <= INT_MAX) return Method::kAlltoallw;
#else
  static_cast<void>(bytes), static_cast<void>(run_bytes);
#endif
  return Method::kMessages;
}

std::unique_ptr<Comm> make(const void* mpi_comm, std::chrono::milliseconds deadline) {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized == 0 || finalized != 0)
    throw ArgumentError("MPI is not initialised, or finalised already; call mpi() between");
  return std::make_unique<MpiComm>(*static_cast<const MPI_Comm*>(mpi_comm), deadline);
}

}  // namespace
}  // namespace restride::distributed

extern "C" __attribute__((visibility("default"))) const restride::distributed::MpiModule* restride_mpi_module() {
  static constexpr restride::distributed::MpiModule kModule{restride::distributed::kMpiModuleVersion,
                                                            restride::distributed::make};
  return &kModule;
}
