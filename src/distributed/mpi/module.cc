// Ranks of MPI by point-to-point messages. Compiled once for each MPI (src/CMakeLists.txt); uses MPI 3.0 alone.
//
// Nothing blocks: every wait polls requests and looks at the clock. A rank whose deadline passes calls the roll: it
// sends a note to all others, and those that wait somewhere answer with theirs. Who does not answer is named.
#include "src/distributed/mpi/module.h"

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <thread>
#include <utility>

#include "src/distributed/named_ranks.h"

namespace restride::distributed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNoteTag = 32000;           // tags go to 32767 at least
constexpr int kTags = 30000;              // of messages, from 1 on
constexpr std::int64_t kChunk = 1 << 30;  // counts are int: longer messages go in several
constexpr std::size_t kNoteBytes = 512;   // text of a note: empty, or an abort's reason

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

  std::unique_ptr<Posted> post(std::span<const Message> receives, std::int64_t tag, std::string_view what) override;

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
    for (int turns = 0; !done(); pause(turns++)) {
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

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
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

  ~MpiPosted() override {  // after a failure: what has not begun is taken back, the rest is MPI's
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
    for (std::int64_t at = 0; at < m.bytes; at += kChunk)
      f(static_cast<char*>(m.data) + at, static_cast<int>(std::min(kChunk, m.bytes - at)));
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
