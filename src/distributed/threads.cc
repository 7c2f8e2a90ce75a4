// Ranks that are threads: messages are matched in one table under one lock and copied by the receiver.
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>

#include <restride/distributed.hpp>

#include "src/distributed/named_ranks.h"

namespace restride::distributed {
namespace {

constexpr int kMostThreads = 4096;

/// A message that was sent; it lies in the sender's list until the receiver has copied it.
struct Letter {
  int from = 0, to = 0;
  std::int64_t tag = 0;
  const void* data = nullptr;
  std::int64_t bytes = 0;
  enum { kWaiting, kCopying, kTaken } state = kWaiting;
};

/// One allgather: the ranks' bytes, as they come.
struct Round {
  std::vector<std::byte> bytes;
  std::vector<bool> came;
  int count = 0;
  std::int64_t each = 0;
};

}  // namespace

struct Threads::World {
  struct Rank;

  std::mutex mutex;
  std::condition_variable changed;
  std::string broken;  ///< why nothing goes on
  std::shared_ptr<Round> round;
  std::vector<std::deque<Letter*>> boxes;  ///< a rank's, in the order of sending
  std::vector<std::unique_ptr<Rank>> ranks;

  /// Under the lock.
  void require_usable() const {
    if (!broken.empty()) throw DeadlineError(fmt::format("the communicator is unusable: {}; make a new one", broken));
  }
  [[noreturn]] void give_up(const std::string& why) {
    if (broken.empty()) broken = why;
    changed.notify_all();
    throw DeadlineError(broken);
  }
};

struct Threads::World::Rank final : Comm {
  Rank(World& w, int r, int n) : world(w), rank_(r), size_(n) {}

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  std::string_view engine() const noexcept override { return "threads"; }
  bool shares_memory() const noexcept override { return true; }
  std::string unusable() const override {
    const std::lock_guard lock(world.mutex);
    return world.broken;
  }
  void abort(const std::string& reason) override {
    const std::lock_guard lock(world.mutex);
    if (world.broken.empty()) world.broken = reason;
    world.changed.notify_all();
  }
  void allgather(const void* mine, void* all, std::int64_t bytes, std::string_view what, Deadline deadline) override;
  std::unique_ptr<Posted> post(std::span<const Message> receives, std::int64_t tag, std::string_view what) override;

  World& world;
  int rank_, size_;
};

void Threads::World::Rank::allgather(const void* mine, void* all, std::int64_t bytes, std::string_view what,
                                     Deadline deadline) {
  std::unique_lock lock(world.mutex);
  world.require_usable();
  const auto n = static_cast<std::size_t>(size_), each = static_cast<std::size_t>(bytes);
  if (world.round == nullptr) {
    world.round = std::make_shared<Round>();
    world.round->bytes.resize(n * each);
    world.round->came.resize(n);
    world.round->each = bytes;
  }
  const std::shared_ptr<Round> round = world.round;  // the next one begins before all have left this one
  if (round->each != bytes) {
    world.broken = fmt::format("rank {} came to {} with {} bytes where others have {}: ranks call different things",
                               rank_, what, bytes, round->each);
    world.changed.notify_all();
    throw AgreementError(world.broken);
  }
  if (each > 0) std::memcpy(round->bytes.data() + static_cast<std::size_t>(rank_) * each, mine, each);
  round->came[static_cast<std::size_t>(rank_)] = true;
  if (++round->count == size_) {
    world.round = nullptr;
    world.changed.notify_all();
  } else {
    const bool in_time =
        world.changed.wait_until(lock, deadline, [&] { return round->count == size_ || !world.broken.empty(); });
    if (round->count != size_) {
      if (in_time) throw DeadlineError(world.broken);
      std::vector<int> missing;
      for (int r = 0; r < size_; ++r)
        if (!round->came[static_cast<std::size_t>(r)]) missing.push_back(r);
      world.give_up(
          fmt::format("{} did not come to {} before the deadline; all ranks call it, or ExchangeOptions::deadline "
                      "must be longer",
                      named_ranks(missing), what));
    }
  }
  lock.unlock();
  if (each > 0) std::memcpy(all, round->bytes.data(), n * each);
}

namespace {

/// Messages on their way; `World` is a type of this file.
template <class World>
class ThreadsPosted final : public Posted {
 public:
  ThreadsPosted(World& world, int rank, std::span<const Message> receives, std::int64_t tag, std::string_view what)
      : world_(world),
        rank_(rank),
        tag_(tag),
        what_(what),
        receives_(receives.begin(), receives.end()),
        open_(receives.size(), true) {}

  ~ThreadsPosted() override {
    // Messages that nobody reads yet are taken back; one that somebody copies from stays until the copy is done.
    std::unique_lock lock(world_.mutex);
    for (Letter& l : sent_) {
      if (l.state == Letter::kWaiting) std::erase(world_.boxes[static_cast<std::size_t>(l.to)], &l);
      world_.changed.wait(lock, [&] { return l.state != Letter::kCopying; });
    }
  }

  void send(const Message& m) override {
    const std::lock_guard lock(world_.mutex);
    world_.require_usable();
    Letter& l = sent_.emplace_back();
    l.from = rank_;
    l.to = m.peer;
    l.tag = tag_;
    l.data = m.data;
    l.bytes = m.bytes;
    world_.boxes[static_cast<std::size_t>(m.peer)].push_back(&l);
    world_.changed.notify_all();
  }

  int received(Deadline deadline) override {
    std::unique_lock lock(world_.mutex);
    auto& box = world_.boxes[static_cast<std::size_t>(rank_)];
    for (;;) {
      bool any = false;
      for (std::size_t i = 0; i < receives_.size(); ++i) {
        if (!open_[i]) continue;
        any = true;
        const auto it = std::find_if(box.begin(), box.end(),
                                     [&](const Letter* l) { return l->from == receives_[i].peer && l->tag == tag_; });
        if (it == box.end()) continue;
        Letter& l = **it;
        box.erase(it);
        if (l.bytes != receives_[i].bytes) {
          l.state = Letter::kTaken;
          world_.broken = fmt::format("rank {} sent {} bytes to rank {}, which expects {}: they have different plans",
                                      l.from, l.bytes, rank_, receives_[i].bytes);
          world_.changed.notify_all();
          throw AgreementError(world_.broken);
        }
        l.state = Letter::kCopying;
        lock.unlock();
        std::memcpy(receives_[i].data, l.data, static_cast<std::size_t>(l.bytes));
        lock.lock();
        l.state = Letter::kTaken;
        world_.changed.notify_all();
        open_[i] = false;
        return static_cast<int>(i);
      }
      if (!any) return -1;
      world_.require_usable();
      if (world_.changed.wait_until(lock, deadline) == std::cv_status::timeout) {
        std::vector<int> missing;
        for (std::size_t i = 0; i < receives_.size(); ++i)
          if (open_[i]) missing.push_back(receives_[i].peer);
        world_.give_up(
            fmt::format("{} sent nothing to rank {} in {} before the deadline; all ranks call it, or "
                        "ExchangeOptions::deadline must be longer",
                        named_ranks(missing), rank_, what_));
      }
    }
  }

  void finish(Deadline deadline) override {
    std::unique_lock lock(world_.mutex);
    for (Letter& l : sent_) {
      const bool taken = world_.changed.wait_until(lock, deadline,
                                                   [&] { return l.state == Letter::kTaken || !world_.broken.empty(); });
      if (l.state == Letter::kTaken) continue;
      if (taken) throw DeadlineError(world_.broken);
      world_.give_up(
          fmt::format("rank {} took nothing from rank {} in {} before the deadline; all ranks call it, or "
                      "ExchangeOptions::deadline must be longer",
                      l.to, rank_, what_));
    }
  }

 private:
  World& world_;
  int rank_;
  std::int64_t tag_;
  std::string what_;
  std::vector<Message> receives_;
  std::vector<bool> open_;
  std::deque<Letter> sent_;  // stay where they are
};

}  // namespace

std::unique_ptr<Posted> Threads::World::Rank::post(std::span<const Message> receives, std::int64_t tag,
                                                   std::string_view what) {
  {
    const std::lock_guard lock(world.mutex);
    world.require_usable();
  }
  return std::make_unique<ThreadsPosted<World>>(world, rank_, receives, tag, what);
}

Threads::Threads(int ranks) : world_(std::make_unique<World>()) {
  if (ranks < 1 || ranks > kMostThreads)
    throw ArgumentError(fmt::format("{} ranks; threads may be 1 to {} ranks", ranks, kMostThreads));
  world_->boxes.resize(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) world_->ranks.push_back(std::make_unique<World::Rank>(*world_, r, ranks));
}

Threads::~Threads() = default;
Threads::Threads(Threads&&) noexcept = default;
Threads& Threads::operator=(Threads&&) noexcept = default;

Comm& Threads::comm(int rank) {
  if (rank < 0 || rank >= size())
    throw ArgumentError(fmt::format("rank {} of {}; use one of 0 to {}", rank, size(), size() - 1));
  return *world_->ranks[static_cast<std::size_t>(rank)];
}

int Threads::size() const noexcept { return static_cast<int>(world_->ranks.size()); }

}  // namespace restride::distributed
