#include "tests/support/allocations.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace restride::test {
namespace {

std::atomic<std::size_t> live{0}, peak{0};
thread_local std::size_t until_failure = 0;  // 0: none is to fail
thread_local bool has_failed = false;

/// The memory, or null.
void* allocate(std::size_t bytes, std::size_t align) noexcept {
  if (until_failure == 1) {
    has_failed = true;
    return nullptr;
  }
  if (until_failure > 1) --until_failure;
  void* p = align > alignof(std::max_align_t) ? std::aligned_alloc(align, (bytes + align - 1) / align * align)
                                              : std::malloc(std::max<std::size_t>(bytes, 1));
  if (p == nullptr) return nullptr;
  const std::size_t now = live += ::malloc_usable_size(p);
  std::size_t most = peak;
  while (most < now && !peak.compare_exchange_weak(most, now)) {
  }
  return p;
}

void* allocate_or_throw(std::size_t bytes, std::size_t align) {
  void* p = allocate(bytes, align);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

void release(void* p) noexcept {
  if (p != nullptr) live -= ::malloc_usable_size(p);
  std::free(p);
}

constexpr std::size_t kPlain = alignof(std::max_align_t);

}  // namespace

std::size_t live_bytes() noexcept { return live; }
std::size_t peak_bytes() noexcept { return peak; }
void forget_peak() noexcept { peak = live.load(); }

NoMemoryFrom::NoMemoryFrom(std::size_t nth) noexcept {
  has_failed = false;
  until_failure = nth;
}
NoMemoryFrom::~NoMemoryFrom() { until_failure = 0; }
bool NoMemoryFrom::failed() const noexcept { return has_failed; }

}  // namespace restride::test

using restride::test::allocate;
using restride::test::allocate_or_throw;
using restride::test::kPlain;
using restride::test::release;

void* operator new(std::size_t n) { return allocate_or_throw(n, kPlain); }
void* operator new[](std::size_t n) { return allocate_or_throw(n, kPlain); }
void* operator new(std::size_t n, std::align_val_t a) { return allocate_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return allocate_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, kPlain); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, kPlain); }
void operator delete(void* p) noexcept { release(p); }
void operator delete[](void* p) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t) noexcept { release(p); }
void operator delete(void* p, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { release(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { release(p); }
