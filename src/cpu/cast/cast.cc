#include "src/cpu/cast/cast.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "src/base/storage.h"
#include "src/cpu/cast/scalar.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/cpu/cast/cast.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "src/cpu/cast/bytes-inl.h"
#include "src/cpu/cast/ints-inl.h"
#include "src/cpu/cast/narrow-inl.h"
#include "src/cpu/cast/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128  // no vectors: nothing to gain

CastRun vector_run(DType, DType, bool) { return nullptr; }

#else

template <class T>
constexpr bool kIsInteger = std::is_integral_v<T> || std::is_same_v<T, base::Bool>;
template <class T>
constexpr bool kIsWide = std::is_integral_v<T> && sizeof(T) >= 4;

/// Through vectors of float. What float may round is read so that the second rounding does not matter: f64 to odd, as
/// base::convert does, and wide integers for bf16, which holds them all; elsewhere the large ones overflow.
template <class Dst, class Src>
struct ThroughFloat {
  static constexpr std::size_t kMaxLanes = HWY_MAX_BYTES / sizeof(float);
  /// Vectors that one store of Dst takes at once.
  static constexpr std::size_t kVectors = HWY_HAVE_SCALABLE                 ? 1
                                          : sizeof(Dst) == 1                ? 4
                                          : std::is_same_v<Dst, base::BF16> ? 2
                                                                            : 1;
  static HWY_INLINE std::size_t lanes() { return hn::Lanes(Floats()); }

  template <std::size_t vectors>
  static HWY_INLINE void convert(std::byte* dst, const std::byte* src) {
    constexpr bool kToOdd =
        std::is_same_v<Src, double> ? !std::is_same_v<Dst, float> : kIsWide<Src> && std::is_same_v<Dst, base::BF16>;
    using Once = std::conditional_t<std::is_same_v<Dst, float>, Widen<Src>, WidenBits<Src>>;
    using From = std::conditional_t<kToOdd, WidenToOdd<Src>, Once>;
    const std::size_t step = lanes() * sizeof(Src);
    if constexpr (vectors == 4)
      Narrow<Dst>::store(From::load(src), From::load(src + step), From::load(src + 2 * step),
                         From::load(src + 3 * step), dst);
    else if constexpr (vectors == 2)
      Narrow<Dst>::store(From::load(src), From::load(src + step), dst);
    else
      Narrow<Dst>::store(From::load(src), dst);
  }
};

/// Between f64 and the wide integers.
template <class Dst, class Src>
struct ThroughDouble {
  static constexpr std::size_t kMaxLanes = HWY_MAX_BYTES / sizeof(double);
  static constexpr std::size_t kVectors = 1;
  static HWY_INLINE std::size_t lanes() { return hn::Lanes(Doubles()); }
  template <std::size_t>
  static HWY_INLINE void convert(std::byte* dst, const std::byte* src) {
    if constexpr (std::is_same_v<Dst, double>)
      hn::StoreU(WidenToDouble<Src>::load(src), Doubles(), reinterpret_cast<double*>(dst));
    else
      NarrowFromDouble<Dst>::store(hn::LoadU(Doubles(), reinterpret_cast<const double*>(src)), dst);
  }
};

/// A vector of what whole steps leave. Not inlined: three places call it, where size counts more than speed.
template <class W>
HWY_NOINLINE void convert_one(std::byte* dst, const std::byte* src) {
  W::template convert<1>(dst, src);
}

/// n elements by whole vectors, the last one overlapping.
template <template <class, class> class Way, class Dst, class Src>
void cast_by(void* dst_data, const void* src_data, std::size_t n) {
  using W = Way<Dst, Src>;
  auto* dst = static_cast<std::byte*>(dst_data);
  const auto* src = static_cast<const std::byte*>(src_data);
  const std::size_t lanes = W::lanes();
  if (n == 0) return;
  if (n < lanes) {
    // Fewer than a vector: through padded copies of both sides.
    alignas(64) std::byte in[W::kMaxLanes * sizeof(Src)] = {};
    alignas(64) std::byte out[W::kMaxLanes * sizeof(Dst)];
    std::memcpy(in, src, n * sizeof(Src));
    convert_one<W>(out, in);
    std::memcpy(dst, out, n * sizeof(Dst));
    return;
  }
  std::size_t i = 0;
  for (const std::size_t step = W::kVectors * lanes; i + step <= n; i += step)
    W::template convert<W::kVectors>(dst + i * sizeof(Dst), src + i * sizeof(Src));
  if constexpr (W::kVectors > 1)
    for (; i + lanes <= n; i += lanes) convert_one<W>(dst + i * sizeof(Dst), src + i * sizeof(Src));
  // The rest is the last whole vector, which writes some elements a second time with the same bits.
  if (i != n) convert_one<W>(dst + (n - lanes) * sizeof(Dst), src + (n - lanes) * sizeof(Src));
}

// Some machines round two vectors to bf16 by one instruction, which makes subnormals 0. Only GCC uses it: no other
// compiler was tried with a function's own target beside Highway's.
#undef RESTRIDE_HARDWARE_BF16
#if HWY_TARGET <= HWY_AVX3 && HWY_COMPILER_GCC_ACTUAL >= 1100
#define RESTRIDE_HARDWARE_BF16 1

/// `cast_by` of floats to bf16 with these instructions.
__attribute__((target("avx512bf16"))) void cast_to_bf16(void* dst_data, const void* src_data, std::size_t n) {
  auto* dst = static_cast<std::uint16_t*>(dst_data);
  const auto* src = static_cast<const float*>(src_data);
  constexpr int kSubnormal = 0x20;
  std::size_t i = 0;
  // A thread that takes subnormals for 0 would not find them.
  for (const bool found = (_mm_getcsr() & _MM_DENORMALS_ZERO_MASK) == 0; found && i + 32 <= n; i += 32) {
    const __m512 v0 = _mm512_loadu_ps(src + i), v1 = _mm512_loadu_ps(src + i + 16);
    const unsigned subnormal = _mm512_fpclass_ps_mask(v0, kSubnormal) | _mm512_fpclass_ps_mask(v1, kSubnormal);
    if (HWY_UNLIKELY(subnormal != 0))
      Narrow<base::BF16>::store(Vec{v0}, Vec{v1}, dst + i);
    else
      _mm512_storeu_si512(dst + i, (__m512i)_mm512_cvtne2ps_pbh(v1, v0));
  }
  if (i == n) return;
  if (i != 0) i = std::min(i, n - 16);  // some a second time, with the same bits
  cast_by<ThroughFloat, base::BF16, float>(dst + i, src + i, n - i);
}
#else
#define RESTRIDE_HARDWARE_BF16 0
#endif

/// Elements whose bits stay as they are: i32 to u32.
template <std::size_t kSize>
void copy_elements(void* dst, const void* src, std::size_t n) {
  if (n != 0) std::memcpy(dst, src, n * kSize);
}

template <class Dst, class Src>
constexpr CastRun find_run();

/// Complex numbers are pairs of floats.
template <class DstPart, class SrcPart>
void cast_complex(void* dst, const void* src, std::size_t n) {
  find_run<DstPart, SrcPart>()(dst, src, 2 * n);
}

/// Floats, NaNs made quiet, with zeros between them.
template <class Dst, class Src>
struct RealParts {
  using Spaced = hn::ScalableTag<std::uint64_t>;
  static constexpr std::size_t kMaxLanes = HWY_MAX_BYTES / sizeof(std::uint64_t);
  static constexpr std::size_t kVectors = 1;
  static HWY_INLINE std::size_t lanes() { return hn::Lanes(Spaced()); }

  template <std::size_t>
  static HWY_INLINE void convert(std::byte* dst, const std::byte* src) {
    const hn::Rebind<std::int32_t, Spaced> d;
    const auto bits = hn::LoadU(d, reinterpret_cast<const std::int32_t*>(src));
    const auto nan = hn::Gt(hn::And(bits, hn::Set(d, 0x7fff'ffff)), hn::Set(d, 0x7f80'0000));
    const auto quiet = hn::Or(bits, hn::IfThenElseZero(nan, hn::Set(d, 0x0040'0000)));
    // Little-endian: the zeros go in front.
    const auto spaced = hn::PromoteTo(Spaced(), hn::BitCast(hn::RebindToUnsigned<decltype(d)>(), quiet));
    hn::StoreU(spaced, Spaced(), reinterpret_cast<std::uint64_t*>(dst));
  }
};

/// Real parts, NaNs made quiet, with zeros between them.
template <class Part>
void space_out(void* dst, const void* src, std::size_t n) {
  if constexpr (sizeof(Part) == 4) {
    cast_by<RealParts, std::uint64_t, std::uint32_t>(dst, src, n);
  } else {
    const hn::CappedTag<double, 2> d;
    auto* to = static_cast<double*>(dst);
    const auto* from = static_cast<const double*>(src);
    const auto quiet = hn::BitCast(d, hn::Set(hn::RebindToUnsigned<decltype(d)>(), 0x0008'0000'0000'0000));
    std::size_t i = 0;
    for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
      const auto value = hn::LoadU(d, from + i);
      const auto parts = hn::IfThenElse(hn::Eq(value, value), value, hn::Or(value, quiet));
      hn::StoreU(hn::InterleaveLower(d, parts, hn::Zero(d)), d, to + 2 * i);
      hn::StoreU(hn::InterleaveUpper(d, parts, hn::Zero(d)), d, to + 2 * i + hn::Lanes(d));
    }
    for (; i < n; ++i) {
      base::Complex<double> one{};
      std::memcpy(&one.re, from + i, sizeof one.re);
      one.re = base::quiet(one.re);
      std::memcpy(to + 2 * i, &one, sizeof one);
    }
  }
}

/// The real parts a piece at a time, then spaced out.
template <class Part, class Src>
void cast_to_complex(void* dst, const void* src, std::size_t n) {
  constexpr std::size_t kPiece = 128;
  alignas(64) std::byte parts[kPiece * sizeof(Part)];
  for (std::size_t done = 0; done < n; done += kPiece) {
    const std::size_t piece = std::min(n - done, kPiece);
    find_run<Part, Src>()(parts, static_cast<const std::byte*>(src) + done * sizeof(Src), piece);
    space_out<Part>(static_cast<std::byte*>(dst) + done * 2 * sizeof(Part), parts, piece);
  }
}

/// Integers of one size have one code where only their bits matter.
template <class T>
using BitsOf = std::conditional_t<std::is_same_v<T, base::Bool>, std::type_identity<T>, std::make_unsigned<T>>;

/// Bytes whose results are looked up, where it takes fewer steps than to compute them.
template <class Dst, class Src>
constexpr bool kByTable = HWY_TARGET <= HWY_AVX3_DL && sizeof(Src) == 1 &&
                          (sizeof(Dst) <= 2 || (std::is_same_v<Dst, float> && std::is_same_v<Src, base::F8E4M3>)) &&
                          !(kIsInteger<Dst> && kIsInteger<Src>);

template <class Dst, class Src>
constexpr CastRun find_run() {
  if constexpr (std::is_same_v<Dst, Src>) {
    return &copy_elements<sizeof(Dst)>;
#if HWY_TARGET <= HWY_AVX3_DL
  } else if constexpr (kByTable<Dst, Src>) {
    return &cast_bytes<Dst, Src>;
#endif
  } else if constexpr (base::kIsComplex<Dst>) {
    if constexpr (base::kIsComplex<Src>)
      return &cast_complex<decltype(Dst::re), decltype(Src::re)>;
    else if constexpr (std::is_same_v<decltype(Dst::re), Src>)
      return &space_out<Src>;
    else
      return &cast_to_complex<decltype(Dst::re), Src>;
  } else if constexpr (kIsInteger<Dst> && kIsInteger<Src>) {
    constexpr bool kBool = std::is_same_v<Dst, base::Bool> || std::is_same_v<Src, base::Bool>;
    using DstBits = typename BitsOf<Dst>::type;
    using SrcBits =
        typename std::conditional_t<(sizeof(Dst) > sizeof(Src)), std::type_identity<Src>, BitsOf<Src>>::type;
    if constexpr (sizeof(Dst) == sizeof(Src) && !kBool)
      return &copy_elements<sizeof(Dst)>;
    else
      return &cast_by<Integers, DstBits, SrcBits>;
  } else if constexpr ((std::is_same_v<Dst, double> && kIsWide<Src>) || (kIsWide<Dst> && std::is_same_v<Src, double>)) {
    return &cast_by<ThroughDouble, Dst, Src>;
  } else {
    return &cast_by<ThroughFloat, Dst, Src>;
  }
}

struct VectorRun {
  template <class Dst, class Src>
  static constexpr CastRun get() {
    return find_run<Dst, Src>();
  }
};

constexpr auto kVectorRuns = base::make_cast_table<CastRun, VectorRun>();

CastRun vector_run(DType dst, DType src, [[maybe_unused]] bool with_bf16) {
#if RESTRIDE_HARDWARE_BF16
  if (with_bf16 && dst == DType::kBF16 && src == DType::kF32 && __builtin_cpu_supports("avx512bf16"))
    return cast_to_bf16;
#endif
  return kVectorRuns(dst, src);
}

#endif

}  // namespace

CastRun find_cast_run(DType dst, DType src, bool with_bf16) {
  const CastRun run = vector_run(dst, src, with_bf16);
  return run != nullptr ? run : cast_run_scalar(dst, src);
}

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace restride::cpu {
HWY_EXPORT(find_cast_run);
CastRun cast_run(DType dst, DType src, bool with_bf16) noexcept {
  return HWY_DYNAMIC_DISPATCH(find_cast_run)(dst, src, with_bf16);
}
}  // namespace restride::cpu
#endif
