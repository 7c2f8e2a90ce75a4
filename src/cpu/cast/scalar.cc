// Compiled for the baseline only, and in a file of its own, so that no instantiation of base::convert in a
// vectorised file can replace the baseline's at link time.
#include "src/cpu/cast/scalar.h"

#include <cstring>

#include "src/base/convert.h"

namespace restride::cpu {
namespace {

struct Strided {
  template <class Dst, class Src>
  static void cast(void* dst, std::ptrdiff_t dst_stride, const void* src, std::ptrdiff_t src_stride, std::size_t n) {
    auto* to = static_cast<std::byte*>(dst);
    const auto* from = static_cast<const std::byte*>(src);
    for (; n != 0; --n, to += dst_stride, from += src_stride) {
      Src in;
      std::memcpy(&in, from, sizeof in);
      const Dst out = base::convert<Dst>(in);
      std::memcpy(to, &out, sizeof out);
    }
  }
  template <class Dst, class Src>
  static constexpr CastStrided get() {
    return &cast<Dst, Src>;
  }
};

struct Run {
  template <class Dst, class Src>
  static void cast(void* dst, const void* src, std::size_t n) {
    Strided::cast<Dst, Src>(dst, sizeof(Dst), src, sizeof(Src), n);
  }
  template <class Dst, class Src>
  static constexpr CastRun get() {
    return &cast<Dst, Src>;
  }
};

constexpr auto kStrided = base::make_cast_table<CastStrided, Strided>();
constexpr auto kRuns = base::make_cast_table<CastRun, Run>();

}  // namespace

CastStrided cast_strided(DType dst, DType src) noexcept { return kStrided(dst, src); }
CastRun cast_run_scalar(DType dst, DType src) noexcept { return kRuns(dst, src); }

}  // namespace restride::cpu
