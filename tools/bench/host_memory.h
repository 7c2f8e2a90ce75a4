// Host memory for benchmarks: page-aligned, touched, in pages of a stated kind, so that every run sees the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace restride::bench {

/// What is asked of the kernel. Small is the default of a benchmark: most callers' tensors lie in small pages. NumPy
/// asks for huge ones for arrays of 4 MiB and more.
enum class Pages { kSmall, kHuge };

/// A mapping that grows and is kept from case to case, because touching fresh pages costs more than copying.
/// The kind of page is always asked for: a benchmark must not depend on luck.
class HostMemory {
 public:
  explicit HostMemory(Pages pages = Pages::kSmall) : pages_(pages) {}
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  /// Makes at least `bytes` available, every page touched. Earlier contents are lost when it grows.
  /// Errors: MemoryError.
  void reserve(std::int64_t bytes);
  /// Gives the whole pages inside [begin, begin + bytes) back: the next access finds fresh ones, of zeros, and of this
  /// memory's kind, whatever was asked for them in between.
  void forget(std::byte* begin, std::int64_t bytes) const noexcept;
  std::byte* data() const noexcept { return data_; }
  std::int64_t size() const noexcept { return size_; }

 private:
  void release() noexcept;
  void ask_kind(void* begin, std::size_t bytes) const noexcept;
  Pages pages_;
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
