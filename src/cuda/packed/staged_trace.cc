// What packed/staged does, told by its map.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/cuda/trace.h"

namespace restride::cuda {
namespace {

/// A tile's way out of shared memory.
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
