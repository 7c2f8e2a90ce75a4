// What restride_distributed asks librestride about memory and devices. Not for programs: it may change with any
// version.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <restride/copy.hpp>
#include <restride/detail/visibility.hpp>

namespace restride {
namespace detail RESTRIDE_PUBLIC {

/// The GPU that a plan with these options runs on; kModelDevice stays. Errors: DeviceError when there is none.
int cuda_device_of(const Options& options);

/// Why plans for `device`, a GPU's `cuda_device`, may not read and write at `pointer`: "is on cuda:1, but ...". Empty:
/// they may. Null is anywhere.
std::string why_not_on(DeviceKind device, int cuda_device, const void* pointer);

/// Throws DeviceError when the stream is one of another device, as far as that can be told, and UnsupportedError
/// while it is being captured.
void require_stream_of(int device, void* stream);

/// Lets kernels of `device` reach the memory of `peer`; both may be one. Errors: DeviceError.
void enable_peer_access(int device, int peer);

/// A place in the work of a stream of `device`, for streams of any device to wait for.
class StreamEvent {
 public:
  /// Errors: DeviceError.
  explicit StreamEvent(int device);
  ~StreamEvent();
  StreamEvent(const StreamEvent&) = delete;
  StreamEvent& operator=(const StreamEvent&) = delete;
  /// Behind all that was enqueued on `stream`, one of the event's device. Errors: DeviceError.
  void record(void* stream);
  /// What is enqueued on `stream`, one of `device`, from now on waits for what was recorded last. Errors: DeviceError.
  void make_wait(int device, void* stream) const;

 private:
  int device_;
  void* event_ = nullptr;
};

/// A stream of `device` for stores into other GPUs' memory, which has a part of the GPU to itself where the driver can
/// do so. Its end waits for its work.
class LinkStream {
 public:
  /// Errors: DeviceError.
  explicit LinkStream(int device);
  ~LinkStream();
  LinkStream(const LinkStream&) = delete;
  LinkStream& operator=(const LinkStream&) = delete;
  void* stream() const noexcept;

 private:
  int device_;
  void* link_ = nullptr;
};

/// Whether all that was enqueued on `stream`, one of `device`, is done. Errors: DeviceError.
bool is_finished(int device, void* stream);

/// The bytes from `first` to before `end`, of an allocation of a GPU; null: none.
struct MemoryRange {
  const std::byte* first = nullptr;
  const std::byte* end = nullptr;
};

/// Memory of a GPU as other processes of the host find it: an allocation, and a place from its base.
struct SharedMemory {
  std::array<std::byte, 64> handle{};
  std::int64_t offset = 0;  ///< of a pointer, in bytes
  /// Memory that CUDA IPC does not share, mapped by the driver's own calls, as by ncclMemAlloc. The handle is its name
  /// alone; a process maps it by the descriptors of its pieces.
  bool is_in_pieces() const noexcept;
};
/// `range` lies in the allocation, `pointer` need not. Errors: DeviceError.
SharedMemory share_memory(int device, const MemoryRange& range, const void* pointer);

/// File descriptors of a memory's pieces, closed at the end.
class SharedPieces {
 public:
  SharedPieces() = default;
  SharedPieces(SharedPieces&& other) noexcept { swap(other); }
  SharedPieces& operator=(SharedPieces&& other) noexcept {
    swap(other);
    return *this;
  }
  ~SharedPieces();
  /// Takes the descriptor.
  void add(int descriptor, std::int64_t bytes);
  void append(SharedPieces&& more);
  std::size_t size() const noexcept { return descriptors_.size(); }
  const std::vector<int>& descriptors() const noexcept { return descriptors_; }
  const std::vector<std::int64_t>& bytes() const noexcept { return bytes_; }

 private:
  void swap(SharedPieces& other) noexcept {
    descriptors_.swap(other.descriptors_);
    bytes_.swap(other.bytes_);
  }
  std::vector<int> descriptors_;
  std::vector<std::int64_t> bytes_;
};
/// How many pieces `range` lies in, and new descriptors of up to `most` of them from `from` on. Errors: DeviceError.
std::size_t share_pieces(int device, const MemoryRange& range, std::size_t from, std::size_t most, SharedPieces* out);

/// An allocation of another process, mapped for kernels of `device`.
class MappedMemory {
 public:
  /// `pieces`: all of memory that is in pieces. Errors: DeviceError.
  MappedMemory(int device, const SharedMemory& memory, const SharedPieces& pieces);
  ~MappedMemory();
  MappedMemory(const MappedMemory&) = delete;
  MappedMemory& operator=(const MappedMemory&) = delete;
  std::byte* base() const noexcept { return base_; }

 private:
  int device_;
  std::byte* base_ = nullptr;
  std::vector<std::int64_t> pieces_;  ///< their bytes
};

/// Throws DeviceError for what Plan::run returned, unless that is 0.
void require_launched(int status, int device);

}  // namespace detail
}  // namespace restride
