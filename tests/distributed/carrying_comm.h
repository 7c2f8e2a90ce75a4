// A communicator whose engine says that it carries short messages with the check of a run.
#pragma once

#include <restride/distributed.hpp>

namespace restride::distributed::test {

/// Passes everything on to `real`. It has `most_carried` alone, as an engine that forgot `allgather_with`.
class CarryingComm final : public Comm {
 public:
  explicit CarryingComm(Comm& real) : real_(real) {}
  int rank() const noexcept override { return real_.rank(); }
  int size() const noexcept override { return real_.size(); }
  std::string_view engine() const noexcept override { return real_.engine(); }
  std::string unusable() const override { return real_.unusable(); }
  void allgather(const void* mine, void* all, std::int64_t bytes, std::string_view what, Deadline deadline) override {
    real_.allgather(mine, all, bytes, what, deadline);
  }
  std::int64_t most_carried() const noexcept override { return 64; }
  std::unique_ptr<Posted> post(std::span<const Message> receives, std::int64_t tag, std::string_view what) override {
    return real_.post(receives, tag, what);
  }
  void abort(const std::string& reason) override { real_.abort(reason); }

 private:
  Comm& real_;
};

}  // namespace restride::distributed::test
