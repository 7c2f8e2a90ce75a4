// Writing the runs of tiles, each by a writer of its own. Included once per instruction set.
#include <cstddef>
#include <cstdint>
#include <memory>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_SIMD_RUN_WRITERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_SIMD_RUN_WRITERS_INL_H_
#undef RESTRIDE_CPU_SIMD_RUN_WRITERS_INL_H_
#else
#define RESTRIDE_CPU_SIMD_RUN_WRITERS_INL_H_
#endif

#include "src/cpu/simd/writer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {

/// Enough for the planes of an image or the members of a record; and, where the next tile goes on with every run, for
/// most tiles' runs: their open lines still fit the first cache. Powers of two.
constexpr std::int64_t kWriters = 16;
constexpr std::int64_t kMostWriters = 256;

/// dst's runs, one a writer in turn: where the next tile's run goes on, so does its line.
class RunWriters {
 public:
  RunWriters(bool stream, bool runs_go_on) : count_(!stream ? 1 : runs_go_on ? kMostWriters : kWriters) {
    std::uninitialized_fill_n(writers(), count_, Writer(stream));
  }
  /// n bytes to `to`, the next of this run; 64 more may be read. Not inlined: every way of making a tile ends here.
  HWY_NOINLINE void write(std::int64_t run, std::uint8_t* to, const std::uint8_t* HWY_RESTRICT from, std::size_t n) {
    writers()[run & (count_ - 1)].write_padded(to, from, n);
  }
  void leave() {
    for (std::int64_t i = 0; i < count_; ++i) writers()[i].leave();
  }

 private:
  Writer* writers() { return reinterpret_cast<Writer*>(room_); }

  std::int64_t count_;
  /// Aligned, so that the lines of the first 42 are within a page each.
  static_assert(42 * sizeof(Writer) <= 2 * kPage && sizeof(Writer) == 3 * kLine);
  alignas(kPage) std::byte room_[kMostWriters * sizeof(Writer)];
};

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
