// The vectors of simd/stream-inl.h, for drawings: asked of the instruction set that the kernels are run with.
#include "src/cpu/trace.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/cpu/store_vector.cc"
#include <hwy/foreach_target.h>
#include "src/cpu/simd/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {

std::int32_t vector_bytes() { return static_cast<std::int32_t>(hn::Lanes(Bytes())); }

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace restride::cpu {
HWY_EXPORT(vector_bytes);
std::int32_t store_vector_bytes() noexcept { return HWY_DYNAMIC_DISPATCH(vector_bytes)(); }
}  // namespace restride::cpu
#endif
