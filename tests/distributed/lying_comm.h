// A communicator whose rank says of its messages what is not so.
#pragma once

#include <vector>

#include <restride/distributed.hpp>

namespace restride::distributed::test {

/// Passes everything on to `real`, but says in checked mode that it would send one byte more to rank 0.
class LyingComm final : public Comm {
 public:
  explicit LyingComm(Comm& real) : real_(real) {}
  int rank() const noexcept override { return real_.rank(); }
  int size() const noexcept override { return real_.size(); }
  std::string_view engine() const noexcept override { return real_.engine(); }
  void allgather(const void* mine, void* all, std::int64_t bytes, std::string_view what, Deadline deadline) override {
    const auto pairs = static_cast<std::int64_t>(2 * sizeof(std::int64_t)) * size();
    if (bytes != pairs || size() == 4) return real_.allgather(mine, all, bytes, what, deadline);  // 4: a fingerprint's
    const auto* numbers = static_cast<const std::int64_t*>(mine);
    std::vector<std::int64_t> said(numbers, numbers + 2 * size());
    ++said[0];
    real_.allgather(said.data(), all, bytes, what, deadline);
  }
  std::unique_ptr<Posted> post(std::span<const Message> receives, std::int64_t tag, std::string_view what) override {
    return real_.post(receives, tag, what);
  }
  bool offers(Method method) const noexcept override { return real_.offers(method); }
  std::unique_ptr<Prepared> alltoallv(std::span<const PlacedMessage> sends,
                                      std::span<const PlacedMessage> receives) override {
    return real_.alltoallv(sends, receives);
  }
  std::unique_ptr<Prepared> alltoallw(std::span<const StridedMessage> sends,
                                      std::span<const StridedMessage> receives) override {
    return real_.alltoallw(sends, receives);
  }
  void abort(const std::string& reason) override { real_.abort(reason); }

 private:
  Comm& real_;
};

}  // namespace restride::distributed::test
