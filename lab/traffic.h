// What one instruction of a warp asks of memory: 32-byte sectors of global memory, wavefronts of shared memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace restride::lab {

/// Per warp request, averaged; nothing where the rung makes no such request.
struct Traffic {
  std::optional<double> load_sectors;    ///< 32-byte sectors of global memory per load
  std::optional<double> store_sectors;   ///< ... per store
  std::optional<double> put_wavefronts;  ///< passes over the shared memory's banks per shared store
  std::optional<double> get_wavefronts;  ///< ... per shared load
  std::optional<double> put_conflicts;   ///< bank-conflict degree: passes over the fewest possible; 1 is free
  std::optional<double> get_conflicts;
};

/// The addresses of one instruction, lane by lane; lanes that sit out are not added.
class WarpAccess {
 public:
  void add(std::int64_t byte, int bytes) {
    byte_[lanes_] = byte;
    bytes_ = bytes;
    ++lanes_;
  }
  int lanes() const { return lanes_; }

  /// Distinct 32-byte sectors, given that the tensor starts on one.
  int sectors() const;

  /// Passes over the banks: the lanes go 128 bytes at a time (32 lanes of up to 4 bytes, 16 of 8, 8 of 16),
  /// each group as often as its busiest bank has distinct words. Lanes must be added in order.
  int wavefronts() const;
  /// The passes that no layout could avoid: one a group.
  int least_wavefronts() const;

 private:
  int lanes_a_wavefront() const { return bytes_ <= 4 ? 32 : 128 / bytes_; }

  std::array<std::int64_t, 32> byte_{};
  int bytes_ = 0;
  int lanes_ = 0;
};

/// Sums over many instructions; those in which every lane sits out are no requests.
class TrafficCounter {
 public:
  void add_sectors(const WarpAccess& access);
  void add_wavefronts(const WarpAccess& access);
  std::optional<double> mean() const;    ///< sectors or wavefronts per request
  std::optional<double> degree() const;  ///< wavefronts over the fewest possible

 private:
  std::int64_t requests_ = 0;
  std::int64_t sum_ = 0;
  std::int64_t least_ = 0;
};

}  // namespace restride::lab
