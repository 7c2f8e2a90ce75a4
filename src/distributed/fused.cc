#include "src/distributed/fused.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <thread>

#include "src/base/checked.h"
#include "src/distributed/agreement.h"

namespace restride::distributed {

struct Fused::Events {
  explicit Events(int device) : ready(device), done(device) {}
  detail::StreamEvent ready;  ///< the rank's memory may be written
  detail::StreamEvent done;   ///< the rank has written its parts
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

constexpr const char* kNoSocket =
    "this process could make no socket, by which memory that is mapped in pieces (ncclMemAlloc) is shared with other "
    "processes; use memory of cudaMalloc";

int checked_device(const ExchangeOptions& options) {
  if (options.method != Method::kAuto && options.method != Method::kDirect)
    throw ArgumentError(
        fmt::format("Method {} moves memory of the host; leave it at kAuto for memory of GPUs", name(options.method)));
  return detail::cuda_device_of(on_gpu(options.cuda_device));
}

}  // namespace

Fused::Fused(Comm& comm, const ExchangeOptions& options, GpuLink* link)
    : comm_(comm),
      link_(link),
      device_(link != nullptr ? link->device().number() : checked_device(options)),
      most_(options.deadline) {
  if (link_ == nullptr && device_ >= 0) mine_ = std::make_shared<Events>(device_);
}

Fused::~Fused() {
  if (word_ != nullptr) link_->forget(word_);
  // After a run that was given up another rank may still raise flags here: they stay.
  if (flags_ != nullptr && comm_.unusable().empty())
    link_->device().free(reinterpret_cast<std::byte*>(flags_));  // first: it waits for the GPU
  for (void* event : {opened_, stored_})
    if (event != nullptr) link_->device().destroy_event(event);
  if (word_ != nullptr) link_->device().free_shared(reinterpret_cast<std::byte*>(word_));
}

std::string Fused::why_not_into(int rank) const {
  const Greeting& theirs = greetings_[static_cast<std::size_t>(rank)];
  if (theirs.host != greeting_.host) return fmt::format("rank {} is on another host", rank);
  const std::string why = link_->device().why_not_into(theirs.gpu);
  return why.empty() ? "" : fmt::format("the GPU of rank {} {}", rank, why);
}

std::uint32_t* Fused::flag_at(int rank, Flag flag) {
  std::uint32_t* base = flags_;
  if (rank != comm_.rank()) {
    const Greeting& theirs = greetings_[static_cast<std::size_t>(rank)];
    base = theirs.flags;
    if (!is_thread(rank)) {
      const detail::SharedMemory& shared = theirs.shared_flags;
      const auto at = mapped_.try_emplace({rank, shared.handle}, device_, shared, detail::SharedPieces{}).first;
      base = reinterpret_cast<std::uint32_t*>(moved(at->second.base(), shared.offset));
    }
  }
  return base + static_cast<int>(flag) * comm_.size();
}

void Fused::find_flags() {
  const auto mine = static_cast<std::size_t>(comm_.rank());
  for (int rank : writers_) {
    ready_there_.push_back(flag_at(rank, Flag::kReady) + mine);
    done_here_.push_back(flag_at(comm_.rank(), Flag::kDone) + rank);
  }
  for (int rank : targets_) {
    ready_here_.emplace(rank, flag_at(comm_.rank(), Flag::kReady) + rank);
    done_there_.push_back(flag_at(rank, Flag::kDone) + mine);
  }
}

void Fused::open() {
  if (lane_) mine_->ready.make_wait(device_, lane());
  if (link_ == nullptr) return;
  link_->device().set_word(&word_->state, RunWord::kBegun, stream_);
  link_->device().raise(ready_there_, &word_->released, stream_);
  link_->device().record(opened_, stream_);
  link_->device().wait(opened_, lane());
}

restride::Options Fused::plan_options() const { return on_gpu(device_); }

void Fused::greet(Deadline deadline) {
  greeting_.device = device_;
  greeting_.events = mine_ != nullptr ? Registry::of_process().add(mine_) : 0;
  greeting_.host = this_host();
  greeting_.process = getpid();
  try {
    if (!is_model() && !is_host()) {
      socket_ = std::make_unique<DescriptorSocket>();
      greeting_.socket = socket_->name();
    }
  } catch (const UnsupportedError&) {
    socket_.reset();  // only memory in pieces asks for it
  }
  if (link_ != nullptr) try {
      Device& device = link_->device();
      greeting_.host = device.host();
      greeting_.gpu = device.identity();
      greeting_.flags = flags_ = device.allocate_flags(2 * std::int64_t{comm_.size()});
      const auto* mine = reinterpret_cast<std::byte*>(flags_);
      if (!is_host()) greeting_.shared_flags = detail::share_memory(device_, {mine, mine + 1}, mine);
    } catch (const Error&) {
      failed_ = std::current_exception();
    }
  greetings_.resize(static_cast<std::size_t>(comm_.size()));
  comm_.allgather(&greeting_, greetings_.data(), sizeof greeting_, "plan", deadline);
}

void Fused::connect(std::vector<int> targets, std::vector<int> writers) {
  if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
  targets_ = std::move(targets);
  writers_ = std::move(writers);
  theirs_.resize(greetings_.size());
  for (const std::vector<int>* some : {&targets_, &writers_})
    for (int rank : *some) {
      const Greeting& theirs = greetings_[static_cast<std::size_t>(rank)];
      if (link_ == nullptr && (theirs.device < 0) != (device_ < 0))
        throw DeviceError(fmt::format("rank {} plans for a model of a GPU, rank {} for a GPU; plan for one kind",
                                      device_ < 0 ? comm_.rank() : rank, device_ < 0 ? rank : comm_.rank()));
      if (is_model()) continue;
      if (theirs.host != greeting_.host)
        throw UnsupportedError(fmt::format(
            "rank {} is on another host, whose GPUs are not reached; bring the memory to the hosts first", rank));
      if (link_ != nullptr) {
        if (!is_host() && theirs.gpu == greeting_.gpu)
          throw UnsupportedError(fmt::format(
              "ranks {} and {} share a GPU, where kernels of one would wait for those of the other; give each rank a "
              "GPU of its own, or leave Method at kAuto",
              std::min(rank, comm_.rank()), std::max(rank, comm_.rank())));
        continue;
      }
      if (!is_thread(rank)) {
        blocks_ = true;
        continue;
      }
      std::shared_ptr<Events>& events = theirs_[static_cast<std::size_t>(rank)];
      events = Registry::of_process().find(theirs.events);
      if (events == nullptr)
        throw InternalError(fmt::format("rank {} has no events for this one; report it, please", rank));
    }
  const auto is_elsewhere = [this](int rank) {
    return !is_thread(rank) || greetings_[static_cast<std::size_t>(rank)].device != device_;
  };
  if (link_ == nullptr && device_ >= 0 && std::any_of(targets_.begin(), targets_.end(), is_elsewhere)) {
    lane_ = std::make_unique<detail::LinkStream>(device_);
    lane_done_ = std::make_unique<detail::StreamEvent>(device_);
  }
  if (link_ != nullptr) {
    opened_ = link_->device().make_event();
    stored_ = link_->device().make_event();
    word_ = reinterpret_cast<RunWord*>(link_->device().allocate_shared(sizeof *word_));
    link_->watch(word_, most_);
  }
  if (device_ >= 0 && !is_host())
    for (const std::vector<int>* some : {&targets_, &writers_})
      for (int rank : *some)  // of another process: when its memory is mapped
        if (is_thread(rank) && (link_ != nullptr || some == &targets_))
          detail::enable_peer_access(device_, static_cast<int>(greetings_[static_cast<std::size_t>(rank)].device));
  if (link_ != nullptr) find_flags();
}

void Fused::wait_for_stream(Deadline deadline) const {
  for (int pause_us = 1; !detail::is_finished(device_, stream_); pause_us = std::min(2 * pause_us, 100)) {
    if (std::chrono::steady_clock::now() > deadline)
      throw DeadlineError(
          fmt::format("the stream of rank {} did not end its work before the deadline; "
                      "ExchangeOptions::deadline must be longer",
                      comm_.rank()));
    std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
  }
}

void Fused::enter(void* stream, std::span<const Target> dst, Deadline deadline) {
  if (is_model())
    throw DeviceError("the plan is for a model of a GPU, which runs nothing; plan with the number of one");
  if (link_ == nullptr || (!is_host() && !link_->device().is_capturing(stream)))
    detail::require_stream_of(device_, stream);
  stream_ = stream;
  addresses_.assign(dst.size(), {});
  ranges_.assign(dst.size(), {});
  const bool shares = std::any_of(writers_.begin(), writers_.end(), [this](int rank) { return !is_thread(rank); });
  for (std::size_t t = 0; t < dst.size(); ++t) {
    addresses_[t].data = dst[t].data;
    if (!shares || dst[t].range.first == nullptr) continue;
    ranges_[t] = dst[t].range;
    addresses_[t].shared = detail::share_memory(device_, ranges_[t], dst[t].data);
    if (addresses_[t].shared.is_in_pieces() && socket_ == nullptr) throw UnsupportedError(kNoSocket);
  }
  if (link_ != nullptr) return;
  mine_->ready.record(stream);
  if (blocks_) wait_for_stream(deadline);
}

void Fused::tell_addresses(Deadline deadline) {
  everyones_.resize(addresses_.size() * static_cast<std::size_t>(comm_.size()));
  comm_.allgather(addresses_.data(), everyones_.data(), static_cast<std::int64_t>(addresses_.size() * sizeof(Address)),
                  "run", deadline);
  try {
    hand_over(deadline);
  } catch (const Error& e) {
    comm_.abort(e.what());  // the others may be behind it already
    throw;
  }
}

/// What stands in front of a parcel's pieces.
struct Fused::Parcel {
  std::array<std::byte, 64> handle{};
  std::uint64_t of = 0;  ///< pieces of the memory in all
  std::array<std::int64_t, DescriptorSocket::kMostFiles> bytes{};
};

bool Fused::gives(ToGive& parcel) {
  detail::SharedPieces pieces;
  Parcel text{address_of(comm_.rank(), parcel.tensor).shared.handle, 0, {}};
  text.of = detail::share_pieces(device_, ranges_[parcel.tensor], parcel.next_piece, text.bytes.size(), &pieces);
  std::copy(pieces.bytes().begin(), pieces.bytes().end(), text.bytes.begin());
  const DescriptorSocket::Name& to = greetings_[static_cast<std::size_t>(parcel.rank)].socket;
  if (socket_->send(to, std::as_bytes(std::span(&text, 1)), pieces.descriptors())) parcel.next_piece += pieces.size();
  return parcel.next_piece == text.of;
}

void Fused::take_parcels() {
  while (std::optional<DescriptorSocket::Parcel> parcel = socket_->take()) {
    Parcel text;
    detail::SharedPieces pieces;
    const bool is_whole = parcel->text.size() == sizeof text && parcel->files.size() <= text.bytes.size();
    if (is_whole) std::memcpy(&text, parcel->text.data(), sizeof text);
    for (std::size_t i = 0; i < parcel->files.size(); ++i) pieces.add(parcel->files[i], is_whole ? text.bytes[i] : 0);
    for (auto at = missing_.begin(); is_whole && at != missing_.end(); ++at) {
      const auto& [rank, handle] = *at;
      if (greetings_[static_cast<std::size_t>(rank)].process != parcel->process || handle != text.handle) continue;
      detail::SharedPieces& taken = taken_[*at];
      taken.append(std::move(pieces));
      if (taken.size() >= text.of) missing_.erase(at);
      break;
    }
  }
}

void Fused::hand_over(Deadline deadline) {
  std::vector<ToGive> parcels;
  for (std::size_t t = 0; t < addresses_.size(); ++t) {
    const detail::SharedMemory& mine = addresses_[t].shared;
    if (!mine.is_in_pieces() || !given_.insert(mine.handle).second) continue;
    for (int rank : writers_)
      if (!is_thread(rank)) parcels.push_back({rank, t, 0});
  }
  missing_.clear();
  for (int rank : targets_)
    for (std::size_t t = 0; !is_thread(rank) && t < addresses_.size(); ++t) {
      const detail::SharedMemory& theirs = address_of(rank, t).shared;
      const Foreign key{rank, theirs.handle};
      if (theirs.is_in_pieces() && mapped_.count(key) == 0 && taken_.count(key) == 0) missing_.insert(key);
    }
  if (!missing_.empty() && socket_ == nullptr) throw UnsupportedError(kNoSocket);
  // A rank takes as long as it gives, so that no queue stays full.
  for (int pause_us = 1; !parcels.empty() || !missing_.empty(); pause_us = std::min(2 * pause_us, 100)) {
    std::erase_if(parcels, [this](ToGive& parcel) { return gives(parcel); });
    if (!missing_.empty()) take_parcels();
    if (std::chrono::steady_clock::now() > deadline)
      throw DeadlineError(
          fmt::format("the memory of rank {}, which is mapped in pieces, did not come to rank {} before the deadline",
                      missing_.empty() ? comm_.rank() : missing_.begin()->first,
                      missing_.empty() ? parcels.front().rank : comm_.rank()));
    std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
  }
}

std::byte* Fused::address(int peer, int tensor) {
  const Address& theirs = address_of(peer, static_cast<std::size_t>(tensor));
  if (is_thread(peer)) return static_cast<std::byte*>(theirs.data);
  const Foreign key{peer, theirs.shared.handle};
  auto at = mapped_.find(key);
  if (at == mapped_.end()) {
    at = mapped_.try_emplace(key, device_, theirs.shared, taken_[key]).first;
    taken_.erase(key);
  }
  return moved(at->second.base(), theirs.shared.offset);
}

void Fused::wait_until_ready(int peer) {
  if (link_ != nullptr) return await({&ready_here_.at(peer), 1}, lane());
  if (is_thread(peer)) theirs_[static_cast<std::size_t>(peer)]->ready.make_wait(device_, lane());
}

void Fused::await(std::span<std::uint32_t* const> flags, void* stream) {
  if (!flags.empty()) link_->device().await(flags, &word_->released, most_, stream);
}

void Fused::leave(std::exception_ptr failed) {
  failed_ = std::move(failed);
  try {
    if (link_ != nullptr) {
      Device& device = link_->device();
      if (!failed_) device.raise(done_there_, &word_->released, lane());
      device.record(stored_, lane());
      device.wait(stored_, stream_);
      if (failed_) return;
      await(done_here_, stream_);
      return device.set_word(&word_->state, RunWord::kEnded, stream_);
    }
    if (lane_) {
      lane_done_->record(lane());
      lane_done_->make_wait(device_, stream_);
    }
    mine_->done.record(stream_);
  } catch (const Error&) {
    if (!failed_) failed_ = std::current_exception();
  }
}

void Fused::end(Deadline deadline) {
  if (link_ != nullptr) {
    if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
    return;
  }
  try {
    if (blocks_ && !failed_) wait_for_stream(deadline);
  } catch (const Error&) {
    failed_ = std::current_exception();
  }
  std::vector<std::uint8_t> all(static_cast<std::size_t>(comm_.size()));
  const std::uint8_t mine = failed_ ? 1 : 0;
  comm_.allgather(&mine, all.data(), sizeof mine, "the end of run", deadline);
  // Also after a rank has failed: the others still store, and the caller's stream must wait for that.
  for (int rank : writers_)
    if (is_thread(rank)) theirs_[static_cast<std::size_t>(rank)]->done.make_wait(device_, stream_);
  if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
  std::vector<int> wrong;
  for (std::size_t r = 0; r < all.size(); ++r)
    if (all[r] != 0) wrong.push_back(static_cast<int>(r));
  if (!wrong.empty())
    throw AgreementError(named_ranks(wrong) +
                         " could not enqueue its copies: see the error there; what dst holds is unknown on all ranks");
}

std::string Fused::in_words() const {
  if (is_model()) return fmt::format("fused of {} by {}: planned for a model of a GPU", comm_.size(), comm_.engine());
  std::int64_t others = 0, processes = 0;
  for (int rank : targets_) {
    const bool thread = is_thread(rank);
    processes += thread ? 0 : 1;
    others += thread && greetings_[static_cast<std::size_t>(rank)].device != device_ ? 1 : 0;
  }
  return fmt::format(
      "fused of {} by {}: {} stores into the memory of {} other ranks, {} of them on other GPUs, {} in other "
      "processes",
      comm_.size(), comm_.engine(), is_host() ? "the host" : fmt::format("cuda:{}", device_), targets_.size(), others,
      processes);
}

}  // namespace restride::distributed
