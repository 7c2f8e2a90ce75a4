// The bid of packed/direct on CUDA, which stages nothing, and its arguments.
#include <algorithm>
#include <array>

#include "src/base/checked.h"
#include "src/cuda/packed/bids.h"
#include "src/cuda/packed/packed.h"

namespace restride::cuda {

using layout::Canonical;
using layout::CopyMode;

namespace {

/// What units that follow each other in dst touch of src: runs of bytes that are dense there, and from the first to the
/// last of them.
struct Footprint {
  std::int64_t runs = 1, run_bytes = 0, span = 0;

  /// Pieces of memory of `bytes` each that they lie in, on average.
  double pieces(double bytes, double unit) const {
    const auto of = [&](std::int64_t run) { return 1 + (static_cast<double>(run) - unit) / bytes; };
    return std::min(static_cast<double>(runs) * of(run_bytes), of(span));
  }
};

Footprint footprint(const Canonical& c, std::int64_t dst_bytes) {
  Footprint out;
  out.run_bytes = out.span = c.src_unit;
  std::int64_t left = std::max<std::int64_t>(dst_bytes / c.dst_unit, 1);
  std::array<std::int64_t, kMaxDirect> extent{}, stride{};
  std::size_t count = 0;
  for (const CopyMode& m : c.modes) {
    if (left <= 1) break;
    extent[count] = std::min(m.extent, left);
    stride[count] = std::abs(m.src_stride);
    out.span += (extent[count] - 1) * stride[count];
    out.runs *= extent[count];
    left = ceil_div(left, m.extent);
    ++count;
  }
  for (bool found = true; found;) {
    found = false;
    for (std::size_t i = 0; i < count; ++i)
      if (stride[i] == out.run_bytes) {
        out.run_bytes *= extent[i];
        out.runs /= extent[i];
        stride[i] = 0;
        found = true;
      }
  }
  return out;
}

constexpr std::int64_t kWarpBytes = 512, kBlockBytes = kDirectThreads * 16;
constexpr double kLine = 128, kReadSector = kSectorBytes;
/// Units, and those of a last block, are numbered by 31 bits.
constexpr std::int64_t kMostUnits = (std::int64_t{1} << 31) - 1024;

}  // namespace

void packed::bid_direct(const Request& request, Candidate& bid) {
  const Canonical& c = request.c;
  const CudaMachine& machine = request.machine;
  if (c.two_sided || c.cast || (c.dst_unit != 4 && c.dst_unit != 8))
    return refuse(bid, "no units of 4 or 8 bytes that are moved");
  if (c.modes.size() < 2 || c.modes.size() > kMaxDirect) return refuse(bid, "too many modes, or too few");
  if (!units_aligned(c)) return refuse(bid, "elements lie off their own alignment");
  std::int64_t dense = c.dst_unit;
  for (const CopyMode& m : c.modes) {
    if (m.dst_stride != dense || m.src_stride == 0) return refuse(bid, "dst is not one dense run");
    dense *= m.extent;
  }
  if (c.units >= kMostUnits) return refuse(bid, "too many units");
  const auto refuse_far = [&] { return refuse(bid, "neighbours in dst lie too far apart in src"); };
  // The first cache takes about a cycle for each line that a warp's loads look up, memory some 50 for as many bytes.
  if (footprint(c, kWarpBytes).pieces(kLine, c.src_unit) * (16.0 / c.dst_unit) > machine.costs->direct_most_lines)
    return refuse_far();
  if (footprint(c, kBlockBytes).pieces(kReadSector, c.src_unit) * kReadSector >
      machine.costs->direct_most_read * kBlockBytes)
    return refuse_far();
  const std::int64_t words = c.dst_bytes() / 16 + 2;  // where dst starts off a word
  bid.params = {{ParamId::kVectorBytes, 16},
                {ParamId::kThreads, kDirectThreads},
                {ParamId::kBlocks, ceil_div(words, kDirectThreads)},
                {ParamId::kKeep, machine.costs->keeps > 0 ? 1 : 0}};
  predict(bid, machine, c.src_bytes() / 32 + 1, c.dst_bytes() / 32 + 1, machine.costs->direct_full);
}

void prepare_direct(const Canonical& c, const Candidate& chosen, CudaArgs& out) {
  auto& a = out.args.emplace<DirectArgs>();
  a.dst_offset = c.dst_offset;
  a.src_offset = c.src_offset;
  a.units = narrowed<std::int32_t>(c.units);
  a.rank = static_cast<std::int32_t>(c.modes.size());
  a.blocks = narrowed<std::uint32_t>(chosen.get(ParamId::kBlocks, 1));
  a.keep = chosen.get(ParamId::kKeep) == 1;
  for (std::size_t m = 0; m < c.modes.size(); ++m) {
    a.extent[m] = base::FastDiv(c.modes[m].extent);
    a.step[m] = c.modes[m].src_stride;
    if (m > 0) a.carry[m - 1] = c.modes[m].src_stride - c.modes[m - 1].extent * c.modes[m - 1].src_stride;
  }
}

}  // namespace restride::cuda
