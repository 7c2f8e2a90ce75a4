// Ranks of NCCL. The caller's communicator is split into two of ours: one for the notes by which ranks meet, one for
// the data of runs. That for notes is nonblocking: every wait polls and looks at the clock. That for data is blocking,
// since NCCL starts a thread for each group of a nonblocking one, 80 us of a run. Its calls that wait for other ranks'
// threads are made by threads that are not waited for longer than the deadline: the split, and the first exchange of a
// plan's messages, for which NCCL connects ranks and tells them of registered memory.
//
// A meeting is a note from each rank to each other one. A note says how many bytes follow, and whether its sender has
// given up, so ranks that make different calls find out. Ranks of one host meet on a board (board.h). Others send the
// notes by NCCL: up to kMostNamed ranks as a group of messages; more use NCCL's own allgather, which cannot name a rank
// that does not come.
#include "src/distributed/nccl/module.h"

#include <nccl.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "src/distributed/gpu_link.h"
#include "src/distributed/named_ranks.h"
#include "src/distributed/nccl/board.h"
#include "src/distributed/nccl/cuda_device.h"
#include "src/distributed/nccl/deadlines.h"
#include "src/distributed/nccl/memory.h"
#include "src/distributed/nccl/watchman.h"

namespace restride::distributed {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kOldest = 21900;  // ncclCommRegister
constexpr int kMostNamed = 64;

std::string text_of(ncclResult_t code) { return ncclGetErrorString(code); }

/// Our communicators, as long as any thread needs them: NCCL's own calls may hang, so some are made by threads that are
/// not waited for.
struct Comms {
  ncclComm_t meetings = nullptr, data = nullptr;
};

class NcclComm final : public Comm, public GpuLink {
 public:
  NcclComm(ncclComm_t user, std::shared_ptr<Device> device, milliseconds deadline) : device_(std::move(device)) {
    require(ncclCommUserRank(user, &rank_), "ncclCommUserRank");
    require(ncclCommCount(user, &size_), "ncclCommCount");
    split(user, Clock::now() + deadline);
    notes_.reserve(bytes_of_notes());
    host_.reserve(bytes_of_notes());
    stream_ = device_->make_stream();
    lane_ = device_->make_urgent_stream();
    store_lane_ = device_->make_link_stream();
    met_ = device_->make_event();
    watchman_ = std::make_unique<Watchman>(
        device_, [this] { return fault(); }, [this](const std::string& why) { break_off(why); });
    const Device::Aside aside(*device_);
    board_ = Board::open(rank_, size_, device_->host(), [&](const void* mine, void* all, std::int64_t bytes) {
      allgather(mine, all, bytes, "nccl()", Clock::now() + deadline);
    });
  }

  ~NcclComm() override {
    watchman_.reset();
    if (farewell_) {  // the others are given a moment to read the note
      const Deadline end_of_wait = Clock::now() + std::chrono::seconds(2);
      try {
        while (board_ == nullptr && !device_->is_finished(met_) && Clock::now() < end_of_wait) pause(3000);
      } catch (const Error&) {
      }
      end(true);
    }
    if (unusable().empty()) end(false);
    // After an abort the streams may never end, so the memory that they may still touch stays.
    if (!unusable().empty()) {
      notes_.data = host_.data = more_.data = more_host_.data = nullptr;
      return;
    }
    device_->destroy_event(met_);
    device_->destroy_stream(stream_);
    device_->destroy_stream(lane_);
    device_->destroy_stream(store_lane_);
  }

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  std::string_view engine() const noexcept override { return "nccl"; }
  std::string unusable() const override {
    const std::lock_guard lock(mutex_);
    return broken_;
  }
  GpuLink* gpu_link() noexcept override { return this; }
  bool offers(Method method) const noexcept override {
    return method == Method::kMessages || method == Method::kDirect;
  }
  std::unique_ptr<Posted> post(std::span<const Message>, std::int64_t, std::string_view) override {
    throw UnsupportedError("NCCL moves memory of GPUs; set ExchangeOptions::device to kCuda");
  }

  void allgather(const void* mine, void* all, std::int64_t bytes, std::string_view what, Deadline deadline) override {
    require_usable();
    const Device::Aside aside(*device_);
    Note note;
    note.bytes = bytes;
    const bool fits = bytes <= static_cast<std::int64_t>(sizeof note.text);
    if (fits && bytes > 0) std::memcpy(note.text, mine, static_cast<std::size_t>(bytes));
    const Note* notes = meet(note, what, deadline);
    std::vector<int> unlike;
    for (int r = 0; r < size_; ++r) {
      const Note& theirs = notes[r];
      if (theirs.gave_up != 0) {
        break_off(std::string(theirs.text, strnlen(theirs.text, sizeof theirs.text)));
        throw DeadlineError(unusable());
      }
      if (theirs.magic != Note::kMagic || theirs.bytes != bytes) unlike.push_back(r);
    }
    if (!unlike.empty()) {
      const std::string why = named_ranks(unlike) + " came to " + std::string(what) +
                              " with another number of bytes than rank " + std::to_string(rank_) + " has, " +
                              std::to_string(bytes) + ": ranks call different things";
      break_off(why);
      throw AgreementError(why);
    }
    const auto n = static_cast<std::size_t>(bytes);
    if (fits) {
      for (int r = 0; r < size_ && n > 0; ++r)
        std::memcpy(static_cast<std::byte*>(all) + static_cast<std::size_t>(r) * n, notes[r].text, n);
      return;
    }
    if (board_ != nullptr) return gather_on_board(mine, all, n, what, deadline);
    std::byte* memory = more_.reserve(bytes * (size_ + 1));
    std::byte* host = more_host_.reserve(bytes * (size_ + 1));
    std::memcpy(host, mine, n);
    gather(host, memory, bytes, what, deadline);
    std::memcpy(all, host + n, n * static_cast<std::size_t>(size_));
  }

  void abort(const std::string& reason) override {
    {
      const std::lock_guard lock(mutex_);
      if (!broken_.empty()) return;
      broken_ = reason;
    }
    farewell_ = true;
    watchman_->release();
    if (board_ != nullptr) return board_->say_farewell(reason);
    try {  // the next meeting of the others is with this note
      const Device::Aside aside(*device_);
      Note note;
      note.gave_up = 1;
      std::memcpy(note.text, reason.data(), std::min(reason.size(), sizeof note.text - 1));
      enqueue_notes(note, "abort", Clock::now() + std::chrono::seconds(1));
      device_->record(met_, stream_);
    } catch (const Error&) {  // then the others' deadlines tell them
    }
  }

  // ---- GpuLink

  Device& device() noexcept override { return *device_; }
  void* lane() override { return lane_; }
  void* store_lane() override { return store_lane_; }

  void exchange(std::span<const Message> sends, std::span<const Message> receives, void* stream,
                Deadline deadline) override {
    require_usable();
    group(comms_.data, sends, receives, stream, "run", deadline);
  }

  std::byte* allocate(std::int64_t bytes) override { return of_messages_.allocate(comms_.data, *device_, bytes); }
  void free(std::byte* memory) noexcept override {
    of_messages_.free(comms_.data, *device_, memory, !unusable().empty());
  }

  void connect(std::span<const Message> sends, std::span<const Message> receives, Deadline deadline) override {
    require_usable();
    const Device::Aside aside(*device_);
    struct Call {
      std::vector<Message> sends, receives;
      ncclResult_t code = ncclSuccess;
    };
    auto call = std::make_shared<Call>();
    call->sends.assign(sends.begin(), sends.end());
    call->receives.assign(receives.begin(), receives.end());
    if (!by_deadline(deadline, [call, comm = comms_.data, stream = lane_, device = device_] {
          const Device::Aside here(*device);
          call->code = enqueue_group(comm, call->sends, call->receives, stream);
        }))
      give_up("plan");
    settle(comms_.data, call->code, "an NCCL group", "plan", deadline);
    device_->record(met_, lane_);
    wait_for(met_, "plan", deadline);
  }

  void watch(RunWord* word, milliseconds most) override { watchman_->watch(word, most); }
  void forget(RunWord* word) noexcept override { watchman_->forget(word); }

 private:
  std::int64_t bytes_of_notes() const { return std::int64_t{sizeof(Note)} * (size_ + 1); }

  void require(ncclResult_t code, const char* call) const {
    if (code != ncclSuccess && code != ncclInProgress) throw DeviceError(std::string(call) + ": " + text_of(code));
  }
  void require_usable() const {
    const std::lock_guard lock(mutex_);
    if (!broken_.empty())
      throw DeadlineError("the communicator is unusable: " + broken_ + "; make a new one of the caller's");
  }

  void split(ncclComm_t user, Deadline deadline) {
    struct Result {
      Comms comms;
      ncclResult_t code = ncclSuccess;
      bool late = false;
      std::mutex mutex;
    };
    auto result = std::make_shared<Result>();
    const bool in_time = by_deadline(deadline, [result, user, rank = rank_, device = device_, deadline] {
      Comms made;
      ncclResult_t code = ncclSuccess;
      for (ncclComm_t* comm : {&made.meetings, &made.data}) {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = comm == &made.data ? 1 : 0;
        if (comm == &made.meetings) config.minCTAs = config.maxCTAs = 1;
        code = ncclCommSplit(user, 0, rank, comm, &config);
        // The parent, if it is nonblocking, and the new one are both made elsewhere.
        for (int turns = 0; code == ncclInProgress || code == ncclSuccess; pause(turns++)) {
          ncclResult_t parent = ncclSuccess, child = ncclInProgress;
          ncclCommGetAsyncError(user, &parent);
          if (*comm != nullptr) ncclCommGetAsyncError(*comm, &child);
          code = parent != ncclSuccess ? parent : child;
          if (code == ncclSuccess || Clock::now() > deadline) break;
        }
        if (code != ncclSuccess) break;
      }
      const std::lock_guard lock(result->mutex);
      result->comms = made;
      result->code = code;
      if (!result->late && code == ncclSuccess) return;
      for (ncclComm_t comm : {made.meetings, made.data})
        if (comm != nullptr) ncclCommAbort(comm);
    });
    const std::lock_guard lock(result->mutex);
    result->late = !in_time;
    if (!in_time || result->code == ncclInProgress)
      throw DeadlineError(
          "not all ranks of the NCCL communicator came to nccl() before the deadline; all ranks call it");
    require(result->code, "ncclCommSplit");
    comms_ = result->comms;
  }

  /// Waits until NCCL has accepted the call. Errors: DeadlineError.
  void settle(ncclComm_t comm, ncclResult_t code, const char* call, std::string_view what, Deadline deadline) {
    for (int turns = 0; code == ncclInProgress; pause(turns++)) {
      if (ncclCommGetAsyncError(comm, &code) != ncclSuccess) code = ncclInternalError;
      if (code == ncclInProgress && Clock::now() > deadline) give_up(what);
      if (code == ncclInProgress && turns % 64 == 63 && !farewell_) require_usable();
    }
    if (code == ncclSuccess) return;
    const std::string why = std::string(call) + " in " + std::string(what) + ": " + text_of(code);
    break_off(why);
    throw DeadlineError(why);
  }

  static ncclResult_t enqueue_group(ncclComm_t comm, std::span<const Message> sends, std::span<const Message> receives,
                                    void* stream) {
    auto* on = static_cast<cudaStream_t>(stream);
    ncclResult_t code = ncclGroupStart();
    const auto keep = [&](ncclResult_t r) {
      if (code == ncclSuccess && r != ncclInProgress) code = r;
    };
    for (const Message& m : sends)
      keep(ncclSend(m.data, static_cast<std::size_t>(m.bytes), ncclInt8, m.peer, comm, on));
    for (const Message& m : receives)
      keep(ncclRecv(m.data, static_cast<std::size_t>(m.bytes), ncclInt8, m.peer, comm, on));
    const ncclResult_t end = ncclGroupEnd();
    return code == ncclSuccess ? end : code;
  }

  void group(ncclComm_t comm, std::span<const Message> sends, std::span<const Message> receives, void* stream,
             std::string_view what, Deadline deadline) {
    settle(comm, enqueue_group(comm, sends, receives, stream), "an NCCL group", what, deadline);
  }

  /// Everyone's notes, where this rank's thread may read them.
  const Note* meet(const Note& mine, std::string_view what, Deadline deadline) {
    if (board_ != nullptr) return meet_on_board(mine, what, deadline);
    enqueue_notes(mine, what, deadline);
    device_->copy(host_.data, notes_.data, bytes_of_notes(), stream_);
    device_->record(met_, stream_);
    wait_for(met_, what, deadline);
    return reinterpret_cast<const Note*>(host_.data) + 1;
  }

  const Note* meet_on_board(const Note& mine, std::string_view what, Deadline deadline) {
    board_->post(mine);
    met_on_board_.resize(static_cast<std::size_t>(size_));
    for (int r = 0; r < size_; ++r) {
      for (int turns = 0; !board_->has_come(r); pause(turns++)) {
        if (turns % 64 != 63) continue;
        if (const std::string why = board_->farewell(); !why.empty()) {
          break_off(why);
          throw DeadlineError(unusable());
        }
        if (Clock::now() > deadline) give_up(what);
        require_usable();
      }
      met_on_board_[static_cast<std::size_t>(r)] = board_->note_of(r);
    }
    return met_on_board_.data();
  }

  /// More bytes than a note takes: as many meetings as they need. All have said that they come.
  void gather_on_board(const void* mine, void* all, std::size_t bytes, std::string_view what, Deadline deadline) {
    for (std::size_t at = 0; at < bytes; at += sizeof Note::text) {
      const std::size_t part = std::min(bytes - at, sizeof Note::text);
      Note note;
      note.bytes = static_cast<std::int64_t>(part);
      std::memcpy(note.text, static_cast<const std::byte*>(mine) + at, part);
      const Note* notes = meet_on_board(note, what, deadline);
      for (std::size_t r = 0; r < static_cast<std::size_t>(size_); ++r)
        std::memcpy(static_cast<std::byte*>(all) + r * bytes + at, notes[r].text, part);
    }
  }

  /// In the memory of the device: this rank's note, and then all ranks'.
  void enqueue_notes(const Note& mine, std::string_view what, Deadline deadline) {
    // The host's copy is not read by the device any more: every meeting is waited for.
    std::memset(host_.data, 0, static_cast<std::size_t>(bytes_of_notes()));
    std::memcpy(host_.data, &mine, sizeof mine);
    std::memcpy(host_.data + sizeof(Note) * static_cast<std::size_t>(rank_ + 1), &mine, sizeof mine);
    device_->copy(notes_.data, host_.data, bytes_of_notes(), stream_);
    gather_on_device(notes_.data, sizeof(Note), what, deadline);
  }

  void gather_on_device(std::byte* memory, std::int64_t bytes, std::string_view what, Deadline deadline) {
    if (size_ > kMostNamed) {
      settle(comms_.meetings,
             ncclAllGather(memory, memory + bytes, static_cast<std::size_t>(bytes), ncclInt8, comms_.meetings,
                           static_cast<cudaStream_t>(stream_)),
             "ncclAllGather", what, deadline);
      return;
    }
    std::vector<Message> sends, receives;
    for (int d = 1; d < size_; ++d) {
      const int to = (rank_ + d) % size_, from = (rank_ + size_ - d) % size_;
      sends.push_back({to, memory, bytes});
      receives.push_back({from, memory + bytes * (from + 1), bytes});
    }
    if (!sends.empty()) group(comms_.meetings, sends, receives, stream_, what, deadline);
  }

  /// `host`: this rank's bytes, and behind them room for all ranks'. All have said that they come.
  void gather(std::byte* host, std::byte* memory, std::int64_t bytes, std::string_view what, Deadline deadline) {
    std::memcpy(host + bytes * (rank_ + 1), host, static_cast<std::size_t>(bytes));
    device_->copy(memory, host, bytes * (size_ + 1), stream_);
    gather_on_device(memory, bytes, what, deadline);
    device_->copy(host, memory, bytes * (size_ + 1), stream_);
    device_->record(met_, stream_);
    wait_for(met_, what, deadline);
  }

  void wait_for(void* event, std::string_view what, Deadline deadline) {
    for (int turns = 0; !device_->is_finished(event); pause(turns++)) {
      if (turns % 64 != 63) continue;
      ncclResult_t code = ncclSuccess;
      ncclCommGetAsyncError(comms_.meetings, &code);
      if (code != ncclSuccess && code != ncclInProgress) settle(comms_.meetings, code, "a meeting", what, deadline);
      if (Clock::now() > deadline) give_up(what);
      require_usable();
    }
  }

  /// Who has not come is told from the notes that are there, while NCCL still waits for the others.
  [[noreturn]] void give_up(std::string_view what) {
    std::vector<int> missing;
    if (board_ != nullptr) {
      for (int r = 0; r < size_; ++r)
        if (!board_->has_come(r)) missing.push_back(r);
    } else if (size_ <= kMostNamed) {
      try {
        Buffer seen(*device_, true);
        std::byte* notes = seen.reserve(bytes_of_notes());
        void* aside = device_->make_stream();
        void* read = device_->make_event();
        device_->copy(notes, notes_.data, bytes_of_notes(), aside);
        device_->record(read, aside);
        const Deadline end = Clock::now() + std::chrono::seconds(1);
        while (!device_->is_finished(read) && Clock::now() < end) pause(3000);
        if (device_->is_finished(read)) {
          for (int r = 0; r < size_; ++r)
            if (reinterpret_cast<const Note*>(notes)[r + 1].magic != Note::kMagic) missing.push_back(r);
          device_->destroy_event(read);
          device_->destroy_stream(aside);
        } else {
          seen.data = nullptr;  // it may still be written to
        }
      } catch (const Error&) {
        missing.clear();
      }
    }
    const std::string who = missing.empty() ? "not all ranks came" : named_ranks(missing) + " did not come";
    break_off(who + " to " + std::string(what) +
              " before the deadline; all ranks call it, or ExchangeOptions::deadline must be longer");
    throw DeadlineError(unusable());
  }

  /// From any thread. Kernels of NCCL that wait for others end; streams go on behind them.
  void break_off(const std::string& why) {
    {
      const std::lock_guard lock(mutex_);
      if (!broken_.empty()) return;
      broken_ = why;
    }
    watchman_->release();
    end(true);
  }

  /// NCCL's own calls have been seen to hang, so no more than some seconds are spent on them.
  void end(bool abort) {
    const Comms comms = comms_;
    by_deadline(Clock::now() + std::chrono::seconds(5), [comms, abort, device = device_] {
      const Device::Aside aside(*device);
      for (ncclComm_t comm : {comms.meetings, comms.data}) {
        ncclResult_t code = abort ? ncclSuccess : ncclCommFinalize(comm);
        for (int turns = 0; code == ncclInProgress; pause(turns++))
          if (ncclCommGetAsyncError(comm, &code) != ncclSuccess) break;
        if (abort || code != ncclSuccess)
          ncclCommAbort(comm);
        else
          ncclCommDestroy(comm);
      }
    });
  }

  /// What ends the runs that are on their way.
  std::string fault() {
    if (board_ != nullptr)
      if (std::string why = board_->farewell(); !why.empty()) return why;
    ncclResult_t code = ncclSuccess;
    if (ncclCommGetAsyncError(comms_.data, &code) != ncclSuccess) code = ncclInternalError;
    if (code == ncclSuccess || code == ncclInProgress) return {};
    return "NCCL reports in a run: " + text_of(code);
  }

  std::shared_ptr<Device> device_;
  int rank_ = 0, size_ = 1;
  Comms comms_;
  RegisteredMemory of_messages_;
  Buffer notes_{*device_, false}, host_{*device_, true}, more_{*device_, false}, more_host_{*device_, true};
  void *stream_ = nullptr, *lane_ = nullptr, *store_lane_ = nullptr, *met_ = nullptr;
  bool farewell_ = false;
  std::unique_ptr<Board> board_;  ///< where all ranks are on one host
  std::vector<Note> met_on_board_;

  mutable std::mutex mutex_;
  std::string broken_;
  std::unique_ptr<Watchman> watchman_;
};

std::unique_ptr<Comm> make(void* nccl_comm, std::shared_ptr<Device> device, milliseconds deadline) {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess || version < kOldest)
    throw UnsupportedError("the NCCL of this process is older than 2.19; use a newer one");
  auto* comm = static_cast<ncclComm_t>(nccl_comm);
  if (device == nullptr) {
    int number = -1;
    if (const ncclResult_t code = ncclCommCuDevice(comm, &number); code != ncclSuccess)
      throw ArgumentError("nccl_comm is no communicator that is ready: " + text_of(code));
    device = cuda_device(number);
  }
  return std::make_unique<NcclComm>(comm, std::move(device), deadline);
}

const NcclModule kModule{kNcclModuleVersion, make};

}  // namespace
}  // namespace restride::distributed

extern "C" __attribute__((visibility("default"))) const restride::distributed::NcclModule* restride_nccl_module() {
  return &restride::distributed::kModule;
}
