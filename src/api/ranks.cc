// What restride_distributed asks about memory and devices.
#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include <restride/detail/ranks.hpp>
#include <restride/error.hpp>

#include "src/api/target.h"
#include "src/cuda/runtime/device.h"
#include "src/cuda/runtime/events.h"
#include "src/cuda/runtime/pieces.h"

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

namespace {

constexpr std::array<char, 16> kInPieces = {"memory in piece"};  // what no handle of CUDA IPC begins with
constexpr const char* kFindingPieces =
    "finding the memory that other processes may map, which takes memory of cudaMalloc or of ncclMemAlloc, or other "
    "memory made with file descriptors to share (of a pool: plan with NCCL and Method::kMessages, which takes any)";

std::vector<cuda::Piece> pieces_of(int device, const MemoryRange& range) {
  std::vector<cuda::Piece> out;
  check(cuda::find_pieces(device, range.first, range.end, &out), device, kFindingPieces);
  return out;
}

}  // namespace

bool SharedMemory::is_in_pieces() const noexcept {
  return std::memcmp(handle.data(), kInPieces.data(), kInPieces.size()) == 0;
}

SharedMemory share_memory(int device, const MemoryRange& range, const void* pointer) {
  static_assert(sizeof(SharedMemory::handle) == cuda::kSharedHandleBytes);
  SharedMemory out;
  void* base = nullptr;
  if (cuda::is_in_pieces(range.first)) {
    const std::vector<cuda::Piece> pieces = pieces_of(device, range);
    std::uint64_t name = 14695981039346656037U;  // FNV-1a of the pieces' numbers
    for (const cuda::Piece& piece : pieces) name = (name ^ piece.number) * 1099511628211U;
    const std::uint64_t tail[] = {name, pieces.size(), pieces[0].number};
    std::memcpy(out.handle.data(), kInPieces.data(), kInPieces.size());
    std::memcpy(out.handle.data() + kInPieces.size(), tail, sizeof tail);
    base = pieces[0].start;
  } else {
    check(cuda::share_memory(device, range.first, out.handle.data(), &base), device,
          "sharing memory with other processes");
  }
  out.offset = static_cast<const std::byte*>(pointer) - static_cast<std::byte*>(base);
  return out;
}

SharedPieces::~SharedPieces() {
  for (const int descriptor : descriptors_) close(descriptor);
}

void SharedPieces::add(int descriptor, std::int64_t bytes) {
  bytes_.push_back(bytes);
  descriptors_.push_back(descriptor);
}

void SharedPieces::append(SharedPieces&& more) {
  for (std::size_t i = 0; i < more.size(); ++i) add(more.descriptors_[i], more.bytes_[i]);
  more.descriptors_.clear();
}

std::size_t share_pieces(int device, const MemoryRange& range, std::size_t from, std::size_t most, SharedPieces* out) {
  const std::vector<cuda::Piece> pieces = pieces_of(device, range);
  for (std::size_t i = from; i < std::min(from + most, pieces.size()); ++i) {
    int descriptor = -1;
    check(cuda::share_piece(device, pieces[i], &descriptor), device,
          "a file descriptor of memory, of which a process may have `ulimit -n`");
    out->add(descriptor, pieces[i].bytes);
  }
  return pieces.size();
}

MappedMemory::MappedMemory(int device, const SharedMemory& memory, const SharedPieces& pieces) : device_(device) {
  void* base = nullptr;
  const bool is_in_pieces = memory.is_in_pieces();
  check(is_in_pieces
            ? cuda::map_pieces(device, pieces.descriptors().data(), pieces.bytes().data(), pieces.size(), &base)
            : cuda::map_memory(device, memory.handle.data(), &base),
        device, "mapping memory of another process, which takes GPUs that reach each other");
  if (is_in_pieces) pieces_ = pieces.bytes();
  base_ = static_cast<std::byte*>(base);
}
MappedMemory::~MappedMemory() {
  if (pieces_.empty())
    cuda::unmap_memory(device_, base_);
  else
    cuda::unmap_pieces(device_, base_, pieces_.data(), pieces_.size());
}

void require_launched(int status, int device) { check(status, device, "a copy"); }

}  // namespace restride::detail
