// Memory to try a copy on, and a clock for it, on either kind of device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace restride::base {

/// Bytes [first, last) around a data pointer, and what divides the pointer.
struct ScratchSide {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t align = 1;
};

/// One buffer a side; src holds bytes that look random, so that neither hardware nor checks are fooled by zeros.
class Scratch {
 public:
  /// Enqueues one copy on a stream (null on the CPU); returns 0 or an error code.
  using Copy = std::function<int(void* stream)>;

  virtual ~Scratch() = default;
  /// The data pointers: aligned as promised, and no better.
  virtual void* dst() const noexcept = 0;
  virtual const void* src() const noexcept = 0;
  /// Runs the copy `repeats` times, one behind the other; nanoseconds for one. Errors: DeviceError.
  virtual double time_ns(const Copy& copy, int repeats) = 0;
  /// Overwrites dst, runs the copy once, and returns a hash of all bytes of dst. Errors: DeviceError.
  virtual std::uint64_t fingerprint(const Copy& copy) = 0;
};

/// Where the data pointer lies when its side's bytes start at a multiple of 256 plus the returned shift: at an
/// address that `align` divides and twice `align` does not.
inline std::int64_t shift_for(const ScratchSide& side) noexcept {
  const std::int64_t wanted = side.align >= 256 ? 0 : side.align;  // modulo 256, of the data pointer
  return (((wanted + side.first) % 256) + 256) % 256;
}

/// Pseudo-random filling, and a hash for bytes that come in pieces.
void fill_noise(void* data, std::int64_t bytes) noexcept;
std::uint64_t hash_bytes(std::uint64_t seed, const void* data, std::int64_t bytes) noexcept;

}  // namespace restride::base
