#include "src/distributed/mpi/comm.h"

#include <sched.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <deque>
#include <thread>
#include <vector>

#include "src/distributed/mpi/meeting.h"
#include "src/distributed/named_ranks.h"

namespace restride::distributed {
namespace {

constexpr std::size_t kNoteBytes = 512;  // text of a note: empty, or an abort's reason

std::string error_text(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return {text, static_cast<std::size_t>(length)};
}

/// Requests that were given up, and the notes: MPI may look at them until the process ends.
std::deque<std::vector<char>>& kept_notes() {
  static auto* notes = new std::deque<std::vector<char>>;
  return *notes;
}

}  // namespace

void require_mpi(int code, const char* call) {
  if (code != MPI_SUCCESS) throw Error(ErrorCode::kInternal, std::string(call) + " failed: " + error_text(code));
}

MpiComm::MpiComm(MPI_Comm user, std::chrono::milliseconds deadline) {
  MPI_Comm_rank(user, &rank_);
  MPI_Comm_size(user, &size_);
  MPI_Request request = MPI_REQUEST_NULL;
  require_mpi(MPI_Comm_idup(user, &comm_, &request), "MPI_Comm_idup");
  // No notes yet: there is no communicator of our own to send them by.
  const Deadline end = Clock::now() + deadline;
  for (int done = 0, turns = 0; done == 0; pause(turns++)) {
    require_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done == 0 && Clock::now() > end)
      throw DeadlineError("not all ranks of the MPI communicator came to mpi() before the deadline; all ranks call it");
  }
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
}

MpiComm::~MpiComm() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0 && broken_.empty()) MPI_Comm_free(&comm_);
}

std::string_view MpiComm::engine() const noexcept {
#if defined(OPEN_MPI)
  return "mpi (Open MPI)";
#elif defined(MPICH)
  return "mpi (MPICH)";
#else
  return "mpi";
#endif
}

void MpiComm::allgather(const void* mine, void* all, std::int64_t bytes, std::string_view what, Deadline deadline) {
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

std::int64_t MpiComm::most_carried() const noexcept { return size_ <= kFewRanks ? kMostCarried : 0; }

void MpiComm::allgather_with(const void* mine, void* all, std::int64_t bytes, std::span<const Message> sends,
                             std::span<Message> receives, std::string_view what, Deadline deadline) {
  require_usable();
  const auto fits = [](const Message& m) { return m.bytes >= 0 && m.bytes <= kMostCarried; };
  if (size_ > kFewRanks || bytes < 0 || bytes > kFewBytes || !std::all_of(sends.begin(), sends.end(), fits) ||
      !std::all_of(receives.begin(), receives.end(), fits))
    throw ArgumentError("up to " + std::to_string(kFewRanks) + " ranks of MPI gather up to " +
                        std::to_string(kFewBytes) + " bytes with messages of up to " + std::to_string(kMostCarried) +
                        "; use allgather and post for more");
  meet(mine, all, bytes, sends, receives, what, deadline);
}

void MpiComm::meet(const void* mine, void* all, std::int64_t bytes, std::span<const Message> sends,
                   std::span<Message> receives, std::string_view what, Deadline deadline) {
  try {
    if (meeting_ == nullptr) meeting_ = std::make_unique<MpiMeeting>(*this);
    meeting_->meet(mine, all, bytes, sends, receives, what, deadline);
  } catch (const std::exception& e) {
    static_cast<void>(meeting_.release());  // MPI may write to it whenever the others come
    abort("rank " + std::to_string(rank_) + " could not come to " + std::string(what) + ": " + e.what());
    throw;
  }
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

void MpiComm::abort(const std::string& reason) {
  if (!broken_.empty()) return;
  broken_ = reason;
  send_notes(reason);
}

void MpiComm::require_usable() const {
  if (!broken_.empty()) throw DeadlineError("the communicator is unusable: " + broken_ + "; end the job by MPI_Abort");
}

bool MpiComm::has_note() const {
  int note = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, kNoteTag, comm_, &note, MPI_STATUS_IGNORE);
  return note != 0;
}

void MpiComm::give_up(std::string_view what) {
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

void MpiComm::fail(const std::string& why) {
  abort(why);
  throw AgreementError(why);
}

void MpiComm::pause(int turns) {
  if (turns < 200) return;
  if (turns < 20000)
    sched_yield();
  else
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void MpiComm::send_notes(const std::string& reason) {
  std::vector<char>& note = kept_notes().emplace_back(kNoteBytes, '\0');
  std::memcpy(note.data(), reason.data(), std::min(reason.size(), kNoteBytes - 1));
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    if (MPI_Isend(note.data(), kNoteBytes, MPI_BYTE, r, kNoteTag, comm_, &request) == MPI_SUCCESS)
      MPI_Request_free(&request);
  }
}

}  // namespace restride::distributed
