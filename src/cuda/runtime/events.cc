#include "src/cuda/runtime/events.h"

#include <cuda_runtime_api.h>

#include <cstring>
#include <new>

#include "src/cuda/runtime/link_stream.h"
#include "src/cuda/runtime/scopes.h"

namespace restride::cuda {
namespace {

/// Calls f with the device current.
template <class F>
int on_device(int device, const F& f) noexcept {
  const LastErrorGuard guard;
  const CurrentDevice current(device);
  return current.status() == cudaSuccess ? f() : current.status();
}

}  // namespace

int make_event(int device, void** event) noexcept {
  return on_device(device, [&] {
    cudaEvent_t made = nullptr;
    const cudaError_t rc = cudaEventCreateWithFlags(&made, cudaEventDisableTiming);
    *event = made;
    return rc;
  });
}

void destroy_event(void* event) noexcept {
  const LastErrorGuard guard;
  (void)cudaEventDestroy(static_cast<cudaEvent_t>(event));
}

int record_event(int device, void* event, void* stream) noexcept {
  return on_device(device,
                   [&] { return cudaEventRecord(static_cast<cudaEvent_t>(event), static_cast<cudaStream_t>(stream)); });
}

int wait_for_event(int device, void* event, void* stream) noexcept {
  return on_device(device, [&] {
    return cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), static_cast<cudaEvent_t>(event), 0);
  });
}

int make_link(int device, void** link) noexcept {
  return on_device(device, [&] {
    auto* made = new (std::nothrow) LinkStream;
    if (made == nullptr) return cudaErrorMemoryAllocation;
    const cudaError_t rc = make_link_stream(device, made);
    if (rc == cudaSuccess)
      *link = made;
    else
      delete made;
    return rc;
  });
}

void* stream_of_link(void* link) noexcept { return static_cast<LinkStream*>(link)->stream; }

void destroy_link(int device, void* link) noexcept {
  if (link == nullptr) return;
  auto* made = static_cast<LinkStream*>(link);
  static_cast<void>(on_device(device, [&] {
    destroy_link_stream(*made);
    return cudaSuccess;
  }));
  delete made;
}

int enable_peer_access(int device, int peer) noexcept {
  if (device == peer) return cudaSuccess;
  return on_device(device, [&] {
    int can = 0;
    if (const cudaError_t rc = cudaDeviceCanAccessPeer(&can, device, peer); rc != cudaSuccess) return rc;
    if (can == 0) return cudaErrorPeerAccessUnsupported;
    const cudaError_t rc = cudaDeviceEnablePeerAccess(peer, 0);
    return rc == cudaErrorPeerAccessAlreadyEnabled ? cudaSuccess : rc;
  });
}

int is_finished(int device, void* stream, bool* finished) noexcept {
  return on_device(device, [&] {
    const cudaError_t rc = cudaStreamQuery(static_cast<cudaStream_t>(stream));
    *finished = rc == cudaSuccess;
    return rc == cudaErrorNotReady ? cudaSuccess : rc;
  });
}

static_assert(sizeof(cudaIpcMemHandle_t) == kSharedHandleBytes);

int share_memory(int device, const void* pointer, void* handle, void** base) noexcept {
  return on_device(device, [&]() -> int {
    CUdeviceptr start = 0;
    CUpointer_attribute which = CU_POINTER_ATTRIBUTE_RANGE_START_ADDR;
    void* data = &start;
    if (driver().pointer_attributes == nullptr) return cudaErrorNoDevice;
    if (const CUresult rc = driver().pointer_attributes(1, &which, &data, reinterpret_cast<CUdeviceptr>(pointer));
        rc != CUDA_SUCCESS)
      return static_cast<int>(rc);  // cudaError_t shares its values
    *base = pointer_to(start);
    return cudaIpcGetMemHandle(static_cast<cudaIpcMemHandle_t*>(handle), *base);
  });
}

int map_memory(int device, const void* handle, void** base) noexcept {
  return on_device(device, [&] {
    cudaIpcMemHandle_t theirs;
    std::memcpy(&theirs, handle, sizeof theirs);
    return cudaIpcOpenMemHandle(base, theirs, cudaIpcMemLazyEnablePeerAccess);
  });
}

void unmap_memory(int device, void* base) noexcept {
  (void)on_device(device, [&] { return cudaIpcCloseMemHandle(base); });
}

int is_capturing(int device, void* stream, bool* capturing) noexcept {
  return on_device(device, [&] {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaError_t rc = cudaStreamIsCapturing(static_cast<cudaStream_t>(stream), &status);
    *capturing = status != cudaStreamCaptureStatusNone;
    return rc;
  });
}

}  // namespace restride::cuda
