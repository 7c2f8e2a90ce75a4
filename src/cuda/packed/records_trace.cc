// What packed/records, packed/records_cast and packed/planes do, told by their map.
#include <algorithm>

#include <fmt/format.h>

#include "src/cuda/kernels.h"
#include "src/cuda/trace.h"

namespace restride::cuda {
namespace {

/// A warp's records and planes. The narrower side's words change hands; `ratio` words of the wider one are one of them.
struct Warp {
  const RecordsArgs& a;
  int number;           ///< of the block's warps
  std::uint32_t first;  ///< word of every plane, on the narrower side
  std::int64_t src, dst;
  int fields, unit, ratio;
  bool widens;
  int word_bytes = a.vector_bytes;  ///< of a word

  std::int64_t base() const { return std::int64_t{number} * records_warp_words(fields) * word_bytes; }
  std::int64_t record_slot(int word) const { return base() + std::int64_t{records_slot(word, fields)} * word_bytes; }
  int plane_words() const { return static_cast<int>(std::min<std::int64_t>(32, std::int64_t{a.plane_words} - first)); }
  /// Byte of a side's word, from where the item of the batch starts; `times` = words for one of the narrower side.
  std::int64_t record_byte(int word, int times) const {
    return std::int64_t{first} * word_bytes * times * fields + std::int64_t{word} * word_bytes;
  }
  std::int64_t plane_byte(int word, int times) const {
    const int of_plane = 32 * times;
    return std::int64_t{first} * word_bytes * times + word / of_plane * a.plane_stride + word % of_plane * word_bytes;
  }
  bool has_record(int word, int times) const { return word < plane_words() * times * fields; }
  bool has_plane(int word, int times) const { return word % (32 * times) < plane_words() * times; }
};

/// The words that a lane has of a side's `count`, one after the other.
template <class Each>
void every_word(int count, Each each) {
  for (int word = 0; word < count; ++word) each(word / 32, word % 32, word);
}

/// A load that need not lie on a word: two loads, of which the second hits the first cache.
void load_words(plan::Trace& t, const RecordsArgs& a, std::int32_t step, std::int32_t thread, std::int64_t at) {
  if (a.vector_bytes < kWord) return t.load(2 * step, thread, at, a.vector_bytes);
  const std::int64_t low = at & ~std::int64_t{15};
  const std::int64_t first = a.guarded || low != at ? a.src_first : INT64_MIN;
  const std::int64_t last = a.guarded || low != at ? a.src_last : INT64_MAX;
  const auto part = [&](std::int32_t s, std::int64_t from) {
    const std::int64_t begin = std::max(from, first), end = std::min(from + kWord, last);
    if (begin < end) t.load(s, thread, begin, end - begin);
  };
  part(2 * step, low);
  if (low != at) part(2 * step + 1, low + kWord);
}

void trace_to_planes(const Warp& w, plan::Trace& t) {
  const int from_times = w.widens ? 1 : w.ratio, to_times = w.widens ? w.ratio : 1;
  const auto thread = [&](int lane) { return w.number * 32 + lane; };
  const int part_bytes = w.word_bytes / from_times;
  every_word(32 * w.fields * from_times, [&](int step, int lane, int word) {
    if (!w.has_record(word, from_times)) return;
    const std::int64_t at = w.src + w.record_byte(word, from_times);
    load_words(t, w.a, step, thread(lane), at);
    const RecordsPart part = records_part(word, from_times);
    t.put(step, thread(lane), w.record_slot(part.word) + part.byte, part_bytes, at, thread(lane));
    // The stage holds narrow units: of a wide word one unit lies behind the other, each with its own source.
    if (from_times > 1)
      for (int b = 0; b < part_bytes; b += w.unit)
        t.remember(w.record_slot(part.word) + part.byte + b, w.unit, at + b * from_times, thread(lane));
  });
  every_word(32 * w.fields, [&](int i, int lane, int) {
    if (lane >= w.plane_words()) return;
    t.take(i, thread(lane), w.record_slot(lane * w.fields + i), w.word_bytes);
    t.take_plain(i, thread(lane), w.base() + std::int64_t{lane * w.fields + i} * w.word_bytes, w.word_bytes);
  });
  // Byte `b` of the plane word that a lane has of field `i`, as it lies among the lane's records.
  const auto place_of = [&](int i, int lane, int b) {
    const int byte = records_record_byte(i * w.word_bytes + b, w.unit, w.fields, w.word_bytes);
    return w.record_slot(lane * w.fields + byte / w.word_bytes) + byte % w.word_bytes;
  };
  const bool again = w.widens && w.ratio > 1;  // planes that widen change hands once more
  for (int i = 0; i < w.fields; ++i) {
    if (w.ratio == 1 && (i < w.a.first || i >= w.a.last)) continue;
    for (int lane = 0; lane < w.plane_words(); ++lane) {
      if (!again) t.store(i, thread(lane), w.dst + w.plane_byte(i * 32 + lane, 1), w.word_bytes);
      if (again)
        t.accesses.push_back(
            {plan::Space::kStage, true, 64 + i, thread(lane), w.base() + (i * 32 + lane) * w.word_bytes, w.word_bytes});
      for (int b = 0; b < w.word_bytes; b += w.unit) {
        const std::int64_t stage = place_of(i, lane, b);
        const std::int64_t dst =
            w.dst + w.plane_byte((i * 32 + lane) * to_times, to_times) + std::int64_t{b} * to_times;
        const auto storer = static_cast<std::int32_t>((lane * to_times + b * to_times / w.word_bytes) % 32);
        t.units.push_back({t.source_of(stage), dst, again ? w.base() + (i * 32 + lane) * w.word_bytes + b : stage,
                           t.loader_of(stage), thread(again ? storer : lane)});
      }
    }
  }
  if (again)
    every_word(32 * w.fields * to_times, [&](int step, int lane, int word) {
      if (!w.has_plane(word, to_times)) return;
      const RecordsPart part = records_part(word, to_times);
      t.take(64 + step, thread(lane), w.base() + part.word * w.word_bytes + part.byte, w.word_bytes / to_times);
      t.take_plain(64 + step, thread(lane), w.base() + part.word * w.word_bytes + part.byte, w.word_bytes / to_times);
      t.store(step, thread(lane), w.dst + w.plane_byte(word, to_times), w.word_bytes);
    });
}

void trace_from_planes(const Warp& w, plan::Trace& t) {
  const int from_times = w.widens ? 1 : w.ratio, to_times = w.widens ? w.ratio : 1;
  const auto thread = [&](int lane) { return w.number * 32 + lane; };
  const bool before = !w.widens && w.ratio > 1;  // planes that narrow change hands before they are a lane's own
  every_word(32 * w.fields * from_times, [&](int step, int lane, int word) {
    if (!w.has_plane(word, from_times)) return;
    t.load(step, thread(lane), w.src + w.plane_byte(word, from_times), w.word_bytes);
    if (!before) return;
    const RecordsPart part = records_part(word, from_times);
    t.accesses.push_back({plan::Space::kStage, true, 64 + step, thread(lane),
                          w.base() + part.word * w.word_bytes + part.byte, w.word_bytes / from_times});
  });
  if (before)
    every_word(32 * w.fields, [&](int i, int lane, int) {
      if (lane < w.plane_words()) t.take(64 + i, thread(lane), w.base() + (i * 32 + lane) * w.word_bytes, w.word_bytes);
    });
  for (int i = 0; i < w.fields; ++i)
    for (int lane = 0; lane < w.plane_words(); ++lane) {
      const std::int64_t slot = w.record_slot(lane * w.fields + i);
      t.accesses.push_back({plan::Space::kStage, true, i, thread(lane), slot, w.word_bytes});
      for (int b = 0; b < w.word_bytes; b += w.unit) {
        const int at = records_plane_byte(i * w.word_bytes + b, w.unit, w.fields, w.word_bytes);
        const int field = at / w.word_bytes, inside = at % w.word_bytes;
        const std::int64_t src =
            w.src + w.plane_byte((field * 32 + lane) * from_times, from_times) + std::int64_t{inside} * from_times;
        t.remember(slot + b, w.unit, src,
                   thread(before ? (lane * from_times + inside * from_times / w.word_bytes) % 32 : lane));
      }
    }
  const int part_bytes = w.word_bytes / to_times;
  every_word(32 * w.fields * to_times, [&](int step, int lane, int word) {
    if (!w.has_record(word, to_times)) return;
    const RecordsPart part = records_part(word, to_times);
    const std::int64_t stage = w.record_slot(part.word) + part.byte, to = w.dst + w.record_byte(word, to_times);
    t.take(step, thread(lane), stage, part_bytes);
    t.store(step, thread(lane), to, w.word_bytes);
    for (int b = 0; b < part_bytes; b += w.unit) t.unit_staged(thread(lane), to + b * to_times, stage + b);
  });
}

void trace_planes(const RecordsArgs& a, plan::Trace& t) {
  const int unit = t.dst_unit, units = kWord / unit, record = a.fields * unit;
  set_pieces(t, a.blocks, a.blocks, kRecordsThreads);
  const RecordsTile tile = records_tile(a, static_cast<std::uint32_t>(t.piece), unit);
  t.stage_is = fmt::format(
      "A lane collects one word of a plane: {} units, which lie one record of {} bytes apart. The words of {} lanes "
      "begin in different banks. The next {} lanes would begin in the same ones, so they collect the units of their "
      "words in another order, each group one unit later than the group before it. ",
      units, record, 1 << a.rotation_shift, 1 << a.rotation_shift);
  const std::int64_t from = a.src_offset + tile.at.src + std::int64_t{tile.from} * record;
  const auto low = static_cast<int>(from & (kRecordsLine - 1));
  const int bytes = low + (tile.to - tile.from) * record;
  for (int item = 0; item * kWord < bytes; ++item)
    if (item * kWord + kWord > low)
      load_word_staged(t, item / t.threads, item % t.threads, from - low + item * kWord, kWord, a.src_first, a.src_last,
                       item * kWord);
  for (int field = a.first; field < a.last; ++field) {
    const std::int64_t plane = a.dst_offset + tile.at.dst + field * a.plane_stride;
    const auto skew = static_cast<int>(plane & (kPlaneBoundary - 1)) / unit;
    for (std::int32_t thread = 0; thread < t.threads; ++thread) {
      const int first = tile.first - skew + thread * units, rotation = records_rotation(a, thread & 31, units);
      const int begin = std::max(-first, 0), end = std::min(units, a.plane_units - first);
      if (begin >= end) continue;
      const bool whole = begin == 0 && end == units;
      const auto place = [&](int i) { return low + std::int64_t{first + i - tile.from} * record + field * unit; };
      const std::int64_t to = plane + std::int64_t{first} * unit;
      for (int i = begin; i < end; ++i) {
        t.take(field * units + i, thread, place(whole ? (i + rotation) & (units - 1) : i), unit);
        t.take_plain(field * units + i, thread, place(i), unit);
      }
      if (whole) t.store(field * units, thread, to, kWord);
      for (int i = begin; i < end; ++i) {
        if (!whole) t.store(field * units + i, thread, to + i * unit, unit);
        t.unit_staged(thread, to + i * unit, place(i));
      }
    }
  }
}

}  // namespace

void trace_kernel(const RecordsArgs& a, const CudaArgs& args, plan::Trace& t) {
  if (args.kernel->name.text == "packed/planes") return trace_planes(a, t);
  t.piece_is = "block";
  set_pieces(t, a.blocks, a.blocks, kRecordsThreads);
  const bool widens = t.dst_unit > t.src_unit;
  const char* accessed = a.to_planes ? "reads" : "writes";
  t.stage_is = fmt::format(
      "A lane {} the words of its own records, {} of {} bytes that follow each other; {} lanes are served in a cycle. ",
      accessed, a.fields, a.vector_bytes, 128 / a.vector_bytes);
  t.stage_is += a.fields % 2 == 0
                    ? fmt::format(
                          "An even number of words would let lanes meet in the same banks, so one word is left "
                          "free after each lane's {}. ",
                          a.fields)
                    : fmt::format("The number is odd, so lanes side by side begin in different banks. ");
  t.stage_is += fmt::format("The warp {} words side by side on the other side of the exchange. ",
                            a.to_planes ? "writes" : "reads");
  const int unit = std::min(t.src_unit, t.dst_unit), ratio = std::max(t.src_unit, t.dst_unit) / unit;
  for (int n = 0; n < kRecordsThreads / 32; ++n) {
    const std::int64_t warp = t.piece * (kRecordsThreads / 32) + n;
    if (warp >= a.warps) break;
    const RecordsPlace place = records_place(a, static_cast<std::uint32_t>(warp));
    const Warp w{a,    n,     place.first, a.src_offset + place.at.src, a.dst_offset + place.at.dst, a.fields,
                 unit, ratio, widens};
    a.to_planes ? trace_to_planes(w, t) : trace_from_planes(w, t);
  }
}

}  // namespace restride::cuda
