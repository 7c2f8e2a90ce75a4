#include "src/cpu/no_byte_permutes.h"  // first

#include "src/cpu/run/kernel.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/cpu/run/kernel.cc"
#include <hwy/foreach_target.h>
#include "src/cpu/simd/strands-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace {

/// Bytes of the wider side that a strand of the run is long.
constexpr std::int64_t kStrandBytes = 64 << 10;

void stream_run(const RunArgs& a, std::uint8_t* dst, const std::uint8_t* src, std::int64_t units) {
  const std::int64_t strand = kStrandBytes / std::max(a.dst_unit, a.src_unit);
  for (std::int64_t i = 0; i < units;) {
    Strand strands[kStrands];
    int count = 0;
    for (; count < strands_at_once(a) && i < units; ++count) {
      // The first strand of all ends on a line, so that the others are whole ones.
      const auto off =
          static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(dst + i * a.dst_unit) % kLine) / a.dst_unit;
      const std::int64_t n = std::min(strand - off, units - i);
      strands[count] = {dst + i * a.dst_unit, src + i * a.src_unit, n};
      i += n;
    }
    move_strands(a, strands, count);
  }
  hwy::FlushStream();
}

void run(const RunArgs& a, std::byte* dst_base, const std::byte* src_base, std::int64_t begin,
         std::int64_t end) noexcept {
  auto* dst = reinterpret_cast<std::uint8_t*>(dst_base) + begin * a.dst_unit;
  const auto* src = reinterpret_cast<const std::uint8_t*>(src_base) + begin * a.src_unit;
  const std::int64_t units = end - begin;
  if (a.stream)
    stream_run(a, dst, src, units);
  else if (a.cast_run != nullptr)
    a.cast_run(dst, src, static_cast<std::size_t>(units));
  else
    std::memcpy(dst, src, static_cast<std::size_t>(units * a.dst_unit));
}

}  // namespace

KernelCode<RunArgs> pick_run() { return run; }

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace restride::cpu {
HWY_EXPORT(pick_run);
KernelCode<RunArgs> run_kernel() noexcept { return HWY_DYNAMIC_DISPATCH(pick_run)(); }
}  // namespace restride::cpu
#endif
