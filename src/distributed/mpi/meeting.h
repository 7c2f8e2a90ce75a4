// A meeting of few ranks: a message from each to each, which MPIs send faster than nonblocking collectives. It begins
// with a Head. Small messages of a run come with it, in parts that MPIs send without asking the receiver first.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "src/distributed/mpi/comm.h"

namespace restride::distributed {

inline constexpr int kFewRanks = 8;
inline constexpr std::int64_t kFewBytes = 4096;  ///< of a rank

/// The meetings of a communicator, and their memory. MPI may write to it as long as a rank has not come, so after an
/// error it is never freed.
class MpiMeeting {
 public:
  explicit MpiMeeting(MpiComm& comm);

  /// Every rank gets the `bytes` of all. A rank that comes with another number of bytes is found out; one whose message
  /// has another length than `receives` says is taken as it is, and `receives` says so.
  /// Errors: DeadlineError; AgreementError; Error of MPI's.
  void meet(const void* mine, void* all, std::int64_t bytes, std::span<const Message> sends,
            std::span<Message> receives, std::string_view what, Deadline deadline);

 private:
  static constexpr std::int64_t kLine = 64;
  /// In front of a rank's message: what follows, first `bytes` of the rank's own, then a message. As long as a line, as
  /// fingerprints are, so that the message lies at a line.
  struct alignas(kLine) Head {
    std::int64_t bytes = 0, carried = 0;
  };
  struct alignas(kLine) Line {
    char bytes[kLine];
  };
  static constexpr std::int64_t kFirst = std::max(kPart, static_cast<std::int64_t>(sizeof(Head)) + kFewBytes);
  static constexpr std::int64_t kSlot = kFirst + kMostCarried + kPart;  // parts behind the first have room for kPart
  static_assert(kPart % kLine == 0 && kFirst % kLine == 0 && kSlot % kLine == 0);

  /// How long a message is that carries `carried`, and its first part.
  static std::int64_t whole(std::int64_t bytes, std::int64_t carried);
  static std::int64_t first_part(std::int64_t bytes, std::int64_t carried);
  static std::int64_t later_parts(std::int64_t bytes, std::int64_t carried);

  char* to_rank(int r) { return to_[static_cast<std::size_t>(r * kFirst / kLine)].bytes; }
  char* from_rank(int r) { return from_[static_cast<std::size_t>(r * kSlot / kLine)].bytes; }
  void receive_parts(int from, int tag, std::int64_t bytes, std::int64_t begin, std::int64_t end);
  void send_to(int to, int tag, const void* mine, std::int64_t bytes, std::span<const Message> sends);
  /// A rank's first part is there: as many later parts as it says are received.
  void take_head(int from, int tag, std::int64_t bytes, std::span<Message> receives, std::string_view what);
  void wait_for(std::vector<MPI_Request>& requests, std::string_view what, Deadline deadline);

  MpiComm& comm_;
  std::int64_t count_ = 0;  ///< of meetings
  std::vector<Line> to_, from_;
  std::vector<MPI_Request> firsts_, others_;  ///< of what begins with a Head; of later parts, and of what is sent
  std::vector<MPI_Status> statuses_;
  std::array<std::size_t, kFewRanks> parts_{};  ///< in `others_`: the first of a rank's later parts
};

}  // namespace restride::distributed
