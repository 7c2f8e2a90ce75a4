#include "src/kernels/cpu/run.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/cpu/run.cc"
#include <hwy/foreach_target.h>
#include "src/kernels/cpu/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

/// Converts a piece, streams it, and meanwhile has the pieces to come on their way.
void convert_and_stream(const CpuArgs& a, std::uint8_t* dst, const std::uint8_t* src, std::size_t units) {
  constexpr std::size_t kAhead = 8192;  // bytes of source; measured best of 1 to 16 KiB
  alignas(64) std::uint8_t buffer[4096];
  const auto src_unit = static_cast<std::size_t>(a.src_unit);
  const auto dst_unit = static_cast<std::size_t>(a.dst_unit);
  const std::size_t at_once = sizeof buffer / std::max(dst_unit, src_unit);
  for (std::size_t i = 0; i < units; i += at_once) {
    const std::size_t n = std::min(at_once, units - i);
    for (std::size_t k = 0; k < n * src_unit; k += kLine) prefetch_to_l2(src + i * src_unit + k + kAhead);
    a.cast_run(buffer, src + i * src_unit, n);
    stream_bytes(dst + i * dst_unit, buffer, n * dst_unit);
  }
}

void run(const CpuArgs& a, std::byte* dst_base, const std::byte* src_base, std::int64_t begin, std::int64_t end) noexcept {
  auto* dst = reinterpret_cast<std::uint8_t*>(dst_base) + begin * a.dst_unit;
  const auto* src = reinterpret_cast<const std::uint8_t*>(src_base) + begin * a.src_unit;
  const auto units = static_cast<std::size_t>(end - begin);
  if (a.cast_run != nullptr) {
    if (a.stream) {
      // Start on a line so that every buffer's worth is whole lines.
      const auto off = reinterpret_cast<std::uintptr_t>(dst) % kLine;
      const std::size_t head = std::min(units, (kLine - off) % kLine / static_cast<std::size_t>(a.dst_unit));
      a.cast_run(dst, src, head);
      convert_and_stream(a, dst + head * static_cast<std::size_t>(a.dst_unit), src + head * static_cast<std::size_t>(a.src_unit),
                         units - head);
      hwy::FlushStream();
    } else {
      a.cast_run(dst, src, units);
    }
    return;
  }
  const std::size_t bytes = units * static_cast<std::size_t>(a.dst_unit);
  if (!a.stream) {
    std::memcpy(dst, src, bytes);
    return;
  }
  stream_bytes(dst, src, bytes);
  hwy::FlushStream();
}

}  // namespace

CpuKernel pick_run() { return run; }

}  // namespace HWY_NAMESPACE
}  // namespace restride::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace restride::kernels::cpu {
HWY_EXPORT(pick_run);
CpuKernel run_kernel() noexcept { return HWY_DYNAMIC_DISPATCH(pick_run)(); }
}  // namespace restride::kernels::cpu
#endif
