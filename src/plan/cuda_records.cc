// The bid of packed's kernels for records on CUDA, and their arguments.
#include <algorithm>

#include "src/plan/cuda_families.h"

namespace restride::plan {

using layout::Canonical;
using layout::CopyMode;

namespace {

/// The two modes of records: their fields, and their number.
struct Records {
  int fields = -1, count = -1;
  bool to_planes = false;
};

Records find_records(const Canonical& c) {
  Records r;
  if (c.two_sided || c.cast || c.modes.size() < 2 || c.dst_unit > 8) return r;
  const CopyMode& first = c.modes[0];
  if (first.dst_stride != c.dst_unit) return r;
  for (std::size_t i = 1; i < c.modes.size() && i < 64; ++i) {
    const CopyMode& m = c.modes[i];
    const bool into_planes = m.src_stride == c.src_unit && first.src_stride == m.extent * c.src_unit;
    const bool into_records = m.src_stride == c.src_unit && m.dst_stride == first.extent * c.dst_unit;
    if (into_planes && m.extent <= maps::kMostFields) return {static_cast<int>(i), 0, true};
    if (into_records && first.extent <= maps::kMostFields) return {0, static_cast<int>(i), false};
  }
  return r;
}

}  // namespace

Candidate bid_records(const Canonical& c, const CudaMachine& machine) {
  constexpr Family kFamily = Family::kPacked;
  const Records r = find_records(c);
  if (r.fields < 0) return refusal(kFamily, "no records of 2 to 8 fields");
  const CopyMode& fields = c.modes[static_cast<std::size_t>(r.fields)];
  const CopyMode& count = c.modes[static_cast<std::size_t>(r.count)];
  std::int64_t bits = c.dst_align | c.src_align | count.extent * c.dst_unit;
  bits |= r.to_planes ? fields.dst_stride : fields.src_stride;
  for (std::size_t i = 0; i < c.modes.size(); ++i)
    if (static_cast<int>(i) != r.fields && static_cast<int>(i) != r.count)
      bits |= c.modes[i].dst_stride | c.modes[i].src_stride;
  if ((bits & 15) != 0) return refusal(kFamily, "planes do not start on 16 bytes");
  const std::int64_t words = count.extent * c.dst_unit / 16;
  if (words < maps::kRecordsThreads / 2 || words >= std::int64_t{1} << 30)
    return refusal(kFamily, "planes are too short or too long");
  maps::Walk walk;
  std::int64_t batch = 0;
  const std::uint64_t inside = std::uint64_t{1} << r.fields | std::uint64_t{1} << r.count;
  if (!outer_walk(c, inside, &walk, &batch)) return refusal(kFamily, "too many outer modes");
  const std::int64_t chunks = (words + maps::kRecordsThreads - 1) / maps::kRecordsThreads;
  if (chunks >= (std::int64_t{1} << 31) / batch) return refusal(kFamily, "too many blocks");
  Candidate bid;
  bid.family = kFamily;
  bid.params = {{ParamId::kEngine, 2},
                {ParamId::kRowMode, r.count},
                {ParamId::kColMode, r.fields},
                {ParamId::kVectorBytes, 16},
                {ParamId::kThreads, maps::kRecordsThreads},
                {ParamId::kBlocks, chunks * batch}};
  const double used = static_cast<double>(words) / static_cast<double>(chunks * maps::kRecordsThreads);
  predict(bid, c, machine, c.src_bytes() / 32, c.dst_bytes() / 32, 0.94 * (0.3 + 0.7 * used));
  return bid;
}

maps::RecordsArgs records_args(const Canonical& c, const Candidate& chosen) {
  const Records r = find_records(c);
  const CopyMode& fields = c.modes[static_cast<std::size_t>(r.fields)];
  const CopyMode& count = c.modes[static_cast<std::size_t>(r.count)];
  maps::RecordsArgs a;
  std::int64_t batch = 0;
  outer_walk(c, std::uint64_t{1} << r.fields | std::uint64_t{1} << r.count, &a.batch, &batch);
  a.plane_words = static_cast<std::uint32_t>(count.extent * c.dst_unit / 16);
  a.chunks = base::FastDiv((a.plane_words + maps::kRecordsThreads - 1) / maps::kRecordsThreads);
  a.blocks = static_cast<std::uint32_t>(chosen.get(ParamId::kBlocks, 1));
  a.plane_stride = r.to_planes ? fields.dst_stride : fields.src_stride;
  a.dst_offset = c.dst_offset;
  a.src_offset = c.src_offset;
  a.fields = static_cast<std::uint8_t>(fields.extent);
  a.to_planes = r.to_planes;
  return a;
}

}  // namespace restride::plan
