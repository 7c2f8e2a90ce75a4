#include "src/cpu/bid.h"

#include <algorithm>

#include "src/base/checked.h"

namespace restride::cpu {

using layout::Canonical;
using layout::CopyMode;

namespace {

/// Contiguous bytes a side's innermost chain of modes covers.
std::int64_t run_bytes(const Canonical& c, bool dst_side) {
  const auto stride = [&](const CopyMode& m) { return dst_side ? m.dst_stride : m.src_stride; };
  std::int64_t run = dst_side ? c.dst_unit : c.src_unit;
  for (bool grew = true; grew;) {
    grew = false;
    for (const CopyMode& m : c.modes)
      if (m.extent > 1 && static_cast<std::int64_t>(magnitude(stride(m))) == run && run <= INT64_MAX / m.extent) {
        run *= m.extent;
        grew = true;  // modes before this one may follow now
      }
  }
  return run;
}

}  // namespace

std::int64_t lines_for_runs(std::int64_t bytes, std::int64_t run_bytes, std::int64_t line) {
  if (run_bytes >= bytes) return bytes / line + 1;
  const auto lines_of = [&](std::int64_t run) { return std::min(run / line + (run % line != 0 ? 2 : 0), run); };
  // A run has no more lines than bytes, so nothing overflows. What is left behind the last whole run counts, too.
  const std::int64_t run = std::max<std::int64_t>(run_bytes, 1);
  return bytes / run * lines_of(run) + lines_of(bytes % run);
}

Lines lines_of(const Canonical& c, const CpuMachine& m) {
  if (c.two_sided) return {};
  return {lines_for_runs(c.src_bytes(), run_bytes(c, false), m.line_bytes),
          lines_for_runs(c.dst_bytes(), run_bytes(c, true), m.line_bytes)};
}

bool units_apart(const Canonical& c, const CpuMachine& m) noexcept {
  return !c.modes.empty() && magnitude(c.modes[0].src_stride) >= static_cast<std::uint64_t>(m.line_bytes);
}

bool streams(const Canonical& c, const CpuMachine& m, Writes writes) noexcept {
  if (c.dst_bytes() < m.stream_from_bytes) return false;
  const double kept = m.stream_share * static_cast<double>(m.thread_cache_bytes);
  const auto bytes = static_cast<double>(c.dst_bytes());
  if (writes == Writes::kRuns || (writes == Writes::kMatrices && m.columns_stay)) return bytes >= kept;
  // Columns past the caches are fast where permutes of two vectors join their ends in registers. Without those, Zen 3,
  // one thread, f32 transposed, past the caches -> in them, us, the same memory again / and read: 448 x 448
  // 70 -> 44 / 136 -> 50, 512 x 512 533 -> 125 / 757 -> 139, 960 x 960 324 -> 188 / 647 -> 252, 1728 x 1728 (12 MB)
  // 1504 -> 2885 / 2832 -> 3723; bytes 1216 x 1216 730 -> 134 / 864 -> 159. 1024 x 1024, which are `kept` bytes where a
  // thread may use 16 MiB, 2147 -> 1100 / 2998 -> 1240: so columns of just so many bytes stay, where runs do not.
  return m.has_permutes() || bytes > kept;
}
bool reads_near(const Canonical& c, const CpuMachine& m, Writes writes) noexcept {
  return (writes == Writes::kColumns ? m.tile_near : m.near) && streams(c, m, writes);
}

bool stays_in_caches(const Canonical& c, const CpuMachine& m) noexcept {
  return m.has_permutes() && !streams(c, m, Writes::kRuns) && !streams(c, m, Writes::kMatrices);
}

void push_stream_and_near(Candidate* k, const Canonical& c, const CpuMachine& m, Writes writes, bool far) {
  k->params.push_back({ParamId::kStream, streams(c, m, writes) ? 1 : 0});
  k->params.push_back({ParamId::kNear, reads_near(c, m, writes) && !far ? 1 : 0});
}

double lines_meet(const CpuMachine& m, std::int64_t lines_of_a_set) noexcept {
  if (lines_of_a_set <= kSizes.some_lines_meet_from) return 1;
  return lines_of_a_set <= kSizes.lines_meet_from ? m.some_lines_meet : m.lines_meet;
}

double stream_ns(const Bid& k, const CpuMachine& m) {
  const double lines = static_cast<double>(k.read_lines) + static_cast<double>(k.written_lines);
  return lines * static_cast<double>(m.line_bytes) / m.stream_bytes_per_ns;
}

double crowding(std::int64_t lines_of_a_set) noexcept {
  const double roomy = static_cast<double>(kSizes.some_lines_meet_from) / 2;
  return std::max(0.0, static_cast<double>(lines_of_a_set) / roomy - 1);
}

double row_ns(const Canonical& c, const CpuMachine& m) noexcept {
  return streams(c, m, Writes::kRuns) ? m.row_ns * m.streamed_rows : m.row_ns;
}

double cast_ns(const Canonical& c, const CpuMachine& m, std::int64_t piece) {
  if (!c.cast) return 0;
  const double call = piece < kSizes.cast_short_units ? m.cast_short_call_ns : m.cast_call_ns;
  return call / static_cast<double>(std::clamp<std::int64_t>(piece, 1, kSizes.cast_call_bytes / c.dst_unit));
}

void set_time(Bid* k, double lines_ns, double starts_ns, double units_ns) {
  k->predicted.time_ns = lines_ns + starts_ns + units_ns;
  k->predicted.sectors_ns = lines_ns;
  k->predicted.starts_ns = starts_ns;
}

}  // namespace restride::cpu
