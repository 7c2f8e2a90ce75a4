// The bids of packed's kernels for records on CUDA, and their arguments.
#include <algorithm>
#include <bit>

#include "src/base/checked.h"
#include "src/cuda/packed/bids.h"
#include "src/cuda/packed/packed.h"

namespace restride::cuda {

using layout::Canonical;
using layout::CopyMode;

namespace {

constexpr std::int64_t kWarps = kRecordsThreads / 32;  // of a block

/// The two modes of records, and what a record is: its fields, and how many lie before the first that is wanted.
struct Records {
  int mode = -1, count = -1;
  bool to_planes = false;
  std::int64_t fields = 0, skipped = 0;
};

std::int64_t most_fields(const Canonical& c) { return !c.cast && c.dst_unit == 1 ? kMostByteFields : kMostFields; }

/// Where in src the lowest wanted field of the first record lies, whichever way the fields are numbered.
std::int64_t first_wanted(const Canonical& c, const CopyMode& fields) {
  return c.src_offset + std::min<std::int64_t>(0, (fields.extent - 1) * fields.src_stride);
}

/// Records as the source of planes: fields in either order; fields at the ends may be left out.
Records find_planes(const Canonical& c, int mode) {
  const CopyMode& first = c.modes[0];
  const CopyMode& m = c.modes[static_cast<std::size_t>(mode)];
  const std::int64_t fields = first.src_stride / c.src_unit;
  if (std::abs(m.src_stride) != c.src_unit || first.src_stride % c.src_unit != 0) return {};
  if (fields < m.extent || fields > most_fields(c) || (fields > kMostFields && fields != m.extent)) return {};
  // Where records start on 16 bytes, that tells how many fields lie before the wanted ones.
  for (std::int64_t skipped = 0; skipped <= fields - m.extent; ++skipped)
    if (((first_wanted(c, m) - skipped * c.src_unit) | c.src_data_align) % 16 == 0)
      return {mode, 0, true, fields, skipped};
  return {mode, 0, true, fields, 0};
}

/// Tiles of records that planes take which start anywhere.
std::int64_t tiles_of(std::int64_t records, std::int64_t unit) {
  return ceil_div(records + kPlaneBoundary / unit - 1, records_of_tile(static_cast<int>(unit)));
}

/// Bytes of a unit where records and planes change places: a cast's narrower one.
std::int64_t moved_unit(const Canonical& c) { return std::min(c.dst_unit, c.src_unit); }

Records find_records(const Canonical& c) {
  if (c.two_sided || c.modes.size() < 2 || c.dst_unit > 8) return {};
  const CopyMode& first = c.modes[0];
  if (first.dst_stride != c.dst_unit) return {};
  for (std::size_t i = 1; i < c.modes.size() && i < 64; ++i) {
    const CopyMode& m = c.modes[i];
    if (const Records r = find_planes(c, static_cast<int>(i)); r.mode >= 0) return r;
    if (m.src_stride == c.src_unit && m.dst_stride == first.extent * c.dst_unit && first.extent <= most_fields(c))
      return {0, static_cast<int>(i), false, first.extent, 0};
  }
  return {};
}

/// Bytes of the words that a thread has of every plane; 0 where planes do not start on such words. Rows of records have
/// to start on them, too, on the way out of planes, with a cast, or if they have more than 9 fields.
int word_of(const Canonical& c, const Records& r) {
  const CopyMode& fields = c.modes[static_cast<std::size_t>(r.mode)];
  const CopyMode& count = c.modes[static_cast<std::size_t>(r.count)];
  const bool many = r.fields > kMostFields, both = !r.to_planes || c.cast || many;
  std::int64_t bits = c.dst_align | count.extent * moved_unit(c), src_bits = r.to_planes ? 0 : c.src_align;
  if (r.to_planes && both) src_bits = c.src_data_align | first_wanted(c, fields);
  (r.to_planes ? bits : src_bits) |= r.to_planes ? fields.dst_stride : fields.src_stride;
  for (std::size_t i = 0; i < c.modes.size(); ++i)
    if (static_cast<int>(i) != r.mode && static_cast<int>(i) != r.count) {
      bits |= c.modes[i].dst_stride;
      src_bits |= c.modes[i].src_stride;
    }
  if (both) bits |= src_bits;
  if (!many && bits % 16 == 0) return 16;
  if (c.cast || c.dst_unit != 1) return 0;
  if (r.to_planes) return many && bits % 8 == 0 ? 8 : 0;
  return bits % 4 == 0 && r.fields > 2 ? 4 : 0;  // two planes gain nothing
}

/// Words of a warp, or, where planes start `anywhere`, tiles of a block.
void offer(const Canonical& c, const CudaMachine& machine, const Records& r, int word, bool anywhere, Candidate& bid) {
  const CopyMode& fields = c.modes[static_cast<std::size_t>(r.mode)];
  const CopyMode& count = c.modes[static_cast<std::size_t>(r.count)];
  const std::int64_t words = ceil_div(count.extent * moved_unit(c), word);
  const std::int64_t words_of_chunk = anywhere ? kRecordsThreads : 32;
  const std::int64_t chunks = anywhere ? tiles_of(count.extent, c.dst_unit) : ceil_div(words, words_of_chunk);
  const double used = static_cast<double>(words) / static_cast<double>(chunks * words_of_chunk);
  const Costs& costs = *machine.costs;
  const int most_bits = anywhere ? 28 : 30;  // words: their units, or bytes, are counted by 32 bits
  const bool short_planes = word < 16 && count.extent < kSizes.records_least_bytes;
  if (short_planes || used < costs.records_least_used || words >= std::int64_t{1} << most_bits)
    return refuse(bid, "planes are too short or too long");
  std::int64_t batch = 0;
  const std::uint64_t inside = std::uint64_t{1} << r.mode | std::uint64_t{1} << r.count;
  if (!outer_walk(c, inside, nullptr, &batch)) return refuse(bid, "too many outer modes");
  if (too_many(chunks, batch)) return refuse(bid, "too many blocks");
  bid.params = {{ParamId::kRowMode, r.count},
                {ParamId::kColMode, r.mode},
                {ParamId::kVectorBytes, word},
                {ParamId::kThreads, kRecordsThreads},
                {ParamId::kBlocks, anywhere ? chunks * batch : ceil_div(chunks * batch, kWarps)}};
  if (anywhere) bid.params.push_back({ParamId::kBoundaryBytes, kPlaneBoundary});
  const std::int64_t read = c.src_bytes() / fields.extent * r.fields;
  predict(bid, machine, read / 32, c.dst_bytes() / 32,
          costs.records_full * (costs.records_idle + costs.records_used * used));
}

constexpr std::string_view kOffWords = "planes do not start on 16 bytes";

std::string_view off_words(const Canonical& c, const Records& r) {
  if (c.dst_unit == 1 && !r.to_planes && r.fields > 2) return "planes or records do not start on 4 bytes";
  return c.dst_unit == 1 && r.fields > kMostFields ? "planes or records do not start on 8 bytes" : kOffWords;
}

void offer_cast(const Canonical& c, const CudaMachine& machine, const Records& r, Candidate& bid) {
  if (!has_record_cast(c.dst_unit, c.src_unit, r.fields) ||
      c.modes[static_cast<std::size_t>(r.mode)].extent != r.fields)
    return refuse(bid, "no kernel that converts such records");
  if (word_of(c, r) == 0) return refuse(bid, kOffWords);
  offer(c, machine, r, 16, false, bid);
}

}  // namespace

void packed::bid_records(const Request& request, std::span<Candidate> bids) {
  const Canonical& c = request.c;
  Candidate &records = bids[0], &cast = bids[1], &planes = bids[2];
  const Records r = find_records(c);
  if (r.mode < 0) return refuse_all(bids, "no records of 2 to 9 fields, or of 2 to 16 bytes");
  if (c.cast) {
    records.reason = planes.reason = "units are converted";
    offer_cast(c, request.machine, r, cast);
    return;
  }
  cast.reason = "nothing is converted";
  const int word = word_of(c, r);
  if (word != 0)
    offer(c, request.machine, r, word, false, records);
  else
    records.reason = off_words(c, r);
  if (!r.to_planes || c.dst_unit < 4 || !units_aligned(c))
    planes.reason = "no planes of units of 4 or 8 bytes";
  else if (word != 0 && !request.forces("packed/planes"))
    planes.reason = "planes that start on 16 bytes are for packed/records";
  else
    offer(c, request.machine, r, 16, true, planes);
}

void prepare_records(const Canonical& c, const Candidate& chosen, CudaArgs& out) {
  const Records r = find_records(c);
  const CopyMode& fields = c.modes[static_cast<std::size_t>(r.mode)];
  const CopyMode& count = c.modes[static_cast<std::size_t>(r.count)];
  auto& a = out.args.emplace<RecordsArgs>();
  std::int64_t batch = 0;
  outer_walk(c, std::uint64_t{1} << r.mode | std::uint64_t{1} << r.count, &a.batch, &batch);
  a.vector_bytes = narrowed<std::uint8_t>(chosen.get(ParamId::kVectorBytes, 16));
  a.plane_words = narrowed<std::uint32_t>(count.extent * moved_unit(c) / a.vector_bytes);
  if (chosen.get(ParamId::kBoundaryBytes) == 0) {
    a.chunks = base::FastDiv((a.plane_words + 31) / 32);
  } else {
    a.plane_units = narrowed<std::int32_t>(count.extent);
    a.chunks = base::FastDiv(tiles_of(count.extent, c.dst_unit));
    a.fields = narrowed<std::uint8_t>(r.fields);
    a.shared_bytes = records_tile_bytes(a, c.dst_unit);
    if (a.shared_bytes > kSizes.records_large_tile_bytes) a.shared_bytes = kRoomOfFour;
    a.rotation_shift = static_cast<std::uint8_t>(3 - std::min(std::countr_zero(static_cast<unsigned>(r.fields)), 3));
  }
  a.warps = narrowed<std::uint32_t>(std::int64_t{a.chunks.divisor} * batch);
  a.blocks = narrowed<std::uint32_t>(chosen.get(ParamId::kBlocks, 1));
  a.dst_offset = c.dst_offset;
  a.src_offset = c.src_offset;
  a.plane_stride = fields.src_stride;
  a.fields = narrowed<std::uint8_t>(r.fields);
  if (r.to_planes) {
    const bool backwards = fields.src_stride < 0;
    a.plane_stride = backwards ? -fields.dst_stride : fields.dst_stride;
    if (backwards) a.dst_offset += (fields.extent - 1) * fields.dst_stride;
    a.dst_offset -= r.skipped * a.plane_stride;
    a.src_offset = first_wanted(c, fields) - r.skipped * c.src_unit;
    a.first = narrowed<std::uint8_t>(r.skipped);
    a.last = narrowed<std::uint8_t>(r.skipped + fields.extent);
    a.guarded = fields.extent != r.fields;
    const ByteRange range = source_range(c);
    a.src_first = range.first;
    a.src_last = range.last;
  }
  a.to_planes = r.to_planes;
  set_dtypes(a, c);
}

}  // namespace restride::cuda
