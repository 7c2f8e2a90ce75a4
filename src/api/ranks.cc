// What restride_distributed asks about memory and devices.
#include <fmt/format.h>

#include <restride/detail/ranks.hpp>
#include <restride/error.hpp>

#include "src/api/target.h"
#include "src/cuda/runtime/device.h"
#include "src/cuda/runtime/events.h"

namespace restride::detail {
namespace {

void check(int status, int device, const char* doing) {
  if (status != 0) throw DeviceError(fmt::format("cuda:{} failed at {}: {}", device, doing, cuda::error_text(status)));
}

}  // namespace

int cuda_device_of(const Options& options) {
  if (options.cuda_device == kModelDevice) return kModelDevice;
  const int device = options.cuda_device == kCurrentDevice ? cuda::current_device() : options.cuda_device;
  cuda::require_device(device);
  return device;
}

std::string why_not_on(DeviceKind device, int cuda_device, const void* pointer) {
  return api::refusal({device, cuda_device}, cuda::place_of(pointer));
}

void require_stream_of(int device, void* stream) {
  bool capturing = false;
  check(cuda::is_capturing(device, stream, &capturing), device, "asking for the stream");
  if (capturing)
    throw UnsupportedError(
        "the stream is being captured; a graph of one rank cannot wait for the others' streams: run the exchange "
        "outside of the capture");
  const int of_stream = cuda::device_of_stream(stream);
  if (of_stream >= 0 && of_stream != device)
    throw DeviceError(fmt::format(
        "the stream is one of cuda:{}, the plan is for cuda:{}; make a stream while the plan's device is current",
        of_stream, device));
}

void enable_peer_access(int device, int peer) {
  if (const int status = cuda::enable_peer_access(device, peer); status != 0)
    throw DeviceError(
        fmt::format("cuda:{} does not reach the memory of cuda:{}: {}; take devices that reach each other, as "
                    "`nvidia-smi topo -p2p w` tells, or exchange memory of the host",
                    device, peer, cuda::error_text(status)));
}

StreamEvent::StreamEvent(int device) : device_(device) {
  check(cuda::make_event(device, &event_), device, "making an event");
}
StreamEvent::~StreamEvent() { cuda::destroy_event(event_); }

void StreamEvent::record(void* stream) {
  check(cuda::record_event(device_, event_, stream), device_, "recording an event");
}

void StreamEvent::make_wait(int device, void* stream) const {
  check(cuda::wait_for_event(device, event_, stream), device, "waiting for another rank's event");
}

LinkStream::LinkStream(int device) : device_(device) {
  check(cuda::make_link(device, &link_), device, "making a stream");
}
LinkStream::~LinkStream() { cuda::destroy_link(device_, link_); }
void* LinkStream::stream() const noexcept { return cuda::stream_of_link(link_); }

bool is_finished(int device, void* stream) {
  bool finished = false;
  check(cuda::is_finished(device, stream, &finished), device, "work that was enqueued before");
  return finished;
}

SharedMemory share_memory(int device, const void* inside, const void* pointer) {
  static_assert(sizeof(SharedMemory::handle) == cuda::kSharedHandleBytes);
  SharedMemory out;
  void* base = nullptr;
  check(cuda::share_memory(device, inside, out.handle.data(), &base), device,
        "sharing memory with other processes, which takes memory of cudaMalloc (of ncclMemAlloc or a pool: plan with "
        "NCCL and Method::kMessages, which takes any)");
  out.offset = static_cast<const std::byte*>(pointer) - static_cast<std::byte*>(base);
  return out;
}

MappedMemory::MappedMemory(int device, const SharedMemory& memory) : device_(device) {
  void* base = nullptr;
  check(cuda::map_memory(device, memory.handle.data(), &base), device,
        "mapping memory of another process, which takes GPUs that reach each other");
  base_ = static_cast<std::byte*>(base);
}
MappedMemory::~MappedMemory() { cuda::unmap_memory(device_, base_); }

void require_launched(int status, int device) { check(status, device, "a copy"); }

}  // namespace restride::detail
