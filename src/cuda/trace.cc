#include "src/cuda/trace.h"

#include "src/cuda/kernels.h"

namespace restride::cuda {
namespace {

// Nothing to copy.
void trace_kernel(std::monostate, const CudaArgs&, plan::Trace& t) { t.pieces = 0; }

}  // namespace

plan::Trace trace(const CudaArgs& args, std::int64_t piece) {
  plan::Trace t;
  t.piece = piece < 0 ? 0 : piece;
  t.src_unit = args.units.src;
  t.dst_unit = args.units.dst;
  std::visit([&](const auto& a) { trace_kernel(a, args, t); }, args.args);
  t.units_of_piece = static_cast<std::int64_t>(t.units.size());
  return t;
}

}  // namespace restride::cuda
