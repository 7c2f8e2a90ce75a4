// What packed's kernels do, told by their maps.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/cuda/kernels.h"
#include "src/cuda/trace.h"

namespace restride::cuda {
namespace {

constexpr int kWord = 16;

// ---- packed/direct ----

template <int kRank>
void trace_direct_rank(const DirectArgs& a, plan::Trace& t) {
  const int unit = t.dst_unit, units = kWord / unit;
  for (std::int32_t thread = 0; thread < kDirectThreads; ++thread) {
    const std::int64_t first = (t.piece * kDirectThreads + thread) * units - (a.dst_offset & 15) / unit;
    const auto begin = std::max<std::int64_t>(first, 0), end = std::min<std::int64_t>(first + units, a.units);
    if (begin >= end) continue;
    const bool whole = end - begin == units;
    const std::int64_t to = a.dst_offset + begin * unit;
    if (whole) t.store(0, thread, to, kWord);
    DirectUnit<kRank> at = direct_unit<kRank>(a, static_cast<std::uint32_t>(begin));
    for (std::int64_t n = begin; n < end; ++n, direct_next<kRank>(a, at)) {
      const std::int64_t dst = a.dst_offset + n * unit, src = a.src_offset + at.src;
      t.load(static_cast<std::int32_t>(n - first), thread, src, unit);
      if (!whole) t.store(static_cast<std::int32_t>(n - first), thread, dst, unit);
      t.unit(thread, dst, src);
    }
  }
}

// ---- packed/records, packed/records_cast ----

/// A warp's records and planes. The narrower side's words change hands; `ratio` words of the wider one are one of them.
struct Warp {
  const RecordsArgs& a;
  int number;           ///< of the block's warps
  std::uint32_t first;  ///< word of every plane, on the narrower side
  std::int64_t src, dst;
  int fields, unit, ratio;
  bool widens;

  std::int64_t base() const { return std::int64_t{number} * records_warp_words(fields) * kWord; }
  std::int64_t record_slot(int word) const { return base() + std::int64_t{records_slot(word, fields)} * kWord; }
  int plane_words() const { return static_cast<int>(std::min<std::int64_t>(32, std::int64_t{a.plane_words} - first)); }
  /// Byte of a side's word, from where the item of the batch starts; `times` = words for one of the narrower side.
  std::int64_t record_byte(int word, int times) const {
    return std::int64_t{first} * kWord * times * fields + std::int64_t{word} * kWord;
  }
  std::int64_t plane_byte(int word, int times) const {
    const int of_plane = 32 * times;
    return std::int64_t{first} * kWord * times + word / of_plane * a.plane_stride + word % of_plane * kWord;
  }
  bool has_record(int word, int times) const { return word < plane_words() * times * fields; }
  bool has_plane(int word, int times) const { return word % (32 * times) < plane_words() * times; }
};

/// The words of 16 bytes that a lane has of a side's `count`, one after the other.
template <class Each>
void every_word(int count, Each each) {
  for (int word = 0; word < count; ++word) each(word / 32, word % 32, word);
}

/// A load that need not lie on a word: two loads, of which the second hits the first cache.
void load_words(plan::Trace& t, const RecordsArgs& a, std::int32_t step, std::int32_t thread, std::int64_t at) {
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
  const int part_bytes = kWord / from_times;
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
    t.take(i, thread(lane), w.record_slot(lane * w.fields + i), kWord);
    t.take_plain(i, thread(lane), w.base() + std::int64_t{lane * w.fields + i} * kWord, kWord);
  });
  // Byte `b` of the plane word that a lane has of field `i`, as it lies among the lane's records.
  const auto place_of = [&](int i, int lane, int b) {
    const int byte = records_record_byte(i * kWord + b, w.unit, w.fields);
    return w.record_slot(lane * w.fields + byte / kWord) + byte % kWord;
  };
  const bool again = w.widens && w.ratio > 1;  // planes that widen change hands once more
  for (int i = 0; i < w.fields; ++i) {
    if (w.ratio == 1 && (i < w.a.first || i >= w.a.last)) continue;
    for (int lane = 0; lane < w.plane_words(); ++lane) {
      if (!again) t.store(i, thread(lane), w.dst + w.plane_byte(i * 32 + lane, 1), kWord);
      if (again)
        t.accesses.push_back(
            {plan::Space::kStage, true, 64 + i, thread(lane), w.base() + (i * 32 + lane) * kWord, kWord});
      for (int b = 0; b < kWord; b += w.unit) {
        const std::int64_t stage = place_of(i, lane, b);
        const std::int64_t dst =
            w.dst + w.plane_byte((i * 32 + lane) * to_times, to_times) + std::int64_t{b} * to_times;
        const auto storer = static_cast<std::int32_t>((lane * to_times + b * to_times / kWord) % 32);
        t.units.push_back({t.source_of(stage), dst, again ? w.base() + (i * 32 + lane) * kWord + b : stage,
                           t.loader_of(stage), thread(again ? storer : lane)});
      }
    }
  }
  if (again)
    every_word(32 * w.fields * to_times, [&](int step, int lane, int word) {
      if (!w.has_plane(word, to_times)) return;
      const RecordsPart part = records_part(word, to_times);
      t.take(64 + step, thread(lane), w.base() + part.word * kWord + part.byte, kWord / to_times);
      t.take_plain(64 + step, thread(lane), w.base() + part.word * kWord + part.byte, kWord / to_times);
      t.store(step, thread(lane), w.dst + w.plane_byte(word, to_times), kWord);
    });
}

void trace_from_planes(const Warp& w, plan::Trace& t) {
  const int from_times = w.widens ? 1 : w.ratio, to_times = w.widens ? w.ratio : 1;
  const auto thread = [&](int lane) { return w.number * 32 + lane; };
  const bool before = !w.widens && w.ratio > 1;  // planes that narrow change hands before they are a lane's own
  every_word(32 * w.fields * from_times, [&](int step, int lane, int word) {
    if (!w.has_plane(word, from_times)) return;
    t.load(step, thread(lane), w.src + w.plane_byte(word, from_times), kWord);
    if (!before) return;
    const RecordsPart part = records_part(word, from_times);
    t.accesses.push_back({plan::Space::kStage, true, 64 + step, thread(lane), w.base() + part.word * kWord + part.byte,
                          kWord / from_times});
  });
  if (before)
    every_word(32 * w.fields, [&](int i, int lane, int) {
      if (lane < w.plane_words()) t.take(64 + i, thread(lane), w.base() + (i * 32 + lane) * kWord, kWord);
    });
  for (int i = 0; i < w.fields; ++i)
    for (int lane = 0; lane < w.plane_words(); ++lane) {
      const std::int64_t slot = w.record_slot(lane * w.fields + i);
      t.accesses.push_back({plan::Space::kStage, true, i, thread(lane), slot, kWord});
      for (int b = 0; b < kWord; b += w.unit) {
        const int at = records_plane_byte(i * kWord + b, w.unit, w.fields), field = at / kWord, inside = at % kWord;
        const std::int64_t src =
            w.src + w.plane_byte((field * 32 + lane) * from_times, from_times) + std::int64_t{inside} * from_times;
        t.remember(slot + b, w.unit, src,
                   thread(before ? (lane * from_times + inside * from_times / kWord) % 32 : lane));
      }
    }
  const int part_bytes = kWord / to_times;
  every_word(32 * w.fields * to_times, [&](int step, int lane, int word) {
    if (!w.has_record(word, to_times)) return;
    const RecordsPart part = records_part(word, to_times);
    const std::int64_t stage = w.record_slot(part.word) + part.byte, to = w.dst + w.record_byte(word, to_times);
    t.take(step, thread(lane), stage, part_bytes);
    t.store(step, thread(lane), to, kWord);
    for (int b = 0; b < part_bytes; b += w.unit) t.unit_staged(thread(lane), to + b * to_times, stage + b);
  });
}

// ---- packed/planes ----

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

// ---- packed/staged ----

/// Its way out of shared memory.
class StagedWords {
 public:
  StagedWords(const PackedArgs& a, bool cast, const PackedPlace& place, plan::Trace& t)
      : a_(a),
        t_(t),
        place_(place),
        kind_(cast && a.kind != PackedKind::kFlat ? PackedKind::kLoose : a.kind),
        cast_(cast),
        units_(kWord / t.dst_unit),
        across_(kind_ == PackedKind::kTransposed ? 4 / t.dst_unit : 1),
        ends_apart_(packed_ends_apart(kind_, t.dst_unit, cast)) {
    rows_.assign(static_cast<std::size_t>(packed_row_table(a)), -1);
    std::array<std::int32_t, 16> count{};
    for (std::int32_t r = 0; r < a.rows; ++r) {
      const auto start = static_cast<std::size_t>(packed_row_entry(a, static_cast<std::uint32_t>(r)).dst & 15);
      const std::int32_t at =
          a.start_step == 0 ? r : packed_sorted_place(a, static_cast<std::int32_t>(start), count[start]++);
      rows_[static_cast<std::size_t>(at)] = r;
    }
  }

  void store() {
    if (kind_ == PackedKind::kFlat) return flat();
    const auto passes = static_cast<std::int32_t>(a_.store.passes.divisor);
    for (std::int32_t step = 0; step < a_.store.steps; ++step)
      for (std::int32_t thread = 0; thread < a_.threads; ++thread) {
        const PackedStep at =
            packed_step(a_.store, static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(thread));
        if (kind_ == PackedKind::kSorted) {
          if (at.line >= 1 << 23) continue;  // a thread without work
          // packed_step counts lines along the steps; a lane of sorted rows has those that follow each other.
          const PackedStep lane = packed_step(a_.store, 0, static_cast<std::uint32_t>(thread));
          const auto row = row_in(lane.line * passes + step % passes);
          if (lane.line < a_.store.lines && row >= 0 && row < place_.rows) word(step, thread, row, at.word);
        } else if (at.line * across_ < place_.rows) {
          word(step, thread, at.line * across_, at.word);
        }
      }
    if (ends_apart_) ends(a_.store.steps);
  }

 private:
  std::int32_t row_in(std::int32_t line) const {
    return line < static_cast<std::int32_t>(rows_.size()) ? rows_[static_cast<std::size_t>(line)] : -1;
  }
  std::int64_t stage_of(std::int64_t linear) const {
    return packed_swizzle(static_cast<std::uint32_t>(linear), a_.swizzle_shift);
  }
  std::int64_t low() const { return place_.src & 15; }

  /// Units [first, last) of a word at `to`, whose unit j lies at place(j); `n` numbers the word.
  template <class Place>
  void move(std::int32_t n, std::int32_t thread, std::int64_t to, std::int32_t first, std::int32_t last, Place place) {
    const int steps = t_.dst_unit <= 4 ? 4 : units_, part = units_ / steps;
    for (int i = 0; i < steps; ++i)
      for (int j = 0; j < part; ++j) {
        const int unit = packed_rotated(thread & 31, i, steps, a_.rotation) * part + j;
        if (unit >= first && unit < last) t_.take(n * units_ + i * part + j, thread, place(unit), t_.src_unit);
      }
    t_.store(n, thread, to + first * t_.dst_unit, std::int64_t{last - first} * t_.dst_unit);
    for (std::int32_t j = first; j < last; ++j) t_.unit_staged(thread, to + j * t_.dst_unit, place(j));
  }

  /// Word number `word` of the run in `row` (of several rows, where they are transposed).
  void word(std::int32_t step, std::int32_t thread, std::int32_t row, std::int32_t word) {
    const PackedSum entry = packed_row_entry(a_, static_cast<std::uint32_t>(row));
    const bool own = kind_ == PackedKind::kLoose || kind_ == PackedKind::kSorted;
    const auto start = static_cast<std::int32_t>((own ? place_.dst + entry.dst : place_.dst) & 15) / t_.dst_unit;
    const std::int32_t unit = word * units_ + (ends_apart_ ? packed_head(start, units_) : -start);
    const std::int32_t first = std::max(-unit, 0), last = std::min(units_, place_.run_units - unit);
    if (first >= last || (ends_apart_ && last != units_)) return;
    const auto place = [&](const PackedSum& of) {
      return [&, of](std::int32_t j) {
        return stage_of(low() + packed_run_entry(a_, static_cast<std::uint32_t>(unit + j)) + of.inside);
      };
    };
    const auto to = [&](const PackedSum& of) { return place_.dst + of.dst + std::int64_t{unit} * t_.dst_unit; };
    if (across_ == 1) return move(step, thread, to(entry), first, last, place(entry));
    // Rows side by side in every piece: 4 bytes of shared memory are a unit of each.
    for (std::int32_t j = 0; j < units_; ++j) t_.take(step * units_ + j, thread, place(entry)(j), 4);
    for (std::int32_t i = 0; i < across_ && row + i < place_.rows; ++i) {
      const PackedSum of = packed_row_entry(a_, static_cast<std::uint32_t>(row + i));
      t_.store(step * across_ + i, thread, to(of), kWord);
      for (std::int32_t j = 0; j < units_; ++j) t_.unit_staged(thread, to(of) + j * t_.dst_unit, place(of)(j));
    }
  }

  /// What runs fill in part of words.
  void ends(std::int32_t step) {
    const bool own = kind_ == PackedKind::kLoose || kind_ == PackedKind::kSorted;
    if (!own && (place_.dst & 15) == 0 && place_.run_units % units_ == 0) return;
    for (std::int32_t i = 0; i < packed_row_table(a_) * kPackedEndParts; ++i) {
      const std::int32_t row = row_in(i / kPackedEndParts), thread = i % a_.threads;
      if (row < 0 || row >= place_.rows) continue;
      const PackedSum entry = packed_row_entry(a_, static_cast<std::uint32_t>(row));
      const std::int64_t run = place_.dst + entry.dst;
      const PackedEnd end =
          packed_end(static_cast<std::int32_t>(run & 15) / t_.dst_unit, place_.run_units, units_, i % kPackedEndParts);
      if (end.first >= end.last) continue;
      const std::int32_t n = step + i / a_.threads;
      t_.store(n, thread, run + std::int64_t{end.first} * t_.dst_unit,
               std::int64_t{end.last - end.first} * t_.dst_unit);
      for (std::int32_t p = end.first; p < end.last; ++p) {
        const std::int64_t at = stage_of(low() + packed_run_entry(a_, static_cast<std::uint32_t>(p)) + entry.inside);
        t_.take(n * units_ + p - end.unit, thread, at, t_.src_unit);
        t_.unit_staged(thread, run + std::int64_t{p} * t_.dst_unit, at);
      }
    }
  }

  /// Runs that follow each other: words pass from one to the next.
  void flat() {
    const std::int32_t all = place_.rows * a_.run_units,
                       skew = static_cast<std::int32_t>(place_.dst & 15) / t_.dst_unit;
    const auto flat_word = [&](std::int32_t n, std::int32_t thread, std::int32_t unit, std::int32_t known,
                               std::int64_t behind) {
      const std::uint32_t run = a_.flat_run.quotient(static_cast<std::uint32_t>(std::max(known, 0)));
      const std::int32_t in_run = known - static_cast<std::int32_t>(run * a_.flat_run.divisor);
      move(n, thread, place_.dst + std::int64_t{unit} * t_.dst_unit, std::max(-unit, 0), std::min(units_, all - unit),
           [&](std::int32_t j) {
             return low() + behind + packed_run_entry(a_, static_cast<std::uint32_t>(in_run + j)) +
                    static_cast<std::int64_t>(run) * a_.flat_step;
           });
    };
    if (cast_) {
      for (std::int32_t item = 0; item * units_ - skew < all; ++item)
        flat_word(item / kPackedThreads, item % kPackedThreads, item * units_ - skew, item * units_ - skew, 0);
      return;
    }
    const std::int32_t cycle = a_.cycles.runs * a_.run_units;
    const std::uint32_t items = static_cast<std::uint32_t>(a_.cycles.together) * a_.cycles.words.divisor;
    for (std::uint32_t item = 0; item < items; ++item) {
      const PackedStep at = packed_cycle_word(a_.cycles, item);
      const std::int32_t first = at.word * units_ - skew, thread = static_cast<std::int32_t>(item) % a_.threads;
      std::int32_t n = static_cast<std::int32_t>(item) / a_.threads * 1024;
      for (std::int32_t c = at.line; first + c * cycle < all; c += a_.cycles.together, ++n)
        // The first word of a tile that starts off a word is looked up anew in each cycle.
        flat_word(n, thread, first + c * cycle, first < 0 ? first + c * cycle : first,
                  first < 0 ? 0 : std::int64_t{c} * a_.cycles.runs * a_.flat_step);
    }
  }

  const PackedArgs& a_;
  plan::Trace& t_;
  const PackedPlace& place_;
  PackedKind kind_;
  bool cast_;
  std::int32_t units_;
  std::int32_t across_;
  bool ends_apart_;
  std::vector<std::int32_t> rows_;  ///< by place in the table
};

/// How lanes stay out of each other's banks.
std::string banks_words(const PackedArgs& a, int unit) {
  std::string out =
      "Pieces lie in shared memory as they lie in src. Lanes that collect neighbouring words of dst take units that "
      "lie as far apart as src has them; they would wait for each other where such units are different words of one "
      "bank. ";
  bool any = false;
  const auto add = [&](const std::string& words) {
    out += any ? "Also, " + words : "Here " + words;
    any = true;
  };
  if (a.swizzle_shift != kNoSwizzle)
    add(
        fmt::format("every 16-byte word has one of 8 places in its line of 128 bytes: its own, XORed with bits of its "
                    "address, so that units {} bytes apart lie in different banks. ",
                    16 << a.swizzle_shift));
  if (a.pad_shift != kNoPad)
    add(
        fmt::format("one 16-byte word is left free after every {} pieces, so that units {} pieces apart lie in "
                    "different banks. ",
                    1 << a.pad_shift, 1 << a.pad_shift));
  if (a.rotation != PackedRotation{}) {
    const int steps = unit <= 4 ? 4 : kWord / unit;
    int group = 1;
    while (group < 32 && packed_rotated(group, 0, steps, a.rotation) == packed_rotated(0, 0, steps, a.rotation))
      ++group;
    add(
        fmt::format("lanes do not all begin with the first of their word's {} parts: lanes 0 to {} do, the next ones "
                    "begin with part {}. ",
                    steps, group - 1, packed_rotated(group, 0, steps, a.rotation)));
  }
  out += any ? "Several ways were tried on one simulated warp, and this one cost least. "
             : "Nothing is done about that here: for one simulated warp a swizzle, padding and another order each cost "
               "more than they gained. ";
  return out;
}

}  // namespace

void trace_kernel(const DirectArgs& a, const CudaArgs&, plan::Trace& t) {
  t.piece_is = "block";
  set_pieces(t, a.blocks, a.blocks, kDirectThreads);
  a.rank == 2 ? trace_direct_rank<2>(a, t) : a.rank == 3 ? trace_direct_rank<3>(a, t) : trace_direct_rank<4>(a, t);
}

void trace_kernel(const RecordsArgs& a, const CudaArgs& args, plan::Trace& t) {
  if (args.kernel->name.text == "packed/planes") return trace_planes(a, t);
  t.piece_is = "block";
  set_pieces(t, a.blocks, a.blocks, kRecordsThreads);
  const bool widens = t.dst_unit > t.src_unit;
  const char* accessed = a.to_planes ? "reads" : "writes";
  t.stage_is = fmt::format(
      "A lane {} the words of its own records, {} of 16 bytes that follow each other; {} lanes are served in a cycle. ",
      accessed, a.fields, kWord / 2);
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

void trace_kernel(const BatchArgs& a, const CudaArgs&, plan::Trace& t) {
  set_pieces(t, a.tiles, a.tiles, a.threads);
  t.stage_is =
      "The tile lies in shared memory as it lies in src. A lane collects the units of a word of dst one after the "
      "other, "
      "which lie as far apart as the matrix has them, and nothing is padded: lanes meet where that distance brings "
      "different words into one bank. ";
  const BatchPlace place = batch_place(a, static_cast<std::uint32_t>(t.piece));
  const auto low = static_cast<std::uint32_t>(place.at.src & 15);
  const std::int32_t bytes = batch_piece_bytes(a, place.matrices),
                     words = static_cast<std::int32_t>(a.piece_words.divisor);
  for (std::int32_t item = 0; item < batch_pieces(a, place.matrices) * words; ++item) {
    const std::int64_t start = place.at.src + item / words * a.src_pitch, off = item % words * kWord - (start & 15);
    if (off >= bytes) continue;
    load_word_staged(t, item / a.threads, item % a.threads, start + off, kWord, a.src_first, a.src_last,
                     item / words * a.piece_pitch + item % words * kWord);
  }
  const std::int32_t unit = t.dst_unit, units = a.word_bytes / unit;
  const auto collect = [&](std::int32_t step, std::int32_t thread, std::int32_t byte) {
    const BatchUnit place_of = batch_unit(a, byte / unit);
    const std::int64_t at = batch_line(a, static_cast<std::uint32_t>(place_of.line), low) + place_of.at * a.unit_step;
    t.take(step, thread, at, unit);
    t.unit_staged(thread, place.at.dst + byte, at);
  };
  const BatchRun run = batch_run(a, place.matrices, static_cast<std::uint32_t>(place.at.dst));
  const std::int32_t lanes = a.kept_words != 0 ? a.kept_words : a.threads;  // that collect words
  for (std::int32_t word = 0; word < run.words; ++word) {
    const std::int32_t step = word / lanes, thread = word % lanes, byte = run.head + word * a.word_bytes;
    for (std::int32_t u = 0; u < units; ++u) collect(step * units + u, thread, byte + u * unit);
    t.store(step, thread, place.at.dst + byte, a.word_bytes);
  }
  const std::int32_t behind = (run.words + lanes - 1) / lanes;  // steps
  for (std::int32_t n = 0; n < (run.head + run.tail) / unit; ++n) {
    const std::int32_t byte = n * unit < run.head ? n * unit : n * unit + run.words * a.word_bytes;
    collect(behind * units, n, byte);
    t.store(behind, n, place.at.dst + byte, unit);
  }
}

void trace_kernel(const PackedArgs& a, const CudaArgs& args, plan::Trace& t) {
  set_pieces(t, a.tiles, a.blocks, a.threads);
  const PackedPlace place = packed_place(a, static_cast<std::uint32_t>(t.piece));
  const std::int64_t low = place.src & 15;
  for (std::int32_t step = 0; step < a.load.steps; ++step)
    for (std::int32_t thread = 0; thread < a.threads; ++thread) {
      const PackedStep at = packed_step(a.load, static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(thread));
      if (at.line >= place.pieces) continue;
      const PackedSum sum = packed_sum(a.piece_modes, static_cast<std::uint32_t>(at.line));
      const std::int64_t from = place.src + sum.src, off = at.word * kWord - (from & 15);
      if (off >= place.piece_bytes) continue;
      const std::int64_t linear = low + packed_piece_base(a, at.line, sum.src) + off;
      load_word_staged(t, step, thread, from + off, kWord, a.src_first, a.src_last,
                       packed_swizzle(static_cast<std::uint32_t>(linear), a.swizzle_shift));
    }
  StagedWords(a, args.units.cast, place, t).store();
  PackedArgs plain = a;
  plain.swizzle_shift = kNoSwizzle;
  plain.pad_shift = kNoPad;
  plain.rotation = {};
  plan::Trace without;
  without.src_unit = t.src_unit;
  without.dst_unit = t.dst_unit;
  StagedWords(plain, args.units.cast, place, without).store();
  for (const plan::Access& access : without.accesses)
    if (access.space == plan::Space::kStage) t.plain_reads.push_back(access);
  t.stage_is = banks_words(a, t.dst_unit);
}

}  // namespace restride::cuda
