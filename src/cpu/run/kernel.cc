#include "src/cpu/no_byte_permutes.h"  // first

#include "src/cpu/run/kernel.h"

#include <algorithm>

#include "src/cpu/costs.h"

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

/// Two runs, a line of each in turn.
void move_two(std::uint8_t* HWY_RESTRICT to_a, const std::uint8_t* HWY_RESTRICT a, std::uint8_t* HWY_RESTRICT to_b,
              const std::uint8_t* HWY_RESTRICT b, std::size_t bytes) {
  const hn::CappedTag<std::uint8_t, 32> d;
  const std::size_t n = hn::Lanes(d), step = 2 * n;
  std::size_t i = 0;
  for (; i + step <= bytes; i += step) {
    const auto a0 = hn::LoadU(d, a + i), a1 = hn::LoadU(d, a + i + n);
    const auto b0 = hn::LoadU(d, b + i), b1 = hn::LoadU(d, b + i + n);
    hn::StoreU(a0, d, to_a + i);
    hn::StoreU(a1, d, to_a + i + n);
    hn::StoreU(b0, d, to_b + i);
    hn::StoreU(b1, d, to_b + i + n);
  }
  std::memcpy(to_a + i, a + i, bytes - i);
  std::memcpy(to_b + i, b + i, bytes - i);
}

void run_pairs(const RunArgs& args, void* const* dst, std::int64_t dst_offset, const void* const* src,
               std::int64_t src_offset, std::int64_t count) noexcept {
  const auto bytes = static_cast<std::size_t>(args.tasks * args.dst_unit);
  const auto to = [&](std::int64_t i) { return moved(static_cast<std::uint8_t*>(dst[i]), dst_offset); };
  const auto from = [&](std::int64_t i) { return moved(static_cast<const std::uint8_t*>(src[i]), src_offset); };
  const hn::ScalableTag<std::uint8_t> d;
  const std::int64_t most = hn::Lanes(d) < kLine ? kSizes.run_paired_bytes : kSizes.run_paired_wide_bytes;
  std::int64_t i = 0;
  if (static_cast<std::int64_t>(bytes) <= most)
    for (; i + 1 < count; i += 2) move_two(to(i), from(i), to(i + 1), from(i + 1), bytes);
  for (; i < count; ++i) std::memcpy(to(i), from(i), bytes);
}

}  // namespace

KernelCode<RunArgs> pick_run() { return run; }
PairsCode pick_run_pairs() { return run_pairs; }

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace restride::cpu {
HWY_EXPORT(pick_run);
HWY_EXPORT(pick_run_pairs);
KernelCode<RunArgs> run_kernel() noexcept { return HWY_DYNAMIC_DISPATCH(pick_run)(); }
PairsCode run_pairs_kernel() noexcept { return HWY_DYNAMIC_DISPATCH(pick_run_pairs)(); }
}  // namespace restride::cpu
#endif
