// What a test program allocates by operator new: counted, and refused on demand. allocations.cc, linked into the
// program, takes operator new's place.
#pragma once

#include <cstddef>
#include <new>

namespace restride::test {

/// Bytes allocated and not freed; the most that there were since the last call of forget_peak.
std::size_t live_bytes() noexcept;
std::size_t peak_bytes() noexcept;
void forget_peak() noexcept;

/// While it lives, this thread's n-th allocation and all behind it fail, as where a limit is reached.
class NoMemoryFrom {
 public:
  explicit NoMemoryFrom(std::size_t nth) noexcept;
  ~NoMemoryFrom();
  NoMemoryFrom(const NoMemoryFrom&) = delete;
  NoMemoryFrom& operator=(const NoMemoryFrom&) = delete;
  bool failed() const noexcept;  ///< an allocation
};

/// Runs `body` without memory from its first allocation on, from its second on, and so on, until it needs no more. It
/// returns true where it told of the failure, or throws bad_alloc. Answers how many runs failed, 0: one kept silent.
template <class Body>
std::size_t failures_told(Body&& body) {
  for (std::size_t nth = 1;; ++nth) {
    bool told = false, failed = false;
    try {
      const NoMemoryFrom limit(nth);
      struct Look {
        const NoMemoryFrom& limit;
        bool& failed;
        ~Look() { failed = limit.failed(); }
      } const look{limit, failed};
      told = body();
    } catch (const std::bad_alloc&) {
      told = true;
    }
    if (!failed) return nth - 1;
    if (!told) return 0;
  }
}

}  // namespace restride::test
