#include "src/kernels/cpu/cast.h"

#include <cstring>
#include <type_traits>

#include "src/base/storage.h"
#include "src/kernels/cpu/cast_scalar.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/cpu/cast.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "src/kernels/cpu/cast_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128  // no vectors: nothing to gain

CastRun vector_run(DType, DType) { return nullptr; }

#else

/// Whether float carries a cast of Src to Dst without rounding twice; see cast_ops-inl.h.
template <class Dst, class Src>
constexpr bool through_float() {
  constexpr bool kDstInteger = std::is_integral_v<Dst> || std::is_same_v<Dst, base::Bool>;
  constexpr bool kSrcInteger = std::is_integral_v<Src> || std::is_same_v<Src, base::Bool>;
  if constexpr (std::is_same_v<Dst, Src> || (kDstInteger && kSrcInteger)) return false;  // integers wrap
  if constexpr (base::kIsComplex<Dst> || base::kIsComplex<Src>) return false;
  if constexpr (kDstInteger && sizeof(Dst) >= 4 && !std::is_same_v<Dst, std::int32_t>) return false;
  if constexpr (std::is_same_v<Src, double>) return !(kDstInteger && sizeof(Dst) >= 4);
  // What overflows before a float rounds an i32 may be rounded twice.
  if constexpr (std::is_same_v<Src, std::int32_t>)
    return std::is_same_v<Dst, float> || (base::kIsSmallFloat<Dst> && !std::is_same_v<Dst, base::BF16>);
  if constexpr (kSrcInteger && sizeof(Src) >= 4) return false;
  return true;
}

/// Vectors that one store of Dst takes at once.
template <class Dst>
constexpr std::size_t vectors_at_once() {
  if (HWY_HAVE_SCALABLE) return 1;
  if (sizeof(Dst) == 1) return 4;
  return std::is_same_v<Dst, base::BF16> ? 2 : 1;
}

/// Casts `vectors` vectors of elements.
template <class Dst, class Src, std::size_t vectors>
HWY_INLINE void cast_block(std::byte* dst, const std::byte* src) {
  constexpr bool kToOdd = std::is_same_v<Src, double> && !std::is_same_v<Dst, float>;
  using From = std::conditional_t<kToOdd, WidenToOdd, Widen<Src>>;
  const std::size_t step = hn::Lanes(Floats()) * sizeof(Src);
  if constexpr (vectors == 4)
    Narrow<Dst>::store(From::load(src), From::load(src + step), From::load(src + 2 * step), From::load(src + 3 * step),
                       dst);
  else if constexpr (vectors == 2)
    Narrow<Dst>::store(From::load(src), From::load(src + step), dst);
  else
    Narrow<Dst>::store(From::load(src), dst);
}

template <class Dst, class Src>
void cast_through_float(void* dst_data, const void* src_data, std::size_t n) {
  auto* dst = static_cast<std::byte*>(dst_data);
  const auto* src = static_cast<const std::byte*>(src_data);
  const std::size_t lanes = hn::Lanes(Floats());
  if (n == 0) return;
  if (n < lanes) {
    // Fewer than a vector: through padded copies of both sides.
    alignas(64) std::byte in[HWY_MAX_BYTES / sizeof(float) * sizeof(Src)] = {};
    alignas(64) std::byte out[HWY_MAX_BYTES / sizeof(float) * sizeof(Dst)];
    std::memcpy(in, src, n * sizeof(Src));
    cast_block<Dst, Src, 1>(out, in);
    std::memcpy(dst, out, n * sizeof(Dst));
    return;
  }
  constexpr std::size_t kVectors = vectors_at_once<Dst>();
  std::size_t i = 0;
  for (const std::size_t block = kVectors * lanes; i + block <= n; i += block)
    cast_block<Dst, Src, kVectors>(dst + i * sizeof(Dst), src + i * sizeof(Src));
  if constexpr (kVectors > 1)
    for (; i + lanes <= n; i += lanes) cast_block<Dst, Src, 1>(dst + i * sizeof(Dst), src + i * sizeof(Src));
  // The rest is the last whole vector, which writes some elements a second time with the same bits.
  if (i != n) cast_block<Dst, Src, 1>(dst + (n - lanes) * sizeof(Dst), src + (n - lanes) * sizeof(Src));
}

/// Complex numbers are pairs of floats.
template <class DstPart, class SrcPart>
void cast_complex(void* dst, const void* src, std::size_t n) {
  cast_through_float<DstPart, SrcPart>(dst, src, 2 * n);
}

struct VectorRun {
  template <class Dst, class Src>
  static constexpr CastRun get() {
    if constexpr (through_float<Dst, Src>())
      return &cast_through_float<Dst, Src>;
    else if constexpr (base::kIsComplex<Dst> && base::kIsComplex<Src> && !std::is_same_v<Dst, Src>)
      return &cast_complex<decltype(Dst::re), decltype(Src::re)>;
    else
      return nullptr;
  }
};

constexpr auto kVectorRuns = base::make_cast_table<CastRun, VectorRun>();

CastRun vector_run(DType dst, DType src) { return kVectorRuns(dst, src); }

#endif

}  // namespace

CastRun find_cast_run(DType dst, DType src) {
  const CastRun run = vector_run(dst, src);
  return run != nullptr ? run : cast_run_scalar(dst, src);
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace restride::kernels::cpu {
HWY_EXPORT(find_cast_run);
CastRun cast_run(DType dst, DType src) noexcept { return HWY_DYNAMIC_DISPATCH(find_cast_run)(dst, src); }
}  // namespace restride::kernels::cpu
#endif
