// Where memory lies, as copies see it. No CUDA headers.
#pragma once

#include <cstdint>

namespace restride::cuda {

/// Memory as copies see it. kNone: a null pointer, which goes anywhere. kPinned: host memory that CUDA registered,
/// reachable from a GPU over the bus. kManaged: reachable from both sides.
enum class MemoryKind : std::uint8_t { kNone, kHost, kPinned, kDevice, kManaged };

struct Place {
  MemoryKind kind = MemoryKind::kHost;
  int device = -1;  ///< CUDA's number, for kDevice
  friend constexpr bool operator==(const Place&, const Place&) = default;
};

}  // namespace restride::cuda
