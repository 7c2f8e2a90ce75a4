// Streams of several devices that wait for each other, and devices that reach each other's memory. No CUDA headers;
// events.cc implements it, device_none.cc answers for a library built without CUDA. All return a cudaError_t and leave
// the caller's device and last error as they were.
#pragma once

namespace restride::cuda {

/// An event without timing.
int make_event(int device, void** event) noexcept;
void destroy_event(void* event) noexcept;
/// `stream` is one of `device`, the event's.
int record_event(int device, void* event, void* stream) noexcept;
/// `stream` is one of `device`; the event may be another's.
int wait_for_event(int device, void* event, void* stream) noexcept;

/// Lets kernels of `device` reach the memory of `peer`; not an error when they do already.
int enable_peer_access(int device, int peer) noexcept;

/// Whether the stream is being captured into a graph.
int is_capturing(int device, void* stream, bool* capturing) noexcept;

}  // namespace restride::cuda
