#include "src/cpu/prepare.h"

#include <fmt/format.h>

#include "src/cpu/cast/cast.h"

namespace restride::cpu {

using layout::Canonical;
using plan::ParamId;

void refuse(const plan::Candidate& k, const Canonical& c) {
  throw ParseError(
      fmt::format("plan: the parameters of {} do not fit {}; plan again", k.kernel.text, layout::to_string(c)));
}

void set_common(const Canonical& c, const plan::Candidate& k, CommonArgs* a) {
  for (const ParamId flag : {ParamId::kStream, ParamId::kNear})
    if (const std::int64_t value = k.get(flag); value < 0 || value > 1) refuse(k, c);
  a->stream = k.get(ParamId::kStream) != 0;
  a->near = k.get(ParamId::kNear) != 0;
  a->dst_unit = c.dst_unit;
  a->src_unit = c.src_unit;
  if (!c.cast) return;
  a->cast_run = cast_run(c.dst_dtype, c.src_dtype);
  a->cast_strided = cast_strided(c.dst_dtype, c.src_dtype);
}

std::int64_t dense_end(const Canonical& c) {
  std::int64_t bytes = c.src_unit;
  for (const std::uint8_t m : layout::modes_by_src_stride(c)) {
    if (c.modes[m].src_stride != bytes) return INT64_MIN / 2;
    bytes *= c.modes[m].extent;
  }
  return bytes;
}

void reverse(layout::CopyMode* mode, CommonArgs* a) {
  a->dst_shift += (mode->extent - 1) * mode->dst_stride;
  a->src_shift += (mode->extent - 1) * mode->src_stride;
  mode->dst_stride = -mode->dst_stride;
  mode->src_stride = -mode->src_stride;
}

}  // namespace restride::cpu
