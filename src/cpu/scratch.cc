#include <chrono>
#include <cstddef>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include <restride/error.hpp>

#include "src/cpu/scratch.h"

namespace restride::base {

void fill_noise(void* data, std::int64_t bytes) noexcept {
  auto* out = static_cast<std::uint8_t*>(data);
  std::uint64_t state = 1;
  for (std::int64_t i = 0; i < bytes; i += 8) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::uint64_t word = state ^ (state >> 31);
    std::memcpy(out + i, &word, static_cast<std::size_t>(bytes - i < 8 ? bytes - i : 8));
  }
}

std::uint64_t hash_bytes(std::uint64_t seed, const void* data, std::int64_t bytes) noexcept {
  const auto* in = static_cast<const std::uint8_t*>(data);
  std::uint64_t h = seed ^ 0x9e3779b97f4a7c15ULL;
  for (std::int64_t i = 0; i < bytes; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, in + i, static_cast<std::size_t>(bytes - i < 8 ? bytes - i : 8));
    h = (h ^ word) * 0xff51afd7ed558ccdULL;
    h ^= h >> 32;
  }
  return h;
}

}  // namespace restride::base

namespace restride::cpu {
namespace {

using base::Scratch;
using base::ScratchSide;

constexpr std::align_val_t kAlign{256};

struct Free {
  void operator()(std::byte* p) const noexcept { ::operator delete(p, kAlign); }
};
using Bytes = std::unique_ptr<std::byte, Free>;

Bytes allocate(const ScratchSide& side) {
  const std::int64_t bytes = side.last - side.first + 512;
  void* memory = ::operator new(static_cast<std::size_t>(bytes), kAlign, std::nothrow);
  if (memory == nullptr)
    throw MemoryError(
        fmt::format("no memory for {} bytes of a tensor while measuring; free some, or plan without measuring", bytes));
  return Bytes(static_cast<std::byte*>(memory));
}

class CpuScratch final : public Scratch {
 public:
  CpuScratch(const ScratchSide& dst, const ScratchSide& src)
      : dst_side_(dst), dst_(allocate(dst)), src_(allocate(src)) {
    base::fill_noise(src_.get(), src.last - src.first + 512);
    std::memset(dst_.get(), 0, static_cast<std::size_t>(dst.last - dst.first + 512));
    dst_first_ = dst_.get() + base::shift_for(dst);
    src_data_ = src_.get() + base::shift_for(src) - src.first;
  }
  void* dst() const noexcept override { return dst_first_ - dst_side_.first; }
  const void* src() const noexcept override { return src_data_; }

  double time_ns(const Copy& copy, int repeats) override {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < repeats; ++i) (void)copy(nullptr);
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / repeats;
  }

  std::uint64_t fingerprint(const Copy& copy) override {
    const std::int64_t bytes = dst_side_.last - dst_side_.first;
    std::memset(dst_first_, 0xa5, static_cast<std::size_t>(bytes));
    (void)copy(nullptr);
    return base::hash_bytes(0, dst_first_, bytes);
  }

 private:
  ScratchSide dst_side_;
  Bytes dst_, src_;
  std::byte* dst_first_ = nullptr;
  std::byte* src_data_ = nullptr;
};

}  // namespace

std::unique_ptr<Scratch> scratch(const ScratchSide& dst, const ScratchSide& src) {
  return std::make_unique<CpuScratch>(dst, src);
}

}  // namespace restride::cpu
