// Host memory for benchmarks: page-aligned, touched, in small pages, so that every run sees the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace restride::bench {

/// A mapping that grows and is kept from case to case, because touching fresh pages costs more than copying.
/// Huge pages are declined: most callers' tensors do not lie in them, and a benchmark must not depend on luck.
class HostMemory {
 public:
  HostMemory() = default;
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  /// Makes at least `bytes` available, every page touched. Earlier contents are lost when it grows.
  /// Errors: MemoryError.
  void reserve(std::int64_t bytes);
  std::byte* data() const noexcept { return data_; }
  std::int64_t size() const noexcept { return size_; }

 private:
  void release() noexcept;
  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
};

/// Fills memory with reproducible bytes that never equal kPoison, so that an element nobody wrote shows.
void fill_random(std::span<std::byte> memory, std::uint64_t seed) noexcept;

/// The byte outputs are filled with before a run.
inline constexpr std::byte kPoison{0xA5};

/// True when every byte is kPoison.
bool all_poison(std::span<const std::byte> memory) noexcept;

}  // namespace restride::bench
