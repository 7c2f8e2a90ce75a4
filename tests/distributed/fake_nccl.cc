#include "tests/distributed/fake_nccl.h"

#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

using restride::distributed::Device;

namespace {

struct Letter {
  explicit Letter(Device& d) : device(d) {}
  ~Letter() {
    for (void* event : {ready, copied})
      if (event != nullptr) device.destroy_event(event);
  }
  Letter(const Letter&) = delete;
  Letter& operator=(const Letter&) = delete;
  Device& device;
  const void* data = nullptr;
  std::size_t bytes = 0;
  bool taken = false;
  void *ready = nullptr, *copied = nullptr;  ///< of a GPU
};

struct World {
  std::mutex mutex;
  std::condition_variable changed;
  int size = 0;
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Letter>>> boxes;  ///< from, to
  std::vector<std::shared_ptr<World>> splits;
  std::vector<int> came;  ///< to each split
  int here = 0;           ///< ranks that have made their communicator
  bool is_counted = false;
};

struct Op {
  bool sends = false;
  int peer = 0;
  void* data = nullptr;
  std::size_t bytes = 0;
  std::shared_ptr<Letter> letter;
};

std::atomic<long long> sent{0};

}  // namespace

struct ncclComm {
  std::shared_ptr<World> world;
  int rank = 0;
  std::shared_ptr<Device> device;
  std::size_t splits = 0;
  std::shared_ptr<std::atomic<bool>> broken;  ///< shared by those split off
  bool aborted = false;
  std::vector<Op> pending;  ///< of a GPU, until all are enqueued
  void* stream = nullptr;
};

namespace {

/// They stay: threads that nobody waits for may still look at them.
std::vector<std::unique_ptr<ncclComm>>& comms() {
  static auto* all = new std::vector<std::unique_ptr<ncclComm>>;
  return *all;
}
std::mutex& comms_mutex() {
  static std::mutex mutex;
  return mutex;
}

ncclComm* make(std::shared_ptr<World> world, int rank, std::shared_ptr<Device> device,
               std::shared_ptr<std::atomic<bool>> broken) {
  auto comm = std::make_unique<ncclComm>();
  comm->world = std::move(world);
  comm->rank = rank;
  comm->device = std::move(device);
  comm->broken = std::move(broken);
  const std::lock_guard lock(comms_mutex());
  comms().push_back(std::move(comm));
  return comms().back().get();
}

thread_local int depth = 0;
thread_local ncclComm* group_comm = nullptr;
thread_local void* group_stream = nullptr;
thread_local std::vector<Op> group;

/// On a stream of the host: until all has come and gone, or an abort.
void exchange(ncclComm* comm, std::vector<Op> ops) {
  World& w = *comm->world;
  std::unique_lock lock(w.mutex);
  for (Op& op : ops)
    if (op.sends) w.boxes[{comm->rank, op.peer}].push_back(op.letter);
  w.changed.notify_all();
  std::size_t open = ops.size();
  std::vector<bool> done(ops.size());
  while (open > 0 && !comm->aborted) {
    bool any = false;
    for (std::size_t i = 0; i < ops.size() && !comm->aborted; ++i) {
      if (done[i]) continue;
      Op& op = ops[i];
      if (op.sends) {
        done[i] = op.letter->taken;
      } else {
        auto& box = w.boxes[{op.peer, comm->rank}];
        if (box.empty() || box.front()->bytes != op.bytes) continue;  // other sizes hang
        const std::shared_ptr<Letter> letter = box.front();
        box.pop_front();
        std::copy_n(static_cast<const std::byte*>(letter->data), op.bytes, static_cast<std::byte*>(op.data));
        letter->taken = done[i] = true;
        w.changed.notify_all();
      }
      if (done[i]) --open, any = true;
    }
    if (open > 0 && !any && !comm->aborted) w.changed.wait(lock);
  }
  for (Op& op : ops)  // after an abort nobody takes it any more
    if (op.sends) std::erase(w.boxes[{comm->rank, op.peer}], op.letter);
}

/// On streams of a GPU: enqueues what the others have enqueued their side of. Whether all is enqueued.
bool progress(ncclComm* comm) {
  World& w = *comm->world;
  const std::lock_guard lock(w.mutex);
  Device& device = *comm->device;
  std::erase_if(comm->pending, [&](Op& op) {
    if (op.sends) {
      if (op.letter->copied == nullptr) return false;
      device.wait(op.letter->copied, comm->stream);
      return true;
    }
    auto& box = w.boxes[{op.peer, comm->rank}];
    if (box.empty() || box.front()->bytes != op.bytes) return false;
    Letter& letter = *box.front();
    device.wait(letter.ready, comm->stream);
    device.copy(op.data, letter.data, static_cast<std::int64_t>(op.bytes), comm->stream);
    letter.copied = device.make_event();
    device.record(letter.copied, comm->stream);
    box.pop_front();
    return true;
  });
  return comm->pending.empty();
}

void add(Op op, ncclComm* comm, void* stream) {
  group_comm = comm;
  group_stream = stream;
  if (op.sends) {
    op.letter = std::make_shared<Letter>(*comm->device);
    op.letter->data = op.data;
    op.letter->bytes = op.bytes;
    if (op.peer != comm->rank && comm->world->is_counted) sent += static_cast<long long>(op.bytes);
  }
  group.push_back(std::move(op));
}

}  // namespace

namespace restride::distributed::test {

std::vector<void*> make_fake_nccl(const std::vector<std::shared_ptr<Device>>& devices) {
  auto world = std::make_shared<World>();
  world->size = world->here = static_cast<int>(devices.size());
  std::vector<void*> out;
  for (std::size_t r = 0; r < devices.size(); ++r)
    out.push_back(make(world, static_cast<int>(r), devices[r], std::make_shared<std::atomic<bool>>(false)));
  return out;
}

long long bytes_by_fake_nccl() { return sent; }
void break_fake_nccl(void* comm) { *static_cast<ncclComm*>(comm)->broken = true; }

}  // namespace restride::distributed::test

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t code) {
  return code == ncclSuccess       ? "no error"
         : code == ncclRemoteError ? "remote process exited"
                                   : "an error of a fake NCCL";
}
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  *rank = comm->rank;
  return ncclSuccess;
}
ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  *count = comm->world->size;
  return ncclSuccess;
}
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  *device = comm->device->number();
  return ncclSuccess;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int, int, ncclComm_t* newcomm, ncclConfig_t*) {
  World& w = *comm->world;
  std::shared_ptr<World> child;
  {
    const std::lock_guard lock(w.mutex);
    if (comm->splits == w.splits.size()) {
      w.splits.push_back(std::make_shared<World>());
      w.splits.back()->size = w.size;
      w.splits.back()->is_counted = w.splits.size() % 2 == 0;  // the module's second one is for data
    }
    child = w.splits[comm->splits++];
  }
  *newcomm = make(child, comm->rank, comm->device, comm->broken);
  const std::lock_guard lock(child->mutex);
  ++child->here;
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  if (*comm->broken) {
    *error = ncclRemoteError;
    return ncclSuccess;
  }
  World& w = *comm->world;
  {
    const std::lock_guard lock(w.mutex);
    *error = w.here < w.size ? ncclInProgress : ncclSuccess;
    if (*error != ncclSuccess || comm->pending.empty()) return ncclSuccess;
  }
  *error = progress(comm) ? ncclSuccess : ncclInProgress;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }
ncclResult_t ncclCommDestroy(ncclComm_t) { return ncclSuccess; }
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  const std::lock_guard lock(comm->world->mutex);
  comm->aborted = true;
  comm->world->changed.notify_all();
  return ncclSuccess;
}

/// No memory of its own: the module takes the device's.
ncclResult_t ncclMemAlloc(void**, size_t) { return ncclInvalidUsage; }
ncclResult_t ncclMemFree(void*) { return ncclInvalidUsage; }
ncclResult_t ncclCommRegister(const ncclComm_t, void*, size_t, void**) { return ncclInvalidUsage; }
ncclResult_t ncclCommDeregister(const ncclComm_t, void*) { return ncclInvalidUsage; }

ncclResult_t ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (--depth > 0 || group.empty()) return ncclSuccess;
  ncclComm* comm = group_comm;
  if (comm->device->is_host()) {
    comm->device->call([comm, ops = std::move(group)] { exchange(comm, ops); }, group_stream);
    group.clear();
    return ncclSuccess;
  }
  for (Op& op : group)
    if (op.sends) {
      op.letter->ready = comm->device->make_event();
      comm->device->record(op.letter->ready, group_stream);
    }
  {
    const std::lock_guard lock(comm->world->mutex);
    for (const Op& op : group)
      if (op.sends) comm->world->boxes[{comm->rank, op.peer}].push_back(op.letter);
    comm->pending = std::move(group);
    comm->stream = group_stream;
  }
  group.clear();
  return ncclInProgress;
}

ncclResult_t ncclSend(const void* data, size_t count, ncclDataType_t, int peer, ncclComm_t comm, cudaStream_t stream) {
  ncclGroupStart();
  add({true, peer, const_cast<void*>(data), count, nullptr}, comm, stream);
  return ncclGroupEnd();
}
ncclResult_t ncclRecv(void* data, size_t count, ncclDataType_t, int peer, ncclComm_t comm, cudaStream_t stream) {
  ncclGroupStart();
  add({false, peer, data, count, nullptr}, comm, stream);
  return ncclGroupEnd();
}

ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  ncclGroupStart();
  for (int r = 0; r < comm->world->size; ++r) {
    ncclSend(from, count, type, r, comm, stream);
    ncclRecv(static_cast<std::byte*>(to) + static_cast<size_t>(r) * count, count, type, r, comm, stream);
  }
  return ncclGroupEnd();
}

}  // extern "C"
