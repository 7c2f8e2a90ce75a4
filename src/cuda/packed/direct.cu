// Moves         words of dst whose units lie near each other in src: small matrices, a few planes, rows that start off
//               words or go backwards.
// Applies when  dst is one dense run of at most 4 modes, and what a warp writes lies in few lines of src.
// Thread map    one 16-byte word of dst a thread, side by side; its units are loaded one by one, all before the store.
// Shared memory none: threads that want units of one sector meet in the first cache, without waiting for each other.
// Traffic       every byte once each way; a line that two blocks want is read from L2 the second time.
// Source        what torch.compile makes of such copies, with divisions known when a plan is made.
#include "src/cuda/device.cuh"
#include "src/cuda/dispatch.cuh"
#include "src/cuda/packed/direct_map.h"
#include "src/cuda/packed/packed.h"

namespace restride::cuda {
namespace {

template <int kUnit, int kRank>
__global__ void __launch_bounds__(kDirectThreads)
    packed_direct_kernel(const __grid_constant__ DirectArgs a, char* dst, const char* src) {
  constexpr int kUnits = 16 / kUnit;
  dst += a.dst_offset;
  src += a.src_offset;
  const auto word = static_cast<std::int32_t>(blockIdx.x * kDirectThreads + threadIdx.x);
  const int first = word * kUnits - nibble(dst) / kUnit;
  if (first >= a.units) return;
  DirectUnit<kRank> at = direct_unit<kRank>(a, max(first, 0));
  char* const to = dst + std::int64_t{first} * kUnit;
  if (first >= 0 && first <= a.units - kUnits) {
    const char* from[kUnits];
#pragma unroll
    for (int j = 0; j < kUnits; ++j) {
      from[j] = src + at.src;
      if (j + 1 < kUnits) direct_next<kRank>(a, at);
    }
    const std::uint64_t policy = source_policy(a.keep);
    Bits<kUnit> units[kUnits];
#pragma unroll
    for (int j = 0; j < kUnits; ++j) units[j] = load_under<kUnit>(policy, from[j]);
    store<16>(to, join<kUnit, kUnits>(units));
    return;
  }
#pragma unroll 1
  for (int j = max(-first, 0); j < min(kUnits, a.units - first); ++j, direct_next<kRank>(a, at))
    store<kUnit>(to + j * kUnit, load<kUnit>(src + at.src));
}

}  // namespace

int launch_packed_direct(const CudaArgs& args, const Launch& on) noexcept {
  const auto& a = std::get<DirectArgs>(args.args);
  return with_size<4, 8>(args.units.dst, [&]<int kUnit>() {
    return with_size<2, 3, 4>(a.rank, [&]<int kRank>() {
      return enqueue(packed_direct_kernel<kUnit, kRank>, a, on, a.blocks, kDirectThreads);
    });
  });
}

}  // namespace restride::cuda
