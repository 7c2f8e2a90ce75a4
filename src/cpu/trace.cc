#include "src/cpu/trace.h"

#include <algorithm>

#include "src/cpu/simd/tile_prefetch-inl.h"

namespace restride::cpu {
void TraceBase::prefetch(std::int64_t at) const {
  const std::int64_t line = at - (at % kLineBytes + kLineBytes) % kLineBytes;
  if (t.ahead.empty() || t.ahead.back() != line) t.ahead.push_back(line);
}

void TraceBase::prefetch_runs(const std::vector<std::int64_t>& tiles, const std::int64_t* offsets, std::int64_t runs,
                              std::int64_t run_bytes, bool near) const {
  constexpr std::int64_t kStreams = HWY_NAMESPACE::RunPrefetcher::kStreams;
  if (tiles.empty()) return;
  for (std::int64_t first = 0; first < runs; first += kStreams) {
    const auto prefetch_all = [&](std::int64_t byte) {
      for (std::int64_t r = first; r < std::min(first + kStreams, runs); ++r)
        for (const std::int64_t tile : tiles) prefetch(tile + offsets[r] + byte);
    };
    std::int64_t byte = 0;
    for (; byte < run_bytes; byte += kLineBytes) prefetch_all(byte);
    if (byte < run_bytes + kLineBytes) prefetch_all(run_bytes - 1);  // runs start inside lines
  }
  t.ahead_is = std::string(tiles.size() > 1 ? "runs of the next tiles" : "runs of the next tile") +
               ", a line of each of up to eight in turn, " + cache_of(near);
}

plan::Trace trace(const CpuArgs& args, const layout::Canonical& c, std::int64_t piece) {
  plan::Trace t;
  t.piece = piece < 0 ? 0 : piece;
  const CommonArgs& common = args.common();
  t.src_unit = common.src_unit;
  t.dst_unit = common.dst_unit;
  t.past_caches = common.stream;
  if (common.tasks == 0) {
    t.pieces = 0;
    return t;
  }
  const TraceBase on{t, c.dst_offset + common.dst_shift, c.src_offset + common.src_shift};
  args.visit([&](const auto& a) { trace_kernel(a, on); });
  if (t.units_of_piece == 0) t.units_of_piece = static_cast<std::int64_t>(t.units.size());
  return t;
}

}  // namespace restride::cpu
