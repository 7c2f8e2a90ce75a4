// How the parameters of a launch hold many pairs of pointers, made on the host before each launch. By AVX-512 that
// takes 1,000 pairs a twentieth of the launch's own time.
#ifndef RESTRIDE_AVX3_DL_ALONE  // what Highway's AVX3_DL adds to AVX3 is of no use here
#undef HWY_WANT_AVX3_DL
#endif

#include "src/cuda/pairs.h"

#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/cuda/pairs.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

static_assert(std::endian::native == std::endian::little, "a pointer's low half is its first");

HWY_BEFORE_NAMESPACE();
namespace restride::cuda {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// The bits in which they differ from the first.
std::uint64_t unlike_first(const std::uint64_t* pointers, std::size_t count) noexcept {
  const hn::ScalableTag<std::uint64_t> d;
  const std::size_t n = hn::Lanes(d);
  const auto first = hn::Set(d, pointers[0]);
  auto a = hn::Zero(d), b = a;
  std::size_t i = 0;
  for (; i + 2 * n <= count; i += 2 * n) {
    a = hn::Or(a, hn::Xor(first, hn::LoadU(d, pointers + i)));
    b = hn::Or(b, hn::Xor(first, hn::LoadU(d, pointers + i + n)));
  }
  HWY_ALIGN std::uint64_t lanes[HWY_MAX_BYTES / 8];
  hn::Store(hn::Or(a, b), d, lanes);
  std::uint64_t unlike = 0;
  for (std::size_t lane = 0; lane < n; ++lane) unlike |= lanes[lane];
  for (; i < count; ++i) unlike |= pointers[0] ^ pointers[i];
  return unlike;
}

/// One side's own bits at their place in a pair: no bits of a pointer are left below its own ones, so one shift does.
template <bool to_left, class V>
HWY_INLINE V in_place(V pointers, V common, int by) {
  const auto own = hn::Xor(pointers, common);
  return to_left ? hn::ShiftLeftSame(own, by) : hn::ShiftRightSame(own, by);
}

/// The low halves of as many pointers as a vector has lanes of 4 bytes.
template <class D>
HWY_INLINE hn::Vec<D> low_halves(D d, const std::uint32_t* pointers) {
#if HWY_TARGET == HWY_SCALAR
  return hn::LoadU(d, pointers);
#else
  return hn::ConcatEven(d, hn::LoadU(d, pointers + hn::Lanes(d)), hn::LoadU(d, pointers));
#endif
}

/// How many pairs it has packed; fewer than a vector holds are left. T: 4 bytes a pair, by halves of pointers, or 8.
template <class T, bool src_to_left>
std::size_t pack_vectors(const PairsForm& form, const std::uint64_t* dst, const std::uint64_t* src, std::size_t count,
                         T* out) noexcept {
  const hn::ScalableTag<T> d;
  const std::size_t n = hn::Lanes(d);
  const auto pointers = [&](const std::uint64_t* from) {
    if constexpr (sizeof(T) == 4)
      return low_halves(d, reinterpret_cast<const std::uint32_t*>(from));
    else
      return hn::LoadU(d, from);
  };
  const auto dst_common = hn::Set(d, static_cast<T>(form.dst.common));
  const auto src_common = hn::Set(d, static_cast<T>(form.src.common));
  const int dst_by = static_cast<int>(form.dst.low), by = static_cast<int>(form.src.low - form.dst.bits);
  const int src_by = src_to_left ? -by : by;
  std::size_t i = 0;
  for (; i + n <= count; i += n) {
    const auto to = in_place<false>(pointers(dst + i), dst_common, dst_by);
    const auto from = in_place<src_to_left>(pointers(src + i), src_common, src_by);
    hn::StoreU(hn::Or(to, from), d, out + i);
  }
  return i;
}

template <class T>
std::size_t pack_vectors(const PairsForm& form, const std::uint64_t* dst, const std::uint64_t* src, std::size_t count,
                         T* out) noexcept {
  return form.src.low < form.dst.bits ? pack_vectors<T, true>(form, dst, src, count, out)
                                      : pack_vectors<T, false>(form, dst, src, count, out);
}

}  // namespace

std::size_t pack_low_halves(const PairsForm& form, const std::uint64_t* dst, const std::uint64_t* src,
                            std::size_t count, std::uint32_t* out) {
  return pack_vectors(form, dst, src, count, out);
}
std::size_t pack_pointers(const PairsForm& form, const std::uint64_t* dst, const std::uint64_t* src, std::size_t count,
                          std::uint64_t* out) {
  return pack_vectors(form, dst, src, count, out);
}
std::uint64_t unlike_bits(const std::uint64_t* pointers, std::size_t count) { return unlike_first(pointers, count); }

}  // namespace HWY_NAMESPACE
}  // namespace restride::cuda
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace restride::cuda {
namespace {

HWY_EXPORT(unlike_bits);
HWY_EXPORT(pack_low_halves);
HWY_EXPORT(pack_pointers);

template <class T>
const std::uint64_t* addresses(const T* pointers) noexcept {
  static_assert(sizeof(*pointers) == sizeof(std::uint64_t));
  return reinterpret_cast<const std::uint64_t*>(pointers);
}

PairsSide side_of(const void* pointer, std::uint64_t unlike) noexcept {
  if (unlike == 0) return {reinterpret_cast<std::uint64_t>(pointer), 0, 0};
  PairsSide side;
  side.low = static_cast<std::uint32_t>(std::countr_zero(unlike));
  side.bits = static_cast<std::uint32_t>(std::bit_width(unlike)) - side.low;
  if (side.bits < 64)
    side.common = reinterpret_cast<std::uint64_t>(pointer) & ~(((std::uint64_t{1} << side.bits) - 1) << side.low);
  return side;
}

}  // namespace

PointerBits bits_of(const void* const* pointers, std::size_t count) noexcept {
  const auto first = reinterpret_cast<std::uint64_t>(pointers[0]);
  const std::uint64_t unlike = HWY_DYNAMIC_DISPATCH(unlike_bits)(addresses(pointers), count);
  return {first | unlike, first & ~unlike};
}

PairsForm form_of(const PointerPairs& pairs) noexcept {
  PairsForm form{side_of(pairs.dst[0], pairs.dst_unlike), side_of(pairs.src[0], pairs.src_unlike)};
  const std::uint32_t bits = form.dst.bits + form.src.bits;
  form.bytes = bits <= 32 ? 4 : bits < 64 ? 8 : 16;
  return form;
}

void pack_pairs(const PairsForm& form, const PointerPairs& pairs, std::size_t first, std::size_t count,
                std::uint64_t* words) noexcept {
  void* const* const dst = pairs.dst + first;
  const void* const* const src = pairs.src + first;
  const auto own = [&](std::size_t i) { return form.dst.own(dst[i]) | form.src.own(src[i]) << form.dst.bits; };
  if (form.bytes == 4) {
    auto* const halves = reinterpret_cast<std::uint32_t*>(words);
    std::size_t i = 0;
    if (form.dst.is_low() && form.src.is_low())
      i = HWY_DYNAMIC_DISPATCH(pack_low_halves)(form, addresses(dst), addresses(src), count, halves);
    for (; i < count; ++i) halves[i] = static_cast<std::uint32_t>(own(i));
  } else if (form.bytes == 8) {
    std::size_t i = HWY_DYNAMIC_DISPATCH(pack_pointers)(form, addresses(dst), addresses(src), count, words);
    for (; i < count; ++i) words[i] = own(i);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      words[2 * i] = reinterpret_cast<std::uint64_t>(dst[i]);
      words[2 * i + 1] = reinterpret_cast<std::uint64_t>(src[i]);
    }
  }
}

}  // namespace restride::cuda
#endif
