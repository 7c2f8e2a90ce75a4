// Memory that lies in pieces: physical memory mapped by the driver's own calls (cuMemMap), as ncclMemAlloc and growing
// allocators make it. CUDA IPC does not share such memory; the driver shares each piece by a file descriptor. No CUDA
// headers; pieces.cc implements it, device_none.cc answers for a library built without CUDA. All return a cudaError_t
// and leave the caller's device and last error as they were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace restride::cuda {

struct Piece {
  void* start = nullptr;
  std::int64_t bytes = 0;
  std::uint64_t number = 0;  ///< of the physical memory, in this process
};

/// Whether `pointer` lies in memory of a pool or one that was mapped by the driver's calls.
bool is_in_pieces(const void* pointer) noexcept;
/// The pieces that [first, end) lies in, in order. Fails where it is not mapped as a whole, or where a piece was made
/// without descriptors: cudaErrorNotSupported.
int find_pieces(int device, const void* first, const void* end, std::vector<Piece>* out);
/// A new descriptor of a piece, the caller's to close.
int share_piece(int device, const Piece& piece, int* descriptor) noexcept;
/// Maps pieces of another process behind each other for kernels of `device`; the descriptors stay the caller's.
int map_pieces(int device, const int* descriptors, const std::int64_t* bytes, std::size_t pieces, void** base) noexcept;
void unmap_pieces(int device, void* base, const std::int64_t* bytes, std::size_t pieces) noexcept;

}  // namespace restride::cuda
