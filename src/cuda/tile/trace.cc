// What tile's kernels do, told by their maps.
#include <algorithm>

#include <fmt/format.h>

#include "src/cuda/kernels.h"
#include "src/cuda/trace.h"

namespace restride::cuda {
namespace {

/// Steps from here on come after the steps of lanes that transpose.
constexpr std::int32_t kTransposed = 1 << 20;

/// A tile and where it lies.
struct Here {
  const TileArgs& a;
  TilePlace place;
  std::int64_t src = 0;  ///< of the tile's first row of src, its first unit
  std::int64_t dst = 0;  ///< of unit 0 along d of the tile's first row of dst
  int units;             ///< of dst, in a word
  int across;            ///< rows of dst that a lane makes at once

  Here(const TileArgs& args, const plan::Trace& t, std::int64_t pixel = 0)
      : a(args),
        place(tile_place(args, static_cast<std::uint32_t>(t.piece))),
        units(kWordBytes / t.dst_unit),
        across(t.src_unit < 4 ? 4 / t.src_unit : 1) {
    const Offsets batch = offsets(a.batch, place.batch);
    src = a.src_offset + batch.src + place.d * a.src_pitch + std::int64_t{place.s} * (pixel != 0 ? pixel : t.src_unit);
    dst = a.dst_offset + batch.dst + place.s * a.dst_pitch;
  }
};

/// tile/aligned's loads, and tile/chains': words along rows of src, into lines of the stage.
/// `word_of(row, word)` is where a word of a row lies.
template <class WordOf, class StageByte>
void load_lines(const Here& h, plan::Trace& t, WordOf word_of, StageByte stage_byte) {
  const int row_words = h.a.tile_s * t.src_unit / kWordBytes, rows_a_step = t.threads / row_words;
  for (std::int32_t step = 0; step * rows_a_step < h.a.tile_d; ++step)
    for (std::int32_t thread = 0; thread < t.threads; ++thread) {
      const std::int32_t row = thread / row_words + step * rows_a_step, byte = thread % row_words * kWordBytes;
      if (h.place.d + row >= h.a.d_extent || tile_units_left(h.a, h.place, byte / t.src_unit) <= 0) continue;
      load_word_staged(t, step, thread, word_of(row, byte / kWordBytes), kWordBytes, h.a.src_first, h.a.src_last,
                       stage_byte(row, byte));
    }
}

/// The way out of lines of the stage, of all kernels whose rows lie on words: write_tile in stage.cuh.
template <class WordOf, class StageByte>
void store_lines(const Here& h, plan::Trace& t, int log, WordOf word_of, StageByte stage_byte) {
  const int units = h.units, across = h.across, groups = h.a.tile_d / units;
  t.stage_is =
      "A word of 16 bytes has one of 8 places in its line of 128 bytes: its own, XORed with a number that changes "
      "from line to line (a swizzle). So lanes that take a row of dst out of lines below each other find it in up to 8 "
      "different "
      "places. Without the XOR it would lie in the same banks of every line. ";
  if (log == 4)
    t.stage_is +=
        "Here 16 lanes take one row of dst, so two of them share each place. That is on purpose: they write 256 bytes "
        "of the row at once, and memory gains more by that than the second cycle costs. ";
  for (std::int32_t step = 0; step < groups * h.a.tile_s / across / t.threads; ++step)
    for (std::int32_t thread = 0; thread < t.threads; ++thread) {
      const TileStore at = tile_line_store(step, thread, t.threads, log, h.a.tile_s / across);
      const int s = at.s * across, d = h.place.d + at.word * units;
      if (d >= h.a.d_extent || h.place.s + s >= h.a.s_extent) continue;
      for (int j = 0; j < units; ++j) {
        const std::int32_t byte = s * t.src_unit, at_stage = stage_byte(at.word * units + j, byte);
        t.take(step * units + j, thread, at_stage, across * t.src_unit);
        t.take_plain(step * units + j, thread, (at_stage & ~(kLineBytes - 1)) + byte % kLineBytes, across * t.src_unit);
      }
      const int last = std::min(units, h.a.d_extent - d);
      for (int i = 0; i < across && h.place.s + s + i < h.a.s_extent; ++i) {
        const std::int64_t to = word_of(s + i, at.word);
        t.store(step * across + i, thread, to, last * t.dst_unit);
        for (int j = 0; j < last; ++j)
          t.unit_staged(thread, to + j * t.dst_unit, stage_byte(at.word * units + j, (s + i) * t.src_unit));
      }
    }
}

/// Words of rows one after the other, of which the first begins at `first`.
auto pitched(std::int64_t first, std::int64_t pitch) {
  return [=](std::int64_t row, std::int64_t word) { return first + row * pitch + word * kWordBytes; };
}

/// The tile's rows of dst, and how a warp writes them.
auto rows_of_dst(const Here& h, const plan::Trace& t) {
  return pitched(h.dst + std::int64_t{h.place.d} * t.dst_unit, h.a.dst_pitch);
}
int store_log(const Here& h) {
  return tile_store_log(h.a.tile_d / h.units, (h.a.d_extent - h.place.d + h.units - 1) / h.units);
}

/// The stage of the kernels for rows on words.
auto lines_of(const Here& h) {
  return [&h](std::int32_t row, std::int32_t byte) { return tile_stage_byte(row, byte, h.units, h.a.tile_d); };
}

/// The loads of the kernels for rows that start anywhere: load_tile in load.cuh.
void load_rows(const Here& h, plan::Trace& t) {
  const std::int64_t from = h.src - h.a.halo * h.a.src_pitch, low = from & 15;
  const std::int64_t row_bytes = std::int64_t{std::min(h.a.tile_s, h.a.s_extent - h.place.s)} * t.src_unit;
  const auto items = static_cast<std::int32_t>((h.a.halo + h.a.tile_d) * h.a.row_words.divisor);
  if (h.a.halo > 1)
    t.load_is = fmt::format(
        "Rows of dst start inside their sectors, so the tile has up to {} rows of src more, in front of its own. {}",
        h.a.halo - 1,
        h.place.d == 0 ? "Here these lie outside the tensor, so the threads that would read them load nothing. " : "");
  for (std::int32_t item = 0; item < items; ++item) {
    const TileLoad at = tile_load(h.a, static_cast<std::uint32_t>(item));
    const int d = h.place.d - h.a.halo + at.row;
    if (at.row < (h.a.halo != 0 ? 1 : 0) || d < 0 || d >= h.a.d_extent) continue;
    const std::int64_t row = from + at.row * h.a.src_pitch, off = at.word * kWordBytes - (row & 15);
    if (off >= row_bytes) continue;
    load_word_staged(t, item / t.threads, item % t.threads, row + off, kWordBytes, h.a.src_first, h.a.src_last,
                     low + tile_row_base(h.a, at.row, h.units) + off);
  }
}

/// tile/unaligned: words of dst collected unit by unit; tile/registers: `across` rows of them at once, by 4 bytes.
void store_collected(const Here& h, plan::Trace& t, int across) {
  t.stage_is =
      "Lanes that write one row of dst take their units out of a column of the stage. Rows of src that fill one word "
      "of dst lie an odd number of 16-byte words behind those of the word before, so these lanes begin in different "
      "banks. Without a gap between the rows they would begin in the same banks. Where rows of dst start differently "
      "in their sectors, lanes of different rows may meet all the same. ";
  if (const auto row_words = static_cast<int>(h.a.row_words.divisor); row_words % 8 != 0)
    t.stage_is += fmt::format(
        "In writing, a row of src takes {} lanes, so the 8 lanes of a cycle may have two rows, whose words may meet in "
        "a bank. ",
        row_words);
  const int units = h.units, words = h.a.tile_d / units;
  const std::int64_t low = (h.src - h.a.halo * h.a.src_pitch) & 15;
  for (std::int32_t item = 0; item < words * h.a.tile_s / across; ++item) {
    const TileStore at = tile_store(item, words / 8, h.a.tile_s / across);
    const std::int32_t step = item / t.threads, thread = item % t.threads, s = at.s * across;
    if (h.place.s + s >= h.a.s_extent) continue;
    const std::int64_t row = h.dst + s * h.a.dst_pitch;
    const int skew = static_cast<int>(row & h.a.skew_mask) / t.dst_unit;
    const int local = at.word * units - skew + h.a.halo, d = h.place.d + local - h.a.halo;
    const int first = std::max(-d, 0), last = std::min(units, h.a.d_extent - d);
    if (first >= last) continue;
    const auto place = [&](int j) { return low + tile_row_base(h.a, local + j, units) + s * t.src_unit; };
    const std::int64_t plain_pitch = std::int64_t{h.a.tile_s} * t.src_unit;
    for (int j = across > 1 ? 0 : first; j < (across > 1 ? units : last); ++j) {
      t.take(step * units + j, thread, place(j), across * t.src_unit);
      t.take_plain(step * units + j, thread, (local + j) * plain_pitch + s * t.src_unit, across * t.src_unit);
    }
    for (int i = 0; i < across && h.place.s + s + i < h.a.s_extent; ++i) {
      const std::int64_t to = row + i * h.a.dst_pitch + std::int64_t{d} * t.dst_unit;
      t.store(step * across + i, thread, to + first * t.dst_unit, std::int64_t{last - first} * t.dst_unit);
      for (int j = first; j < last; ++j) t.unit_staged(thread, to + j * t.dst_unit, place(j) + i * t.src_unit);
    }
  }
}

/// Threads of tile/chains' instance.
std::int32_t chain_threads(int unit, const TileArgs& a) {
#define RESTRIDE_X(bytes, d, s, threads, blocks) \
  if (unit == bytes && a.tile_d == d && a.tile_s == s) return threads;
  RESTRIDE_CHAIN_SHAPES(RESTRIDE_X)
#undef RESTRIDE_X
  return kTileThreads;
}

}  // namespace

void trace_kernel(const TileArgs& a, const CudaArgs& args, plan::Trace& t) {
  set_pieces(t, a.tiles, a.tiles, kTileThreads);
  const Here h(a, t);
  if (args.kernel->name.text == "tile/aligned") {
    load_lines(h, t, pitched(h.src, a.src_pitch), lines_of(h));
    store_lines(h, t, store_log(h), rows_of_dst(h, t), lines_of(h));
    return;
  }
  load_rows(h, t);
  store_collected(h, t, args.kernel->name.text == "tile/registers" ? h.across : 1);
}

void trace_kernel(const BulkTileArgs& b, const CudaArgs&, plan::Trace& t) {
  const TileArgs& a = b.tile;
  set_pieces(t, a.tiles, b.stages == 1 ? a.tiles : a.blocks, kTileThreads);
  const Here h(a, t);
  const int groups = a.tile_d / h.units;
  const TileTensor tensor = tile_tensor(a, t.src_unit, h.units);
  for (int box = 0; box < a.tile_s * t.src_unit / kLineBytes; ++box) {
    const TileBox corner = tile_box(a, h.place, box, t.src_unit, h.units);
    for (int row = 0; row < h.units; ++row)
      for (int group = 0; group < groups; ++group)
        for (int byte = 0; byte < kLineBytes; byte += kWordBytes) {
          const std::int64_t at[5] = {corner.at[0] + byte, corner.at[1] + group, corner.at[2] + row, corner.at[3],
                                      corner.at[4]};
          std::int64_t from = a.src_offset;
          bool inside = true;
          for (int m = 0; m < 5; ++m) {
            inside = inside && at[m] < tensor.extent[m];
            from += at[m] * tensor.stride_bytes[m];
          }
          if (inside)
            t.load_staged(box, plan::kEngine, from, std::min<std::int64_t>(kWordBytes, tensor.extent[0] - at[0]),
                          tile_stage_byte(group * h.units + row, box * kLineBytes + byte, h.units, a.tile_d));
        }
  }
  store_lines(h, t, store_log(h), rows_of_dst(h, t), lines_of(h));
}

void trace_kernel(const ChainArgs& c, const CudaArgs&, plan::Trace& t) {
  const TileArgs& a = c.tile;
  set_pieces(t, a.tiles, a.tiles, chain_threads(t.dst_unit, a));
  const Here h(a, t);
  const Offsets batch = offsets(a.batch, h.place.batch);
  const int groups = a.tile_d / h.units;
  const auto stage = [&](std::int32_t row, std::int32_t byte) { return chain_stage_byte(row, byte, h.units, groups); };
  const auto entry = [&](int i) { return chain_entry(c, h.place, a.tile_d, a.tile_s, h.units, i); };
  const int dst_words = a.tile_d + a.tile_s, src_words = dst_words + groups;
  load_lines(
      h, t,
      [&](int row, int word) {
        return a.src_offset + batch.src + bytes_of(entry(src_words + word)) + bytes_of(entry(row));
      },
      stage);
  store_lines(
      h, t, tile_store_log(groups, groups),
      [&](int s, int word) {
        return a.dst_offset + batch.dst + bytes_of(entry(dst_words + word)) + bytes_of(entry(a.tile_d + s));
      },
      stage);
}

namespace {

/// A unit that a lane took from a row of src, and puts into a row of dst when all lanes have theirs.
struct Transposed {
  std::int64_t to, src;
  std::int32_t thread, loader, step;
};

/// Puts what lanes have taken by words of 4 bytes.
void put_transposed(const std::vector<Transposed>& transposed, std::int32_t unit, plan::Trace& t) {
  for (const Transposed& u : transposed)
    if (u.to % 4 == 0) t.put(kTransposed + u.step, u.thread, u.to, 4, u.src, u.loader);
  for (const Transposed& u : transposed) t.remember(u.to, unit, u.src, u.loader);
}

/// Patches of bytes on their way from rows of src to rows of dst in the same place: a lane takes its patches' words,
/// transposes them, and puts the words of dst.
void transpose_patches(const UnalignedChainArgs& c, const TilePlace& place, const UnalignedWindow& window,
                       const std::vector<std::int64_t>& starts, plan::Trace& t) {
  std::vector<Transposed> transposed;
  for (std::int32_t item = 0; item < unaligned_patches(c); ++item) {
    const PatchPlace at = patch_place(c, item);
    if (c.run_rows == 0 && place.d - c.tile.halo + at.d >= window.last) continue;
    const std::int32_t step = item / c.threads, thread = item % c.threads;
    for (int j = 0; j < kPatchRows; ++j) {
      const std::int64_t first = starts[static_cast<std::size_t>(at.d) + static_cast<std::size_t>(j)] + at.s;
      for (int w = 0; w <= kPatchBytes / 4; ++w)
        t.take((step * kPatchRows + j) * 4 + w, thread, (first + 4 * w) & ~std::int64_t{3}, 4);
    }
    for (int i = 0; i < kPatchBytes; ++i)
      for (int j = 0; j < kPatchRows; ++j) {
        const std::int64_t from = starts[static_cast<std::size_t>(at.d) + static_cast<std::size_t>(j)] + at.s + i;
        const std::int64_t to = transposed_line(c, at.s + i) + at.d + j;
        if (t.source_of(from) >= 0)
          transposed.push_back({to, t.source_of(from), thread, t.loader_of(from), step * kPatchBytes + i});
      }
  }
  put_transposed(transposed, 1, t);
}

}  // namespace

void trace_kernel(const UnalignedChainArgs& c, const CudaArgs& args, plan::Trace& t) {
  const TileArgs& a = c.tile;
  const int unit = t.dst_unit, src_unit = t.src_unit;
  const bool cast = args.units.cast, patches = unit == 1 && !cast;
  set_pieces(t, a.tiles, a.tiles, c.threads);
  if (patches)
    t.stage_is = fmt::format(
        "A lane takes 12 bytes of each of 4 rows of src, transposes them in registers, and, when all lanes have "
        "theirs, "
        "writes them into rows of dst in the same memory. {} bytes are left free after every {} of these rows, so that "
        "lanes with different patches write into different banks. Rows of dst then leave as words that lie side by "
        "side. ",
        kPatchLanes * kPatchRows, kPatchBytes);
  else if (c.line_pad > 0)
    t.stage_is = fmt::format(
        "Lanes that write one row of dst take their units out of a column of the stage, {} rows of src each. {} bytes "
        "are left free after every {} rows, so that these lanes begin an odd number of 16-byte words apart, and in "
        "different banks. Rows that start differently in their words may meet all the same. ",
        c.pad_lines, c.line_pad, c.pad_lines);
  else
    t.stage_is =
        "Lanes that write one row of dst take their units out of a column of the stage. Nothing is padded: rows of src "
        "lie as in src, and where they start in a word decides which lanes meet. ";
  const Here h(a, t);
  const UnalignedWindow window = unaligned_window(c, h.place);
  const int s_count = std::min(a.tile_s, a.s_extent - h.place.s);
  const auto line_at = [&](std::int32_t line) {
    return h.src + chain_offset(c.src_lines, static_cast<std::uint32_t>(window.line + line));
  };
  const auto base_of = [&](std::int32_t line) { return unaligned_line_base(c, window, line) + (line_at(line) & 15); };
  for (std::int32_t thread = 0; thread < t.threads; ++thread) {
    const UnalignedLoad first = unaligned_load(c, thread);
    if (first.line >= c.lines_at_once) continue;
    std::int32_t step = 0;
    for (std::int32_t line = first.line; line < window.lines; line += c.lines_at_once) {
      const UnalignedSpan span = unaligned_span(c, window, line, s_count * src_unit);
      const std::int64_t at = line_at(line), begin = span.first - ((at + span.first) & 15);
      for (std::int64_t off = begin + first.word * kWordBytes; off < span.last; off += t.threads * kWordBytes)
        load_word_staged(t, step++, thread, at + off, kWordBytes, a.src_first, a.src_last, base_of(line) + off);
      step = std::max(step, line / c.lines_at_once + 1);
    }
  }
  std::vector<std::int64_t> starts;
  for (std::int32_t row = 0; row < unaligned_rows(c); ++row) {
    const UnalignedRow at = unaligned_row(c, window, h.place, row);
    // Rows outside are read where the stage begins, as the kernel does, and stored nowhere.
    starts.push_back(at.inside ? base_of(at.line) + at.row * c.row_bytes + at.behind * src_unit : 0);
  }
  if (patches) transpose_patches(c, h.place, window, starts, t);
  const auto place_of = [&](std::int32_t s, std::int64_t ahead) {
    return patches ? transposed_line(c, s) + ahead
                   : starts[static_cast<std::size_t>(ahead / unit)] + std::int64_t{s} * src_unit;
  };
  // `bytes` at `to`, which lie `ahead` bytes behind the halo's start in row `s` of dst.
  const auto store = [&](std::int32_t step, std::int32_t thread, std::int64_t to, std::int64_t bytes, std::int32_t s,
                         std::int64_t ahead) {
    if (patches)
      for (const std::int64_t word : {std::int64_t{0}, std::int64_t{kWordBytes}})
        t.take(kTransposed + step * 2 + (word != 0), thread, (place_of(s, ahead) & ~std::int64_t{15}) + word,
               kWordBytes);
    t.store(step, thread, to, bytes);
    for (std::int64_t b = 0; b < bytes; b += unit) {
      if (!patches)
        t.take(step * kWordBytes + static_cast<std::int32_t>(b / unit), thread, place_of(s, ahead + b), src_unit);
      t.unit_staged(thread, to + b, place_of(s, ahead + b));
    }
  };
  const std::int64_t row_bytes = std::int64_t{a.d_extent} * unit;
  const auto words = static_cast<std::int32_t>(c.store_words.divisor);
  const auto row_of = [&](std::int32_t s) {
    return h.dst + chain_offset(c.dst_rows, static_cast<std::uint32_t>(h.place.s + s));
  };
  // Of bytes a thread stores the same word of several rows.
  const auto thread_of = [&](std::int32_t s, std::int32_t word) { return s % c.store_rows * words + word; };
  for (std::int32_t s = 0; patches && c.run_rows != 0 && s < s_count; ++s) {
    const std::int64_t row = row_of(s), ahead = -row & 15;
    const std::int32_t bytes = run_row_bytes(c, s_count, s, static_cast<std::int32_t>(ahead));
    for (std::int32_t word = 0; word * kWordBytes < bytes; ++word)
      store(s / c.store_rows, thread_of(s, word), row + ahead + word * kWordBytes, kWordBytes, s,
            ahead + word * kWordBytes);
  }
  // Units that are converted: words that the ends of rows and runs fill in part are among the others.
  const std::int32_t lines = c.run_rows != 0 ? unaligned_runs(c, s_count) : s_count;
  for (std::int32_t item = 0; cast && item < lines * words; ++item) {
    const std::int32_t line = item / words, word = item % words, step = item / t.threads, thread = item % t.threads;
    if (c.run_rows == 0) {
      const std::int64_t row = row_of(line), first = std::int64_t{h.place.d} * unit - (row & a.skew_mask);
      const CastWord at =
          cast_row_word(static_cast<std::int32_t>(first), static_cast<std::int32_t>(row_bytes), word, unit);
      const std::int64_t byte = at.byte + at.first * unit;
      if (at.first < at.last)
        store(step, thread, row + byte, std::int64_t{at.last - at.first} * unit, line,
              byte + std::int64_t{a.halo - h.place.d} * unit);
      continue;
    }
    const std::int64_t to = row_of(run_row(c, line, 0)), bytes = unaligned_run_rows(c, s_count, line) * row_bytes;
    const CastWord at = cast_run_word(static_cast<std::int32_t>(to & 15), static_cast<std::int32_t>(bytes), word, unit);
    const RunPlace place = run_place(c, at.byte / unit);
    if (at.first < at.last)
      store(step, thread, to + at.byte, std::int64_t{at.last} * unit, run_row(c, line, place.s),
            std::int64_t{place.d} * unit);
  }
  if (cast) return;
  for (std::int32_t run = 0; c.run_rows != 0 && run < unaligned_runs(c, s_count); ++run) {
    const std::int64_t to = row_of(run_row(c, run, 0)), bytes = unaligned_run_rows(c, s_count, run) * row_bytes;
    const auto store_at = [&](std::int32_t step, std::int32_t thread, std::int64_t byte, std::int64_t count) {
      const RunPlace at = run_place(c, static_cast<std::int32_t>(byte / unit));
      store(step, thread, to + byte, count, run_row(c, run, at.s), std::int64_t{at.d} * unit);
    };
    for (std::int32_t word = 0; unit > 1 && word < words; ++word) {
      const std::int32_t item = run * words + word;
      const std::int64_t byte = word * kWordBytes + (-to & 15);
      if (byte + kWordBytes <= bytes) store_at(item / t.threads, item % t.threads, byte, kWordBytes);
    }
    const PixelEnds ends = pixel_ends(to, bytes);
    const std::int32_t lane = run * 2 * kWordBytes / unit;
    for (std::int64_t byte = 0; byte < ends.head; byte += unit)
      store_at(4096, (lane + static_cast<std::int32_t>(byte / unit)) % t.threads, byte, unit);
    for (std::int64_t byte = ends.tail; byte < bytes; byte += unit)
      store_at(4096, (lane + static_cast<std::int32_t>((kWordBytes + byte - ends.tail) / unit)) % t.threads, byte,
               unit);
  }
  for (std::int32_t s = 0; c.run_rows == 0 && s < s_count; ++s) {
    const std::int64_t row = row_of(s), first = std::int64_t{h.place.d} * unit - (row & a.skew_mask);
    const std::int64_t halo = std::int64_t{a.halo - h.place.d} * unit;
    for (std::int32_t word = 0; word < words; ++word) {
      const std::int32_t item = s * words + word;
      const std::int64_t byte = first + word * kWordBytes;
      if (byte < 0 || byte + kWordBytes > row_bytes) continue;
      if (unit == 1)
        store(s / c.store_rows, thread_of(s, word), row + byte, kWordBytes, s, halo + byte);
      else
        store(item / t.threads, item % t.threads, row + byte, kWordBytes, s, halo + byte);
    }
    const PixelEnds ends = pixel_ends(row, row_bytes);
    const std::int32_t lane = s * (kWordBytes / unit);
    if (h.place.d == 0)
      for (std::int64_t byte = 0; byte < ends.head; byte += unit)
        store(4096, (lane + static_cast<std::int32_t>(byte / unit)) % t.threads, row + byte, unit, s, halo + byte);
    if (ends.tail >= first && ends.tail < first + std::int64_t{a.tile_d} * unit)
      for (std::int64_t byte = ends.tail; byte < row_bytes; byte += unit)
        store(4097, (lane + static_cast<std::int32_t>((byte - ends.tail) / unit)) % t.threads, row + byte, unit, s,
              halo + byte);
  }
}

void trace_kernel(const PixelTileArgs& p, const CudaArgs&, plan::Trace& t) {
  const TileArgs& a = p.tile;
  const int pixel = p.pixel_bytes, unit = t.dst_unit;
  set_pieces(t, a.tiles, a.tiles, kTileThreads);
  const Here h(a, t, pixel);
  const std::int64_t from = h.src - a.halo * a.src_pitch, low = from & 15;
  const TileShape patch = pixel_patch(pixel);
  t.stage_is = fmt::format(
      "A lane takes 12 bytes of each of {} rows of src, transposes their pixels in registers, and, when all lanes have "
      "theirs, writes them into rows of dst in the same memory. Rows of src lie {} bytes apart, so lanes of "
      "different rows begin in different banks. {} bytes are left free after every {} rows of dst for the same reason. "
      "A row of dst leaves as words that lie side by side; one that starts off a word takes two words a lane. ",
      patch.d, a.row_pitch, kWordBytes, patch.s);
  const int rows = std::min(a.halo + a.tile_d, a.d_extent - h.place.d + a.halo);
  const int s_count = std::min(a.tile_s, a.s_extent - h.place.s);
  for (std::int32_t step = 0; step * (kTileThreads / 8) < rows; ++step)
    for (std::int32_t thread = 0; thread < kTileThreads; ++thread) {
      const TileLoad at = pixel_load(step, thread);
      if (at.row >= rows || h.place.d - a.halo + at.row < 0) continue;
      const std::int64_t row = from + at.row * a.src_pitch, off = at.word * kWordBytes - (row & 15);
      if (off < s_count * pixel)
        load_word_staged(t, step, thread, row + off, kWordBytes, a.src_first, a.src_last,
                         low + tile_row_base(a, at.row, patch.d) + off);
    }
  // A lane's patch of pixels, taken from rows of src and, when all have taken theirs, put where rows of dst are.
  std::vector<Transposed> transposed;
  const int groups = (rows + pixel_group(pixel) - 1) / pixel_group(pixel), warps = kTileThreads / 32;
  for (std::int32_t group = 0; group < groups; ++group)
    for (std::int32_t lane = 0; lane < 32; ++lane) {
      const PixelPatch at = pixel_place(group, lane, pixel);
      const std::int32_t thread = group % warps * 32 + lane, words = patch.d * pixel / 4;
      for (int j = 0; j < patch.d; ++j) {
        const std::int64_t first = low + tile_row_base(a, at.d, patch.d) + j * a.row_pitch + at.s * pixel;
        for (int w = 0; w < 3; ++w) t.take(((group / warps) * patch.d + j) * 3 + w, thread, (first + 4 * w) & ~3, 4);
        for (int i = 0; i < patch.s; ++i)
          for (int b = 0; b < pixel; b += unit) {
            const std::int64_t found = first + i * pixel + (p.backwards ? pixel - unit - b : b);
            const std::int64_t to = pixel_line(at.s + i, pixel) + (at.d + j) * pixel + b;
            if (t.source_of(found) >= 0)
              transposed.push_back({to, t.source_of(found), thread, t.loader_of(found),
                                    ((group / warps) * patch.s + i) * words + (j * pixel + b) / 4});
          }
      }
    }
  put_transposed(transposed, unit, t);
  const auto store = [&](std::int32_t step, std::int32_t thread, std::int32_t s, std::int64_t row, std::int64_t byte,
                         std::int64_t bytes) {
    const std::int64_t line = pixel_line(s, pixel) + (a.halo - h.place.d) * pixel + byte;
    t.take(kTransposed + 2 * step, thread, line & ~std::int64_t{15}, 16);
    if ((line & 15) != 0) t.take(kTransposed + 2 * step + 1, thread, (line & ~std::int64_t{15}) + 16, 16);
    t.store(step, thread, row + byte, bytes);
    for (std::int64_t b = 0; b < bytes; b += unit) t.unit_staged(thread, row + byte + b, line + b);
  };
  const int words = a.tile_d * pixel / kWordBytes;
  const std::int64_t row_bytes = std::int64_t{a.d_extent} * pixel;
  for (std::int32_t row_step = 0; row_step * (kTileThreads / 16) < a.tile_s; ++row_step)
    for (std::int32_t word_step = 0; word_step * 16 < words; ++word_step)
      for (std::int32_t thread = 0; thread < kTileThreads; ++thread) {
        const TileStore at = pixel_store(word_step, row_step, thread);
        if (at.s >= s_count || at.word >= words) continue;
        const std::int64_t row = h.dst + at.s * a.dst_pitch;
        const std::int64_t byte = std::int64_t{h.place.d} * pixel - (row & a.skew_mask) + at.word * kWordBytes;
        if (byte >= 0 && byte + kWordBytes <= row_bytes)
          store(row_step * 64 + word_step, thread, at.s, row, byte, kWordBytes);
      }
  for (std::int32_t s = 0; s < s_count; ++s) {
    const std::int64_t row = h.dst + s * a.dst_pitch, first = std::int64_t{h.place.d} * pixel - (row & a.skew_mask);
    const PixelEnds ends = pixel_ends(row, row_bytes);
    const std::int32_t thread = s * 16 % kTileThreads;
    if (h.place.d == 0 && ends.head > 0) store(4096, thread, s, row, 0, ends.head);
    if (ends.tail >= first && ends.tail < first + std::int64_t{a.tile_d} * pixel && ends.tail < row_bytes)
      store(4097, thread, s, row, ends.tail, row_bytes - ends.tail);
  }
}

}  // namespace restride::cuda
