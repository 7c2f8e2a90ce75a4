#include "src/distributed/fused.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include <restride/detail/ranks.hpp>

#include "src/distributed/named_ranks.h"

namespace restride::distributed {

struct Fused::Events {
  explicit Events(int device) : ready(device), done(device) {}
  detail::StreamEvent ready;  ///< the rank's memory may be written
  detail::StreamEvent done;   ///< the rank has written what it was to write
};

/// Ranks find each other's events by number: a rank that gives up may be gone while another still looks.
struct Fused::Registry {
  std::mutex mutex;
  std::uint64_t next = 1;
  std::map<std::uint64_t, std::weak_ptr<Events>> events;

  static Registry& of_process() {
    static Registry instance;
    return instance;
  }
  std::uint64_t add(const std::shared_ptr<Events>& some) {
    const std::lock_guard lock(mutex);
    std::erase_if(events, [](const auto& entry) { return entry.second.expired(); });
    events.emplace(next, some);
    return next++;
  }
  std::shared_ptr<Events> find(std::uint64_t number) {
    const std::lock_guard lock(mutex);
    const auto at = events.find(number);
    return at == events.end() ? nullptr : at->second.lock();
  }
};

namespace {

restride::Options on_gpu(int device) {
  restride::Options out;
  out.device = DeviceKind::kCuda;
  out.cuda_device = device;
  return out;
}

int checked_device(const Comm& comm, const ExchangeOptions& options) {
  if (!comm.shares_memory())
    throw UnsupportedError(
        fmt::format("ranks of {} exchange memory of the host only; let ranks that have GPUs be threads of one process, "
                    "or bring the memory to the host",
                    comm.engine()));
  if (options.method != Method::kAuto && options.method != Method::kDirect)
    throw ArgumentError(
        fmt::format("Method {} moves memory of the host; leave it at kAuto for memory of GPUs", name(options.method)));
  return detail::cuda_device_of(on_gpu(options.cuda_device));
}

}  // namespace

Fused::Fused(Comm& comm, const ExchangeOptions& options) : comm_(comm), device_(checked_device(comm, options)) {
  if (device_ >= 0) mine_ = std::make_shared<Events>(device_);
}

restride::Options Fused::plan_options() const { return on_gpu(device_); }

void Fused::greet(Deadline deadline) {
  const Greeting mine{device_, mine_ != nullptr ? Registry::of_process().add(mine_) : 0};
  greetings_.resize(static_cast<std::size_t>(comm_.size()));
  comm_.allgather(&mine, greetings_.data(), sizeof mine, "plan", deadline);
}

void Fused::connect(std::vector<int> targets, std::vector<int> writers) {
  targets_ = std::move(targets);
  writers_ = std::move(writers);
  theirs_.resize(greetings_.size());
  for (const std::vector<int>* some : {&targets_, &writers_})
    for (int rank : *some) {
      const Greeting& theirs = greetings_[static_cast<std::size_t>(rank)];
      if ((theirs.device < 0) != (device_ < 0))
        throw DeviceError(fmt::format("rank {} plans for a model of a GPU, rank {} for a GPU; plan for one kind",
                                      device_ < 0 ? comm_.rank() : rank, device_ < 0 ? rank : comm_.rank()));
      if (device_ < 0) continue;
      std::shared_ptr<Events>& events = theirs_[static_cast<std::size_t>(rank)];
      events = Registry::of_process().find(theirs.events);
      if (events == nullptr)
        throw UnsupportedError(fmt::format(
            "rank {} is no thread of this process; ranks that exchange memory of GPUs are threads of one", rank));
    }
  if (device_ < 0) return;
  for (int rank : targets_)
    detail::enable_peer_access(device_, static_cast<int>(greetings_[static_cast<std::size_t>(rank)].device));
}

void Fused::enter(void* stream) {
  if (device_ < 0)
    throw DeviceError("the plan is for a model of a GPU, which runs nothing; plan with the number of one");
  detail::require_stream_of(device_, stream);
  mine_->ready.record(stream);
  stream_ = stream;
}

void Fused::wait_until_ready(int peer) { theirs_[static_cast<std::size_t>(peer)]->ready.make_wait(device_, stream_); }

void Fused::leave(std::exception_ptr failed) {
  failed_ = std::move(failed);
  try {
    mine_->done.record(stream_);
  } catch (const Error&) {
    if (!failed_) failed_ = std::current_exception();
  }
}

void Fused::end(Deadline deadline) {
  std::vector<std::uint8_t> all(static_cast<std::size_t>(comm_.size()));
  const std::uint8_t mine = failed_ ? 1 : 0;
  comm_.allgather(&mine, all.data(), sizeof mine, "the end of run", deadline);
  // Also when a rank has failed: what the others store comes, and the caller's stream is to be behind it.
  for (int rank : writers_) theirs_[static_cast<std::size_t>(rank)]->done.make_wait(device_, stream_);
  if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
  std::vector<int> wrong;
  for (std::size_t r = 0; r < all.size(); ++r)
    if (all[r] != 0) wrong.push_back(static_cast<int>(r));
  if (!wrong.empty())
    throw AgreementError(named_ranks(wrong) +
                         " could not enqueue its copies: see the error there; what dst holds is unknown on all ranks");
}

std::string Fused::in_words() const {
  if (device_ < 0) return fmt::format("fused of {} by {}: planned for a model of a GPU", comm_.size(), comm_.engine());
  const auto near = std::count_if(targets_.begin(), targets_.end(), [this](int rank) {
    return greetings_[static_cast<std::size_t>(rank)].device == device_;
  });
  return fmt::format("fused of {} by {}: cuda:{} stores into the memory of {} other ranks, {} of them on other GPUs",
                     comm_.size(), comm_.engine(), device_, targets_.size(),
                     targets_.size() - static_cast<std::size_t>(near));
}

}  // namespace restride::distributed
