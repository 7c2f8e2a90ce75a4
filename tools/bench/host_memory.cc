#include "tools/bench/host_memory.h"

#include <sys/mman.h>

#include <cstring>

#include <fmt/format.h>

#include <restride/error.hpp>

#include "tools/huge_pages.h"

namespace restride::bench {

HostMemory::~HostMemory() { release(); }

void HostMemory::release() noexcept {
  if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(size_));
  data_ = nullptr;
  size_ = 0;
}

void HostMemory::reserve(std::int64_t bytes) {
  if (bytes <= size_) return;
  release();
  void* memory =
      mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw MemoryError(fmt::format("no {} MiB of memory for the buffers that are timed", bytes >> 20));
  ask_kind(memory, static_cast<std::size_t>(bytes));
  data_ = static_cast<std::byte*>(memory);
  size_ = bytes;
  std::memset(data_, 1, static_cast<std::size_t>(bytes));
}

void HostMemory::ask_kind(void* begin, std::size_t bytes) const noexcept {
  if (pages_ == Pages::kHuge) tools::ask_huge_pages(begin, bytes);
#ifdef MADV_NOHUGEPAGE
  if (pages_ != Pages::kHuge) madvise(begin, bytes, MADV_NOHUGEPAGE);
#endif
}

void HostMemory::forget(std::byte* begin, std::int64_t bytes) const noexcept {
  constexpr std::uintptr_t kPage = 4096;
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = (at + kPage - 1) / kPage * kPage;
  const std::uintptr_t last = (at + static_cast<std::uintptr_t>(bytes)) / kPage * kPage;
  if (first >= last) return;
  void* pages = static_cast<std::byte*>(begin) + (first - at);
  madvise(pages, last - first, MADV_DONTNEED);
  ask_kind(pages, last - first);
}

void fill_random(std::span<std::byte> memory, std::uint64_t seed) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101u;
  constexpr std::uint64_t kPoisons = kOnes * 0xA5;
  std::uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (std::size_t at = 0; at < memory.size(); at += 8) {
    // splitmix64 (Steele, Lea, Flood 2014)
    std::uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    // Bytes equal to kPoison get their lowest bit flipped: `zero` has the top bit of each byte that is zero.
    const std::uint64_t x = z ^ kPoisons;
    const std::uint64_t zero = ~(((x & (kOnes * 0x7F)) + kOnes * 0x7F) | x | (kOnes * 0x7F));
    z ^= zero >> 7;
    std::memcpy(memory.data() + at, &z, memory.size() - at < 8 ? memory.size() - at : 8);
  }
}

bool all_poison(std::span<const std::byte> memory) noexcept {
  if (memory.empty()) return true;
  if (memory[0] != kPoison) return false;
  return std::memcmp(memory.data(), memory.data() + 1, memory.size() - 1) == 0;
}

}  // namespace restride::bench
