// Messages of their own between ranks: posted receives, and sends as the caller makes them.
#include <algorithm>
#include <string>
#include <vector>

#include "src/distributed/mpi/comm.h"

namespace restride::distributed {
namespace {

constexpr std::int64_t kChunk = 1 << 30;  // counts are int: longer messages go in several

class MpiPosted final : public Posted {
 public:
  MpiPosted(MpiComm& comm, std::span<const Message> receives, std::int64_t tag, std::string_view what)
      : comm_(comm), tag_(static_cast<int>(1 + tag % kPostTags)), what_(what), open_(receives.size(), 0) {
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

}  // namespace

std::unique_ptr<Posted> MpiComm::post(std::span<const Message> receives, std::int64_t tag, std::string_view what) {
  require_usable();
  return std::make_unique<MpiPosted>(*this, receives, tag, what);
}

}  // namespace restride::distributed
