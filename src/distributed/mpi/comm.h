// The communicator that every part of a module for MPI works on. Nothing blocks: every wait polls requests and looks at
// the clock. A rank whose deadline passes calls the roll: it sends a note to all others, and ranks that wait somewhere
// answer. A rank that does not answer is named.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <mpi.h>

#include <restride/distributed.hpp>

namespace restride::distributed {

// Measured by bench/exchange_mpi.cc on ranks of one host. Open MPI asks the receiver from 4,096 bytes on, headers
// included, which takes as long as the copy; its datatypes are faster than parts from 64 KiB on.
#if defined(OPEN_MPI)
inline constexpr std::int64_t kPart = 3968, kMostCarried = 16 << 10;
#else
inline constexpr std::int64_t kPart = 7936, kMostCarried = 64 << 10;
#endif

// Tags go to 32767 at least: messages of posts have those from 1 on.
inline constexpr int kNoteTag = 32000;
inline constexpr int kPostTags = 30000;

using Clock = std::chrono::steady_clock;

/// Errors: Error with the call's name and MPI's text.
void require_mpi(int code, const char* call);

class MpiMeeting;

class MpiComm final : public Comm {
 public:
  /// `user` stays the caller's: this is a duplicate. Errors: DeadlineError.
  MpiComm(MPI_Comm user, std::chrono::milliseconds deadline);
  ~MpiComm() override;

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  std::string_view engine() const noexcept override;
  std::string unusable() const override { return broken_; }

  void allgather(const void* mine, void* all, std::int64_t bytes, std::string_view what, Deadline deadline) override;
  std::int64_t most_carried() const noexcept override;
  void allgather_with(const void* mine, void* all, std::int64_t bytes, std::span<const Message> sends,
                      std::span<Message> receives, std::string_view what, Deadline deadline) override;

  std::unique_ptr<Posted> post(std::span<const Message> receives, std::int64_t tag, std::string_view what) override;

  bool offers(Method method) const noexcept override { return method != Method::kDirect; }
  Method preferred(std::int64_t bytes, std::int64_t run_bytes) const noexcept override;
  std::unique_ptr<Prepared> alltoallv(std::span<const PlacedMessage> sends,
                                      std::span<const PlacedMessage> receives) override;
  std::unique_ptr<Prepared> alltoallw(std::span<const StridedMessage> sends,
                                      std::span<const StridedMessage> receives) override;

  void abort(const std::string& reason) override;

  MPI_Comm comm() const noexcept { return comm_; }
  void require_usable() const;

  /// Polls `done` until it holds. Errors: DeadlineError.
  template <class Done>
  void wait_until(const Done& done, std::string_view what, Deadline deadline) {
    for (int turns = 1; !done(); pause(turns++))
      if (turns % 64 == 0 && (has_note() || Clock::now() > deadline)) give_up(what);
  }

  /// Tells all ranks. Errors: AgreementError, always.
  [[noreturn]] void fail(const std::string& why);

 private:
  static void pause(int turns);
  bool has_note() const;
  void send_notes(const std::string& reason);
  [[noreturn]] void give_up(std::string_view what);
  /// `allgather_with` of few ranks.
  void meet(const void* mine, void* all, std::int64_t bytes, std::span<const Message> sends,
            std::span<Message> receives, std::string_view what, Deadline deadline);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::unique_ptr<MpiMeeting> meeting_;
  std::string broken_;
};

}  // namespace restride::distributed
