// Conversions inside kernels: one dtype pair as an operation on registers, and any pair at run time.
#pragma once

#include <cstdint>
#include <type_traits>

#include "src/base/convert.h"
#include "src/cuda/device.cuh"

namespace restride::cuda {

/// An operation that converts a unit; see Move.
template <class Dst, class Src>
struct Cast {
  static constexpr int kSrc = sizeof(Src), kDst = sizeof(Dst);
  __device__ static Bits<kDst> apply(Bits<kSrc> unit) {
    return base::bit_cast<Bits<kDst>>(base::convert<Dst>(base::bit_cast<Src>(unit)));
  }
};

template <class T>
__device__ inline T load_bytes(const char* p) {
  unsigned char bytes[sizeof(T)];
#pragma unroll
  for (unsigned i = 0; i < sizeof(T); ++i) bytes[i] = static_cast<unsigned char>(p[i]);
  T value;
  memcpy(&value, bytes, sizeof(T));
  return value;
}
template <class T>
__device__ inline void store_bytes(char* p, const T& value) {
  unsigned char bytes[sizeof(T)];
  memcpy(bytes, &value, sizeof(T));
#pragma unroll
  for (unsigned i = 0; i < sizeof(T); ++i) p[i] = static_cast<char>(bytes[i]);
}

/// The widest type of a kind: every value of T is one of it exactly, so converting from it rounds once, as from T.
template <class T>
using Widest = std::conditional_t<
    base::kIsComplex<T>, base::Complex<double>,
    std::conditional_t<std::is_integral_v<T>, std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>,
                       std::conditional_t<std::is_same_v<T, base::Bool>, base::Bool, double>>>;

template <class Wide>
__device__ __noinline__ void store_as(DType dtype, char* to, Wide value) {
  switch (dtype) {
#define RESTRIDE_X(e, name, size, kind)                                                 \
  case DType::e:                                                                        \
    if constexpr (!base::kIsComplex<Wide> || base::kIsComplex<base::Storage<DType::e>>) \
      store_bytes(to, base::convert<base::Storage<DType::e>>(value));                   \
    break;
    RESTRIDE_DTYPES(RESTRIDE_X)
#undef RESTRIDE_X
    default: break;
  }
}

/// Converts one element between any two dtypes that `castable` allows, at any address.
__device__ inline void convert_any(DType dst_dtype, char* to, DType src_dtype, const char* from) {
  switch (src_dtype) {
#define RESTRIDE_X(e, name, size, kind)                                                                  \
  case DType::e:                                                                                         \
    store_as(dst_dtype, to,                                                                              \
             base::convert<Widest<base::Storage<DType::e>>>(load_bytes<base::Storage<DType::e>>(from))); \
    break;
    RESTRIDE_DTYPES(RESTRIDE_X)
#undef RESTRIDE_X
    default: break;
  }
}

}  // namespace restride::cuda
