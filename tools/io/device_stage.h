// A GPU between two host buffers: parts of the input go up, are copied into a piece of the output, the piece comes
// down.
#pragma once

#include <cstdint>
#include <memory>

#include <restride/copy.hpp>

namespace restride::io {

class DeviceStage {
 public:
  /// Takes device memory for an output piece and for the bytes that an input part spans.
  /// `device` is CUDA's number or kCurrentDevice. Errors: DeviceError (no GPU, or CUDA fails), MemoryError.
  DeviceStage(std::uint64_t piece_bytes, std::uint64_t part_bytes, int device);
  ~DeviceStage();

  /// Copies `from`, in host memory, to the elements that `to` names in the piece on the device.
  /// The part's span (byte_range) must fit into part_bytes. Returns the seconds that measuring took in front of it.
  double copy_in(const Layout& to, const ConstTensor& from, const Options& options);
  /// Brings the first `bytes` of the piece to host memory, done on return.
  void download(void* to, std::uint64_t bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace restride::io
