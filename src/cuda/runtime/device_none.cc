// A library without CUDA: there is no device, and it says why.
#include <restride/device.hpp>
#include <restride/error.hpp>

#include "src/cuda/runtime/device.h"
#include "src/cuda/runtime/events.h"
#include "src/cuda/runtime/pieces.h"
#include "src/cuda/runtime/scratch.h"

namespace restride {
namespace {
constexpr const char* kReason = "this library was built without CUDA; build it with RESTRIDE_CUDA=ON";
}  // namespace

CudaStatus cuda_status() {
  CudaStatus status;
  status.reason = kReason;
  return status;
}

namespace cuda {

Place place_of(const void* pointer) noexcept {
  return {pointer == nullptr ? MemoryKind::kNone : MemoryKind::kHost, -1};
}
int device_of_stream(void*) noexcept { return -1; }
int current_device() noexcept { return -1; }
void require_device(int) { throw DeviceError(std::string("no GPU: ") + kReason + ", or copy on the CPU"); }
CudaMachine machine_of(int) { return {}; }
bool has_bulk_copies(int) noexcept { return false; }
int run_cuda(int, const CudaArgs&, void*, const void*, void*) noexcept { return kNoDeviceError; }
int run_cuda_many(int, const CudaArgs&, const PointerPairs&, void*) noexcept { return kNoDeviceError; }
PointerBits bits_of(const void* const*, std::size_t) noexcept { return {}; }  // of no plan for a device
std::string error_text(int) { return kReason; }
std::unique_ptr<base::Scratch> scratch(int, const base::ScratchSide&, const base::ScratchSide&) {
  throw DeviceError(kReason);
}
int make_event(int, void**) noexcept { return kNoDeviceError; }
void destroy_event(void*) noexcept {}
int record_event(int, void*, void*) noexcept { return kNoDeviceError; }
int wait_for_event(int, void*, void*) noexcept { return kNoDeviceError; }
int make_link(int, void**) noexcept { return kNoDeviceError; }
void* stream_of_link(void*) noexcept { return nullptr; }
void destroy_link(int, void*) noexcept {}
int enable_peer_access(int, int) noexcept { return kNoDeviceError; }
int is_finished(int, void*, bool*) noexcept { return kNoDeviceError; }
int share_memory(int, const void*, void*, void**) noexcept { return kNoDeviceError; }
int map_memory(int, const void*, void**) noexcept { return kNoDeviceError; }
void unmap_memory(int, void*) noexcept {}
bool is_in_pieces(const void*) noexcept { return false; }
int find_pieces(int, const void*, const void*, std::vector<Piece>*) { return kNoDeviceError; }
int share_piece(int, const Piece&, int*) noexcept { return kNoDeviceError; }
int map_pieces(int, const int*, const std::int64_t*, std::size_t, void**) noexcept { return kNoDeviceError; }
void unmap_pieces(int, void*, const std::int64_t*, std::size_t) noexcept {}
int is_capturing(int, void*, bool*) noexcept { return kNoDeviceError; }

}  // namespace cuda
}  // namespace restride
