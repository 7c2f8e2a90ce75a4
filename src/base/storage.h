// What one element of each dtype is in C++.
//
// The narrow floats are wrappers around raw bits, not numbers: only convert.h gives them a value, so no
// compiler's idea of `_Float16` or `__bf16` can slip in.
#pragma once

#include <cstdint>
#include <type_traits>

#include <restride/dtype.hpp>

namespace restride::base {

struct Bool {
  std::uint8_t bits;
};  ///< any non-zero byte is true; casts write 0 or 1
struct F16 {
  std::uint16_t bits;
};  ///< IEEE binary16
struct BF16 {
  std::uint16_t bits;
};  ///< the upper half of an IEEE binary32
struct F8E4M3 {
  std::uint8_t bits;
};  ///< OCP E4M3, the "fn" variant: no infinity, NaN is S.1111.111
struct F8E5M2 {
  std::uint8_t bits;
};  ///< OCP E5M2: the upper half of an IEEE binary16

template <class Part>
struct Complex {
  Part re;
  Part im;
};

// The one list that ties DType to a C++ type.
template <DType t>
struct StorageOf;
#define RESTRIDE_STORAGE(e, Type) \
  template <>                     \
  struct StorageOf<DType::e> {    \
    using type = Type;            \
  };
RESTRIDE_STORAGE(kBool, Bool)
RESTRIDE_STORAGE(kU8, std::uint8_t)
RESTRIDE_STORAGE(kU16, std::uint16_t)
RESTRIDE_STORAGE(kU32, std::uint32_t)
RESTRIDE_STORAGE(kU64, std::uint64_t)
RESTRIDE_STORAGE(kI8, std::int8_t)
RESTRIDE_STORAGE(kI16, std::int16_t)
RESTRIDE_STORAGE(kI32, std::int32_t)
RESTRIDE_STORAGE(kI64, std::int64_t)
RESTRIDE_STORAGE(kF16, F16)
RESTRIDE_STORAGE(kBF16, BF16)
RESTRIDE_STORAGE(kF32, float)
RESTRIDE_STORAGE(kF64, double)
RESTRIDE_STORAGE(kF8E4M3, F8E4M3)
RESTRIDE_STORAGE(kF8E5M2, F8E5M2)
RESTRIDE_STORAGE(kC64, Complex<float>)
RESTRIDE_STORAGE(kC128, Complex<double>)
#undef RESTRIDE_STORAGE

/// The C++ type of one element of dtype `t`; `t` is not kBytes.
template <DType t>
using Storage = typename StorageOf<t>::type;

#define RESTRIDE_X(e, name, size, kind) static_assert(sizeof(Storage<DType::e>) == size);
RESTRIDE_DTYPES(RESTRIDE_X)
#undef RESTRIDE_X

template <class T>
inline constexpr bool kIsComplex = false;
template <class Part>
inline constexpr bool kIsComplex<Complex<Part>> = true;

/// True for the floats that exist as bits only; each of their values is exact in a float.
template <class T>
inline constexpr bool kIsSmallFloat =
    std::is_same_v<T, F16> || std::is_same_v<T, BF16> || std::is_same_v<T, F8E4M3> || std::is_same_v<T, F8E5M2>;

/// One function pointer for each (dst, src) pair; null where the pair is refused.
template <class Fn>
struct CastTable {
  Fn at[kDTypeCount][kDTypeCount];
  constexpr Fn operator()(DType dst, DType src) const noexcept {
    return dst < DType::kBytes && src < DType::kBytes ? at[static_cast<int>(dst)][static_cast<int>(src)] : nullptr;
  }
};

/// The table of `Make::template get<Dst, Src>()` over storage types, for every pair that `castable` allows.
/// A function is instantiated for each pair, so keep it small: 17 x 17 less 30 refused.
template <class Fn, class Make>
constexpr CastTable<Fn> make_cast_table() {
  using Dtypes = std::make_integer_sequence<int, kDTypeCount>;
  CastTable<Fn> table{};
  const auto cell = [&table]<int d, int s>(std::integral_constant<int, d>, std::integral_constant<int, s>) {
    constexpr auto dst = static_cast<DType>(d);
    constexpr auto src = static_cast<DType>(s);
    if constexpr (castable(dst, src)) table.at[d][s] = Make::template get<Storage<dst>, Storage<src>>();
  };
  const auto row = [&cell]<int d, int... s>(std::integral_constant<int, d> dst, std::integer_sequence<int, s...>) {
    (cell(dst, std::integral_constant<int, s>{}), ...);
  };
  [&row]<int... d>(std::integer_sequence<int, d...>) { (row(std::integral_constant<int, d>{}, Dtypes{}), ...); }
  (Dtypes{});
  return table;
}

}  // namespace restride::base
