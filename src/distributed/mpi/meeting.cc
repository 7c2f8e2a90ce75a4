#include "src/distributed/mpi/meeting.h"

#include <cstring>
#include <string>

namespace restride::distributed {
namespace {

constexpr int kMeetTag = 31999;  // of first parts
constexpr int kPartTags = 1000;  // of the parts behind them, below it

Message message_with(std::span<const Message> messages, int peer) {
  for (const Message& m : messages)
    if (m.peer == peer) return m;
  return {};
}

}  // namespace

MpiMeeting::MpiMeeting(MpiComm& comm)
    : comm_(comm),
      to_(static_cast<std::size_t>(comm.size() * kFirst / kLine)),
      from_(static_cast<std::size_t>(comm.size() * kSlot / kLine)) {}

std::int64_t MpiMeeting::whole(std::int64_t bytes, std::int64_t carried) {
  return static_cast<std::int64_t>(sizeof(Head)) + bytes + carried;
}

std::int64_t MpiMeeting::first_part(std::int64_t bytes, std::int64_t carried) {
  return std::min(whole(bytes, carried), std::max(kPart, whole(bytes, 0)));
}

std::int64_t MpiMeeting::later_parts(std::int64_t bytes, std::int64_t carried) {
  return (whole(bytes, carried) - first_part(bytes, carried) + kPart - 1) / kPart;
}

void MpiMeeting::meet(const void* mine, void* all, std::int64_t bytes, std::span<const Message> sends,
                      std::span<Message> receives, std::string_view what, Deadline deadline) {
  const int rank = comm_.rank(), size = comm_.size();
  const int tag = kMeetTag - 1 - static_cast<int>(count_++ % kPartTags);
  firsts_.assign(static_cast<std::size_t>(size - 1), MPI_REQUEST_NULL);
  others_.clear();
  for (int d = 1; d < size; ++d) {
    const int from = (rank + size - d) % size;
    require_mpi(MPI_Irecv(from_rank(from), static_cast<int>(kFirst), MPI_BYTE, from, kMeetTag, comm_.comm(),
                          &firsts_[static_cast<std::size_t>(d - 1)]),
                "MPI_Irecv");
    parts_[static_cast<std::size_t>(from)] = others_.size();
    receive_parts(from, tag, bytes, 0, later_parts(bytes, message_with(receives, from).bytes));
  }
  for (int d = 1; d < size; ++d) send_to((rank + d) % size, tag, mine, bytes, sends);
  wait_for(firsts_, what, deadline);
  for (int d = 1; d < size; ++d) take_head((rank + size - d) % size, tag, bytes, receives, what);
  wait_for(others_, what, deadline);
  const auto n = static_cast<std::size_t>(bytes);
  for (int r = 0; r < size && n > 0; ++r)
    std::memcpy(static_cast<char*>(all) + static_cast<std::size_t>(r) * n,
                r == rank ? static_cast<const char*>(mine) : from_rank(r) + sizeof(Head), n);
}

void MpiMeeting::receive_parts(int from, int tag, std::int64_t bytes, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    others_.push_back(MPI_REQUEST_NULL);
    require_mpi(MPI_Irecv(from_rank(from) + std::max(kPart, whole(bytes, 0)) + i * kPart, static_cast<int>(kPart),
                          MPI_BYTE, from, tag, comm_.comm(), &others_.back()),
                "MPI_Irecv");
  }
}

void MpiMeeting::send_to(int to, int tag, const void* mine, std::int64_t bytes, std::span<const Message> sends) {
  const Message message = message_with(sends, to);
  const Head head{bytes, message.bytes};
  const std::int64_t first = first_part(bytes, head.carried), with_first = first - whole(bytes, 0);
  char* at = to_rank(to);
  std::memcpy(at, &head, sizeof head);
  if (bytes > 0) std::memcpy(at + sizeof head, mine, static_cast<std::size_t>(bytes));
  const char* data = static_cast<const char*>(message.data);
  if (with_first > 0) std::memcpy(at + whole(bytes, 0), data, static_cast<std::size_t>(with_first));
  const auto send = [&](const char* part, std::int64_t n, int with) {
    others_.push_back(MPI_REQUEST_NULL);
    require_mpi(MPI_Isend(part, static_cast<int>(n), MPI_BYTE, to, with, comm_.comm(), &others_.back()), "MPI_Isend");
  };
  send(at, first, kMeetTag);
  for (std::int64_t i = with_first; i < head.carried; i += kPart)
    send(data + i, std::min(kPart, head.carried - i), tag);
}

void MpiMeeting::take_head(int from, int tag, std::int64_t bytes, std::span<Message> receives, std::string_view what) {
  Head head;
  std::memcpy(&head, from_rank(from), sizeof head);
  if (head.bytes != bytes)
    comm_.fail("rank " + std::to_string(from) + " came to " + std::string(what) + " with " +
               std::to_string(head.bytes) + " bytes where rank " + std::to_string(comm_.rank()) + " has " +
               std::to_string(bytes) + ": ranks call different things");
  if (head.carried < 0 || head.carried > kMostCarried)
    comm_.fail("rank " + std::to_string(from) + " came to " + std::string(what) + " with a message of " +
               std::to_string(head.carried) + " bytes, longer than the " + std::to_string(kMostCarried) +
               " that may come with it: ranks have different versions of the module");
  const std::int64_t expected = later_parts(bytes, message_with(receives, from).bytes);
  const std::int64_t sent = later_parts(bytes, head.carried);
  for (std::int64_t i = sent; i < expected; ++i) {
    MPI_Request& r = others_[parts_[static_cast<std::size_t>(from)] + static_cast<std::size_t>(i)];
    MPI_Cancel(&r);
    MPI_Request_free(&r);
  }
  receive_parts(from, tag, bytes, expected, sent);
  for (Message& r : receives)
    if (r.peer == from) r.bytes = head.carried, r.data = from_rank(from) + whole(bytes, 0);
}

void MpiMeeting::wait_for(std::vector<MPI_Request>& requests, std::string_view what, Deadline deadline) {
  statuses_.resize(requests.size());
  comm_.wait_until(
      [&] {
        int done = 0;
        require_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, statuses_.data()),
                    "a meeting");
        return done != 0;
      },
      what, deadline);
}

}  // namespace restride::distributed
