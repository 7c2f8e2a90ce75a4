#include "src/cuda/runtime/pieces.h"

#include <cuda_runtime_api.h>

#include <numeric>

#include "src/cuda/runtime/driver.h"
#include "src/cuda/runtime/scopes.h"

namespace restride::cuda {
namespace {

CUdeviceptr number_of(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

/// cudaError_t shares the values of CUresult.
int status_of(CUresult rc) { return static_cast<int>(rc); }

template <class T>
CUresult attribute(CUpointer_attribute which, const void* pointer, T* out) noexcept {
  void* data = out;
  return driver().pointer_attributes(1, &which, &data, number_of(pointer));
}

/// Leaves the thread with no context of its own making; mapping needs one.
template <class F>
int on_device(int device, const F& f) noexcept {
  const LastErrorGuard guard;
  const CurrentDevice current(device);
  if (current.status() != cudaSuccess) return current.status();
  if (!driver().pieces.is_complete()) return cudaErrorNotSupported;
  return f(driver().pieces);
}

/// Maps one piece at `at`. The memory stays as long as the mapping: the handle is given back at once.
CUresult map_piece(const Driver::Pieces& d, CUdeviceptr at, std::size_t bytes, int descriptor) noexcept {
  CUmemGenericAllocationHandle handle = 0;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a descriptor is handed over so
  void* shared = reinterpret_cast<void*>(static_cast<std::uintptr_t>(descriptor));
  if (const CUresult rc = d.import_handle(&handle, shared, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
      rc != CUDA_SUCCESS)
    return rc;
  const CUresult rc = d.map(at, bytes, 0, handle, 0);
  static_cast<void>(d.release(handle));
  return rc;
}

}  // namespace

bool is_in_pieces(const void* pointer) noexcept {
  int has_ipc = 1;
  return driver().pointer_attributes != nullptr &&
         attribute(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, pointer, &has_ipc) == CUDA_SUCCESS && has_ipc == 0;
}

int find_pieces(int device, const void* first, const void* end, std::vector<Piece>* out) {
  out->clear();
  return on_device(device, [&](const Driver::Pieces&) -> int {
    for (const auto* at = static_cast<const std::byte*>(first); at < static_cast<const std::byte*>(end);) {
      Piece piece;
      CUdeviceptr start = 0;
      std::size_t bytes = 0;
      std::uint64_t kinds = 0;
      void* pool = nullptr;
      for (const CUresult rc : {attribute(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, at, &start),
                                attribute(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, at, &bytes),
                                attribute(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, at, &piece.number),
                                attribute(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, at, &kinds),
                                attribute(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at, &pool)})
        if (rc != CUDA_SUCCESS) return status_of(rc);
      if (pool != nullptr || (kinds & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == 0) return cudaErrorNotSupported;
      if (bytes == 0) return cudaErrorInvalidValue;
      piece.start = pointer_to(start);
      piece.bytes = static_cast<std::int64_t>(bytes);
      at = static_cast<const std::byte*>(piece.start) + bytes;
      out->push_back(piece);
    }
    return cudaSuccess;
  });
}

int share_piece(int device, const Piece& piece, int* descriptor) noexcept {
  return on_device(device, [&](const Driver::Pieces& d) {
    CUmemGenericAllocationHandle handle = 0;
    if (const CUresult rc = d.retain(&handle, piece.start); rc != CUDA_SUCCESS) return status_of(rc);
    const CUresult rc = d.export_handle(descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    static_cast<void>(d.release(handle));
    return status_of(rc);
  });
}

int map_pieces(int device, const int* descriptors, const std::int64_t* bytes, std::size_t pieces,
               void** base) noexcept {
  return on_device(device, [&](const Driver::Pieces& d) {
    const auto all = static_cast<std::size_t>(std::accumulate(bytes, bytes + pieces, std::int64_t{0}));
    CUdeviceptr start = 0;
    if (const CUresult rc = d.reserve(&start, all, 0, 0, 0); rc != CUDA_SUCCESS) return status_of(rc);
    CUresult rc = CUDA_SUCCESS;
    std::size_t mapped = 0;
    CUdeviceptr at = start;
    for (; mapped < pieces; ++mapped) {
      const auto n = static_cast<std::size_t>(bytes[mapped]);
      if (rc = map_piece(d, at, n, descriptors[mapped]); rc != CUDA_SUCCESS) break;
      at += n;
    }
    if (rc == CUDA_SUCCESS) {
      const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
      rc = d.set_access(start, all, &access, 1);
    }
    if (rc == CUDA_SUCCESS) {
      *base = pointer_to(start);
    } else {
      at = start;
      for (std::size_t i = 0; i < mapped; at += static_cast<std::size_t>(bytes[i++]))
        static_cast<void>(d.unmap(at, static_cast<std::size_t>(bytes[i])));
      static_cast<void>(d.free_address(start, all));
    }
    return status_of(rc);
  });
}

void unmap_pieces(int device, void* base, const std::int64_t* bytes, std::size_t pieces) noexcept {
  static_cast<void>(on_device(device, [&](const Driver::Pieces& d) -> int {
    static_cast<void>(cudaDeviceSynchronize());
    CUdeviceptr at = number_of(base);
    for (std::size_t i = 0; i < pieces; at += static_cast<std::size_t>(bytes[i++]))
      static_cast<void>(d.unmap(at, static_cast<std::size_t>(bytes[i])));
    return status_of(d.free_address(number_of(base), at - number_of(base)));
  }));
}

}  // namespace restride::cuda
