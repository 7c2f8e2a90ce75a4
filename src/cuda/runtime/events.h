// Streams of several devices that wait for each other, and devices and processes that reach each other's memory. No
// CUDA headers; events.cc implements it, device_none.cc answers for a library built without CUDA. All return a
// cudaError_t and leave the caller's device and last error as they were.
#pragma once

#include <cstddef>

namespace restride::cuda {

/// An event without timing.
int make_event(int device, void** event) noexcept;
void destroy_event(void* event) noexcept;
/// `stream` is one of `device`, the event's.
int record_event(int device, void* event, void* stream) noexcept;
/// `stream` is one of `device`; the event may be another's.
int wait_for_event(int device, void* event, void* stream) noexcept;

/// A stream for stores into other GPUs' memory (link_stream.h), as a handle.
int make_link(int device, void** link) noexcept;
void* stream_of_link(void* link) noexcept;
/// Waits for its work.
void destroy_link(int device, void* link) noexcept;

/// Lets kernels of `device` reach the memory of `peer`; not an error when they do already.
int enable_peer_access(int device, int peer) noexcept;

/// Whether all that was enqueued on a stream of `device` is done. Does not wait.
int is_finished(int device, void* stream, bool* finished) noexcept;

inline constexpr std::size_t kSharedHandleBytes = 64;

/// A handle by which other processes of the host map the allocation that `pointer` lies in, and its base.
int share_memory(int device, const void* pointer, void* handle, void** base) noexcept;
/// Maps it for `device`; a handle may be mapped several times.
int map_memory(int device, const void* handle, void** base) noexcept;
void unmap_memory(int device, void* base) noexcept;

/// Whether the stream is being captured into a graph.
int is_capturing(int device, void* stream, bool* capturing) noexcept;

}  // namespace restride::cuda
