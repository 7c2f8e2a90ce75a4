// RESTRIDE_HD marks a function for the host and, under nvcc, for the device as well; the few standard
// functions that such code needs and that nvcc takes for host functions.
#pragma once

#if defined(__CUDACC__)
#define RESTRIDE_HD __host__ __device__
#else
#define RESTRIDE_HD
#endif

namespace restride::base {

/// std::bit_cast.
template <class To, class From>
RESTRIDE_HD constexpr To bit_cast(const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

}  // namespace restride::base
