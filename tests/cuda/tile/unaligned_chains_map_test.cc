// Replays src/cuda/tile/unaligned_chains_map.h for every block, thread and step.
#include "src/cuda/tile/unaligned_chains_map.h"

#include <map>
#include <set>

#include "src/cuda/tile/pixels_map.h"
#include "tests/cuda/replay.h"

namespace restride {
namespace {

using cuda_test::Copy;
using cuda_test::Written;

/// Byte of shared memory -> source byte.
using Shared = std::map<std::int64_t, std::int64_t>;

/// One tile: its lines in shared memory, where its rows start there, and rows of dst that were transposed.
struct Tile {
  const cuda::UnalignedChainArgs& c;
  int unit, src_unit;
  bool cast, patches;
  cuda::TilePlace place;
  cuda::UnalignedWindow window;
  std::int64_t from = 0;  ///< address of line 0, the tile's first unit of src's chain
  int s_count;
  Shared lines, rows;
  std::vector<std::int64_t> starts;  ///< -1: outside

  Tile(const cuda::UnalignedChainArgs& args, const layout::Canonical& of, std::uint32_t tile, std::int64_t src_base)
      : c(args),
        unit(of.dst_unit),
        src_unit(of.src_unit),
        cast(of.cast),
        patches(unit == 1 && !cast),
        place(cuda::tile_place(c.tile, tile)),
        window(cuda::unaligned_window(c, place)),
        from(src_base + c.tile.src_offset + cuda::offsets(c.tile.batch, place.batch).src +
             std::int64_t{place.s} * src_unit),
        s_count(std::min(c.tile.tile_s, c.tile.s_extent - place.s)) {
    load();
    start();
    if (patches) transpose();
  }

  std::int64_t line_at(std::int32_t line) const {
    return cuda::chain_offset(c.src_lines, static_cast<std::uint32_t>(window.line + line));
  }
  std::int64_t base_of(std::int32_t line) const {
    return cuda::unaligned_line_base(c, window, line) + ((from + line_at(line)) & 15);
  }

  void load() {
    ASSERT_LE(window.lines, c.lines);
    std::vector<std::int32_t> read(static_cast<std::size_t>(window.lines));
    ASSERT_TRUE(c.lines_at_once == 1 || c.lines_at_once * static_cast<std::int32_t>(c.line_words.divisor) <= c.threads);
    for (std::int32_t thread = 0; thread < c.threads; ++thread) {
      const cuda::UnalignedLoad at = cuda::unaligned_load(c, thread);
      if (at.line >= c.lines_at_once) continue;
      for (std::int32_t line = at.line; line < window.lines; line += c.lines_at_once)
        for (std::int32_t word = at.word; word < words_of(line); word += c.threads) {
          load(line, word);
          if (testing::Test::HasFatalFailure()) return;
          ++read[static_cast<std::size_t>(line)];
        }
    }
    for (std::int32_t line = 0; line < window.lines; ++line)
      ASSERT_EQ(read[static_cast<std::size_t>(line)], words_of(line)) << "threads together read all words of a line";
  }

  std::int32_t words_of(std::int32_t line) const {
    const cuda::UnalignedSpan span = cuda::unaligned_span(c, window, line, s_count * src_unit);
    const std::int64_t low = (from + line_at(line) + span.first) & 15;
    return static_cast<std::int32_t>((low + span.last - span.first + 15) / 16);
  }

  void load(std::int32_t line, std::int32_t word) {
    const cuda::UnalignedSpan span = cuda::unaligned_span(c, window, line, s_count * src_unit);
    const std::int64_t off = span.first + word * 16 - ((from + line_at(line) + span.first) & 15);
    const std::int64_t to = base_of(line) + off;
    ASSERT_EQ(to % 16, 0) << "an aligned word must land on an aligned word";
    ASSERT_TRUE(to >= 0 && to + 16 <= c.src_room);
    for (int b = 0; b < 16; ++b) {
      ASSERT_EQ(lines.count(to + b), 0U) << "two words lie in one place";
      lines[to + b] = from + line_at(line) + off + b;
    }
  }

  void start() {
    for (std::int32_t row = 0; row < cuda::unaligned_rows(c); ++row) {
      const cuda::UnalignedRow at = cuda::unaligned_row(c, window, place, row);
      starts.push_back(at.inside ? base_of(at.line) + at.row * c.row_bytes + at.behind * src_unit : -1);
    }
  }

  /// Patches from rows of src to rows of dst.
  void transpose() {
    const std::int32_t items = cuda::unaligned_patches(c);
    ASSERT_EQ(cuda::unaligned_rows(c) % (cuda::kPatchRows * cuda::kPatchLanes), 0);
    ASSERT_LE(items, cuda::kMostPatches * c.threads) << "lanes hold all of a tile at once";
    for (std::int32_t item = 0; item < items; ++item) {
      const cuda::PatchPlace at = cuda::patch_place(c, item);
      for (int j = 0; j < cuda::kPatchRows; ++j)
        for (int i = 0; i < cuda::kPatchBytes; ++i)
          for (int b = 0; b < unit; ++b) {
            const std::int64_t start = starts[static_cast<std::size_t>(at.d) + static_cast<std::size_t>(j)];
            const auto found = lines.find(start + (at.s + i) * unit + b);
            const std::int64_t to = cuda::transposed_line(c, at.s + i) + (at.d + j) * unit + b;
            ASSERT_LT(to + 16, c.dst_room);
            ASSERT_EQ(rows.count(to), 0U) << "written twice";
            rows[to] = start < 0 || found == lines.end() || at.s + i >= s_count ? -1 : found->second;
          }
    }
  }

  /// What lies `byte` bytes behind the halo's start in row `s` of dst.
  std::int64_t source(std::int32_t s, std::int64_t byte) const {
    if (patches) {
      const auto found = rows.find(cuda::transposed_line(c, s) + byte);
      return found == rows.end() ? -1 : found->second;
    }
    const std::int64_t start = starts[static_cast<std::size_t>(byte / unit)];
    const auto found = lines.find(start + s * src_unit + (cast ? 0 : byte % unit));
    return start < 0 || found == lines.end() ? -1 : found->second;
  }
};

/// Where the test puts the tensors: as far off whole words as was promised, and no better.
struct Bases {
  std::int64_t dst, src;
};

/// Every thread's words of bytes, as (row, word): all of the tile's, each once.
std::vector<cuda::UnalignedStore> stored_words(const Tile& tile) {
  const cuda::UnalignedChainArgs& c = tile.c;
  std::vector<cuda::UnalignedStore> words;
  for (std::int32_t thread = 0; thread < c.threads; ++thread) {
    const cuda::UnalignedStore first = cuda::unaligned_store(c, thread);
    if (first.row >= c.store_rows) continue;
    for (std::int32_t s = first.row; s < tile.s_count; s += c.store_rows) words.push_back({s, first.word});
  }
  EXPECT_EQ(words.size(), static_cast<std::size_t>(tile.s_count) * c.store_words.divisor);
  return words;
}

/// What is converted: words of windows' rows, and of runs, those that their ends fill in part among them. Where units
/// become wider, the first byte of src's stands for all.
void store_converted(const Tile& tile, std::int64_t batch, const Bases& base, Written& written) {
  const cuda::UnalignedChainArgs& c = tile.c;
  const int unit = tile.unit;
  const auto row_of = [&](std::int32_t s) {
    return base.dst + c.tile.dst_offset + batch +
           cuda::chain_offset(c.dst_rows, static_cast<std::uint32_t>(tile.place.s + s));
  };
  const std::int32_t row_bytes = c.tile.d_extent * unit;
  const std::int32_t lines = c.run_rows == 0 ? tile.s_count : cuda::unaligned_runs(c, tile.s_count);
  for (std::int32_t line = 0; line < lines; ++line)
    for (std::int32_t word = 0; word < static_cast<std::int32_t>(c.store_words.divisor); ++word) {
      const bool runs = c.run_rows != 0;
      const std::int64_t row = row_of(runs ? cuda::run_row(c, line, 0) : line);
      const auto skew = static_cast<std::int32_t>(row & c.tile.skew_mask);
      const cuda::CastWord at =
          runs ? cuda::cast_run_word(static_cast<std::int32_t>(row & 15),
                                     cuda::unaligned_run_rows(c, tile.s_count, line) * row_bytes, word, unit)
               : cuda::cast_row_word(tile.place.d * unit - skew, row_bytes, word, unit);
      if (at.first >= at.last) continue;
      const bool whole = at.first == 0 && at.last * unit == 16;
      ASSERT_TRUE(!whole || (row + at.byte) % 16 == 0);
      const cuda::RunPlace place = cuda::run_place(c, at.byte / unit);
      const std::int32_t s = runs ? cuda::run_row(c, line, place.s) : line;
      const std::int64_t ahead = runs ? place.d * unit : at.byte + (c.tile.halo - tile.place.d) * unit;
      ASSERT_LE((ahead + 16) / unit, static_cast<std::int64_t>(tile.starts.size())) << "the table has all of a word";
      for (std::int32_t j = at.first; j < at.last; ++j) {
        const std::int64_t from = tile.source(s, ahead + j * unit);
        ASSERT_GE(from, 0) << "reads shared memory that no load filled";
        for (int b = 0; b < unit; ++b)
          written.byte(row - base.dst + at.byte + j * unit + b, from - base.src + (tile.src_unit < unit ? 0 : b));
      }
      if (testing::Test::HasFatalFailure()) return;
    }
}

/// Windows of dst's chain, row by row.
void store_windows(const Tile& tile, std::int64_t batch, const Bases& base, Written& written) {
  const cuda::UnalignedChainArgs& c = tile.c;
  const cuda::TileArgs& a = c.tile;
  const int unit = tile.unit;
  for (std::int32_t s = 0; s < tile.s_count; ++s) {
    const std::int64_t row =
        base.dst + a.dst_offset + batch + cuda::chain_offset(c.dst_rows, static_cast<std::uint32_t>(tile.place.s + s));
    const std::int64_t row_bytes = std::int64_t{a.d_extent} * unit, skew = row & a.skew_mask;
    const std::int64_t first = std::int64_t{tile.place.d} * unit - skew, last = first + std::int64_t{a.tile_d} * unit;
    const std::int64_t halo = (std::int64_t{a.halo} - tile.place.d) * unit;
    const cuda::PixelEnds ends = cuda::pixel_ends(row, row_bytes);
    const auto store = [&](std::int64_t byte) {
      const std::int64_t from = tile.source(s, halo + byte);
      ASSERT_GE(from, 0) << "reads shared memory that no load filled";
      written.unit(row - base.dst + byte, from - base.src, 1);
    };
    EXPECT_EQ(c.store_words.divisor * 16, static_cast<std::uint32_t>(a.tile_d * unit));
    if (unit == 1 && s == 0) stored_words(tile);
    for (std::int64_t byte = first; byte < last; byte += 16)
      if (byte >= 0 && byte + 16 <= row_bytes) {
        ASSERT_EQ((row + byte) % 16, 0);
        for (int b = 0; b < 16; ++b) store(byte + b);
      }
    if (tile.place.d == 0)
      for (std::int64_t byte = 0; byte < ends.head; ++byte) store(byte);
    if (ends.tail >= first && ends.tail < last)
      for (std::int64_t byte = ends.tail; byte < row_bytes; ++byte) store(byte);
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// Runs of rows of bytes that follow each other in dst: the words that begin in each row, then the runs' ends.
void store_byte_runs(const Tile& tile, std::int64_t batch, const Bases& base, Written& written) {
  const cuda::UnalignedChainArgs& c = tile.c;
  const auto row_of = [&](std::int32_t s) {
    return base.dst + c.tile.dst_offset + batch +
           cuda::chain_offset(c.dst_rows, static_cast<std::uint32_t>(tile.place.s + s));
  };
  const auto store = [&](std::int32_t s, std::int64_t first, std::int64_t count) {
    for (std::int64_t byte = first; byte < first + count; ++byte) {
      const std::int64_t from = tile.source(s, byte);
      ASSERT_GE(from, 0) << "reads shared memory that no load filled";
      written.unit(row_of(s) - base.dst + byte, from - base.src, 1);
    }
  };
  const auto ahead_of = [&](std::int32_t s) { return static_cast<std::int32_t>(-row_of(s) & 15); };
  for (const cuda::UnalignedStore& at : stored_words(tile)) {
    const std::int32_t ahead = ahead_of(at.row);
    if (at.word * 16 < cuda::run_row_bytes(c, tile.s_count, at.row, ahead)) store(at.row, ahead + at.word * 16, 16);
    if (testing::Test::HasFatalFailure()) return;
  }
  for (std::int32_t run = 0; run < cuda::unaligned_runs(c, tile.s_count); ++run) {
    const std::int64_t bytes = std::int64_t{cuda::unaligned_run_rows(c, tile.s_count, run)} * c.tile.d_extent;
    const cuda::PixelEnds ends = cuda::pixel_ends(row_of(cuda::run_row(c, run, 0)), bytes);
    for (std::int64_t byte = 0; byte < bytes; ++byte)
      if (byte < ends.head || byte >= ends.tail) {
        const cuda::RunPlace at = cuda::run_place(c, static_cast<std::int32_t>(byte));
        store(cuda::run_row(c, run, at.s), at.d, 1);
      }
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// Runs of rows of wider units that follow each other in dst.
void store_runs(const Tile& tile, std::int64_t batch, const Bases& base, Written& written) {
  const cuda::UnalignedChainArgs& c = tile.c;
  const int unit = tile.unit;
  for (std::int32_t run = 0; run < cuda::unaligned_runs(c, tile.s_count); ++run) {
    const std::int64_t to =
        base.dst + c.tile.dst_offset + batch +
        cuda::chain_offset(c.dst_rows, static_cast<std::uint32_t>(tile.place.s + cuda::run_row(c, run, 0)));
    const std::int64_t bytes = std::int64_t{cuda::unaligned_run_rows(c, tile.s_count, run)} * c.tile.d_extent * unit;
    const auto store = [&](std::int64_t first, std::int64_t count) {  // all of it found from its first unit
      const cuda::RunPlace at = cuda::run_place(c, static_cast<std::int32_t>(first / unit));
      for (std::int64_t b = 0; b < count; ++b) {
        const std::int64_t from = tile.source(cuda::run_row(c, run, at.s), std::int64_t{at.d} * unit + b);
        ASSERT_GE(from, 0) << "reads shared memory that no load filled";
        written.unit(to - base.dst + first + b, from - base.src, 1);
      }
    };
    const cuda::PixelEnds ends = cuda::pixel_ends(to, bytes);
    for (std::uint32_t word = 0; word < c.store_words.divisor; ++word)
      if (const std::int64_t byte = word * std::int64_t{16} + (-to & 15); byte + 16 <= bytes) store(byte, 16);
    for (std::int64_t byte = 0; byte < ends.head; byte += unit) store(byte, unit);
    for (std::int64_t byte = ends.tail; byte < bytes; byte += unit) store(byte, unit);
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// What the kernel bids, or its best tile of that kind, over chains of `dst_set` and `src_set`.
plan::Candidate tile_of(const Copy& copy, cuda::UnalignedKind kind, std::int64_t tile_d, std::int64_t tile_s,
                        std::int64_t src_set = 2) {
  plan::Candidate bid = cuda_test::bid_of("tile/unaligned_chains", copy.c);
  bid.applies = true;
  bid.params = {{plan::ParamId::kDstSet, 1},        {plan::ParamId::kSrcSet, src_set},
                {plan::ParamId::kTileRows, tile_d}, {plan::ParamId::kTileCols, tile_s},
                {plan::ParamId::kThreads, 128},     {plan::ParamId::kKind, static_cast<std::int64_t>(kind)},
                {plan::ParamId::kVectorBytes, 16},  {plan::ParamId::kOrder, 0}};
  return bid;
}

void replay(const Copy& copy, const plan::Candidate& bid, std::int64_t align = 128) {
  ASSERT_TRUE(bid.applies) << bid.reason;
  const auto c = cuda_test::args_of<cuda::UnalignedChainArgs>(copy.c, bid);
  const Bases base{4096 + align % 128, 8192 + align % 128};
  Written written(copy);
  for (std::uint32_t number = 0; number < c.tile.tiles; ++number) {
    const Tile tile(c, copy.c, number, base.src);
    if (testing::Test::HasFatalFailure()) return;
    const std::int64_t batch = cuda::offsets(c.tile.batch, tile.place.batch).dst;
    if (copy.c.cast)
      store_converted(tile, batch, base, written);
    else if (c.run_rows != 0 && copy.c.dst_unit == 1)
      store_byte_runs(tile, batch, base, written);
    else if (c.run_rows != 0)
      store_runs(tile, batch, base, written);
    else
      store_windows(tile, batch, base, written);
    if (testing::Test::HasFatalFailure()) return;
  }
  written.expect_complete();
}

void replay(const std::string& dst, const std::string& src, std::int64_t align = 128) {
  SCOPED_TRACE(dst + " from " + src);
  const Copy copy(dst, src, align);
  replay(copy, cuda_test::bid_of("tile/unaligned_chains", copy.c), align);
}

TEST(UnalignedChainMap, MovesPermutationsOfOddExtentsOnce) {
  replay("u8 (13,5,11,101)", "u8 (13,5,11,101):(1,143,13,715)");
  replay("u8 (13,7,9,21)", "u8 (13,7,9,21):(1,13,819,91)");
  replay("u8 (9,33,29,25)", "u8 (9,33,29,25):(33,1,297,8613)");
  replay("f16 (9,33,5,45)", "f16 (9,33,5,45):(1,9,13365,297)");
  replay("f32 (39,9,7,25)", "f32 (39,9,7,25):(1,975,8775,39)");
  replay("f64 (37,6,7,19)", "f64 (37,6,7,19):(1,4921,703,37)");
}

TEST(UnalignedChainMap, LinesAreRowsThatFollowEachOtherInSrc) {
  const Copy copy("u8 (100,1003)", "u8 (100,1003):(1,100)");
  const auto c = cuda_test::args_of<cuda::UnalignedChainArgs>("tile/unaligned_chains", copy.c);
  EXPECT_EQ(c.line_rows.divisor, 1003U);
  EXPECT_EQ(c.tile.tile_s, 100);
  replay("u8 (100,1003)", "u8 (100,1003):(1,100)");
  replay("f16 (101,777)", "f16 (101,777):(1,101)");
  replay("f32 (39,7,95)", "f32 (39,7,95):(1,3705,39)");
}

TEST(UnalignedChainMap, LinesOfBytesEndWhereLanesWouldMeetInBanks) {
  for (const auto& [dst, src, rows] : {std::tuple{"u8 (32,1003)", "u8 (32,1003):(1,32)", 4U},
                                       {"u8 (64,1003)", "u8 (64,1003):(1,64)", 4U},
                                       {"u8 (48,1003)", "u8 (48,1003):(1,48)", 1003U}}) {
    const Copy copy(dst, src);
    const auto c = cuda_test::args_of<cuda::UnalignedChainArgs>("tile/unaligned_chains", copy.c);
    EXPECT_EQ(c.line_rows.divisor, rows) << dst;
    replay(dst, src);
    replay(dst, src, 1);
  }
}

/// Cycles in which the lanes of a warp read the first units of their words of one row of dst, as a tile lies in shared
/// memory.
int cycles_of_a_bank(const cuda::UnalignedChainArgs& c, int unit) {
  layout::Canonical of;
  of.dst_unit = of.src_unit = unit;
  const Tile tile(c, of, 0, 8192);
  const int lanes = std::min(32, c.tile.tile_d * unit / 16);
  std::map<std::int64_t, std::set<std::int64_t>> banks;
  for (int lane = 0; lane < lanes; ++lane) {
    const std::int32_t row = c.tile.halo + lane * (16 / unit);
    const std::int64_t word = tile.starts[static_cast<std::size_t>(row)] / 4;
    banks[word % 32].insert(word);
  }
  std::size_t most = 0;
  for (const auto& [bank, words] : banks) most = std::max(most, words.size());
  return static_cast<int>(most);
}

TEST(UnalignedChainMap, LinesAreSplitWhereLanesWouldMeetInBanks) {
  const auto args = [](const std::string& dst, const std::string& src) {
    return cuda_test::args_of<cuda::UnalignedChainArgs>("tile/unaligned_chains", Copy(dst, src, 128).c);
  };
  const auto halves = args("f16 (32,2001)", "f16 (32,2001):(1,32)");
  EXPECT_EQ(halves.line_rows.divisor, 8U);
  EXPECT_LE(cycles_of_a_bank(halves, 2), 4);
  const auto words = args("f32 (32,2001)", "f32 (32,2001):(1,32)");
  EXPECT_EQ(words.line_rows.divisor, 4U);
  EXPECT_LE(cycles_of_a_bank(words, 4), 4);
  EXPECT_EQ(args("f32 (33,2001)", "f32 (33,2001):(1,33)").line_rows.divisor, 2001U);  // they do not meet
  replay("f16 (32,2001)", "f16 (32,2001):(1,32)");
  replay("f32 (3,32,501)", "f32 (3,32,501):(16032,1,32)");
  replay("f64 (16,1001)", "f64 (16,1001):(1,16)", 8);
  // Another mode of dst's chain follows: lines are split only where the first mode is whole ones.
  EXPECT_EQ(args("f16 (32,7,88)", "f16 (32,7,88):(1,3000,32)").line_rows.divisor, 8U);
  replay("f16 (32,7,88)", "f16 (32,7,88):(1,3000,32)");
  replay("f16 (32,7,89)", "f16 (32,7,89):(1,3000,32)");
}

TEST(UnalignedChainMap, FollowsPitchesAndPointersOffTheirWords) {
  for (const int align : {1, 2, 4, 8, 16, 32}) {
    replay("u8 (99,231):(701,1)", "u8 (99,231):(1,139)", align);
    if (align > 1) replay("f16 (61,131):(395,1)", "f16 (61,131):(1,-67)@8710", align);
    if (align > 2) replay("f32 (61,131):(395,1)", "f32 (61,131):(1,67)", align);
    if (align > 4) replay("f64 (61,131):(395,1)", "f64 (61,131):(1,67)", align);
  }
}

TEST(UnalignedChainMap, RunsGoOnFromRowToRowOfDst) {
  const Copy bytes("u8 (3,29,35)", "u8 (3,29,35):(1015,1,29)", 1);
  replay(bytes, tile_of(bytes, cuda::UnalignedKind::kRuns, 64, 29), 1);
  replay(bytes, tile_of(bytes, cuda::UnalignedKind::kRuns, 64, 15), 1);
  const Copy halves("f16 (5,3,29,37)", "f16 (5,3,29,37):(29,5365,1,145)", 2);
  replay(halves, tile_of(halves, cuda::UnalignedKind::kRuns, 48, 58, 10), 2);
  const Copy words("f32 (2,31,19)", "f32 (2,31,19):(589,1,31)", 4);
  replay(words, tile_of(words, cuda::UnalignedKind::kRuns, 32, 31), 4);
  const Copy doubles("f64 (2,31,19)", "f64 (2,31,19):(589,1,31)", 8);
  replay(doubles, tile_of(doubles, cuda::UnalignedKind::kRuns, 32, 16), 8);
}

TEST(UnalignedChainMap, RunsGoOnAlongTheLastModeOfSrcsChain) {
  const Copy bytes("u8 (5,3,11,35)", "u8 (5,3,11,35):(1,1925,5,55)", 1);
  replay(bytes, tile_of(bytes, cuda::UnalignedKind::kRuns, 64, 20, 10), 1);
  replay(bytes, tile_of(bytes, cuda::UnalignedKind::kRuns, 64, 55, 10), 1);
  const Copy halves("f16 (3,7,19)", "f16 (3,7,19):(1,3,21)", 2);
  replay(halves, tile_of(halves, cuda::UnalignedKind::kRuns, 32, 9, 6), 2);
  const Copy words("f32 (3,7,19)", "f32 (3,7,19):(1,3,21)", 4);
  replay(words, tile_of(words, cuda::UnalignedKind::kRuns, 32, 15, 6), 4);
}

TEST(UnalignedChainMap, LanesHoldMoreOfLargeRunsOfBytes) {
  const auto patches = [](const Copy& copy, const plan::Candidate& bid) {
    const auto c = cuda_test::args_of<cuda::UnalignedChainArgs>(copy.c, bid);
    return (cuda::unaligned_patches(c) + c.threads - 1) / c.threads;
  };
  const Copy rows("u8 (3,171,93)", "u8 (3,171,93):(15903,1,171)", 1);
  const plan::Candidate large = tile_of(rows, cuda::UnalignedKind::kRuns, 112, 171);
  EXPECT_EQ(patches(rows, large), cuda::kMostPatches + 1) << "too many for 128 threads";
  plan::Candidate more = large;
  for (plan::Param& p : more.params)
    if (p.id == plan::ParamId::kThreads) p.value = 192;
  EXPECT_EQ(patches(rows, more), cuda::kMostPatches);
  replay(rows, more, 1);
  // The planner's own tiles are as large.
  const Copy columns("u8 (40001,311)", "u8 (40001,311):(1,40001)", 128);
  const plan::Candidate own = cuda_test::bid_of("tile/unaligned_chains", columns.c);
  EXPECT_EQ(own.get(plan::ParamId::kKind), static_cast<std::int64_t>(cuda::UnalignedKind::kRuns));
  EXPECT_EQ(patches(columns, own), cuda::kMostPatches);
}

TEST(UnalignedChainMap, ChainsOfHalfASectorOfBytesDo) {
  replay("u8 (21,33,27,25)", "u8 (21,33,27,25):(1,14175,525,21)");
  replay("u8 (17,9,31,21)", "u8 (17,9,31,21):(1,11067,357,17)");
}

TEST(UnalignedChainMap, RowsShorterThanAWordAreRunsToo) {
  const Copy copy("u8 (2,40,7)", "u8 (2,40,7):(280,1,40)", 1);
  replay(copy, tile_of(copy, cuda::UnalignedKind::kRuns, 32, 40), 1);
}

TEST(UnalignedChainMap, ConvertsWindowsOfAllSizesOfUnits) {
  replay("f16 (9,33,5,45)", "f32 (9,33,5,45):(1,9,13365,297)", 4);
  replay("f32 (39,9,7,25)", "f16 (39,9,7,25):(1,975,8775,39)", 4);
  replay("u8 (13,5,11,101)", "f32 (13,5,11,101):(1,143,13,715)", 4);
  replay("f32 (35,7,9,61)", "u8 (35,7,9,61):(1,2135,14945,35)", 4);
  replay("u8 (39,9,7,25)", "f8e4m3 (39,9,7,25):(1,975,8775,39)", 1);
  replay("f32 (37,6,7,19)", "f64 (37,6,7,19):(1,4921,703,37)", 8);
  replay("f64 (37,6,7,19)", "u8 (37,6,7,19):(1,4921,703,37)", 8);
  replay("u8 (37,6,7,19)", "f64 (37,6,7,19):(1,4921,703,37)", 8);
  replay("f16 (61,131):(395,1)", "f32 (61,131):(1,-67)@17420", 4);
  replay("f16 (64,256)", "f32 (64,256):(1,64)", 128);  // also where rows lie on words
}

TEST(UnalignedChainMap, ConvertsRuns) {
  const Copy halves("f16 (5,3,29,37)", "f32 (5,3,29,37):(29,5365,1,145)", 4);
  replay(halves, tile_of(halves, cuda::UnalignedKind::kRuns, 48, 58, 10), 4);
  const Copy bytes("u8 (3,29,35)", "f32 (3,29,35):(1015,1,29)", 4);
  replay(bytes, tile_of(bytes, cuda::UnalignedKind::kRuns, 64, 29), 4);
  replay(bytes, tile_of(bytes, cuda::UnalignedKind::kRuns, 64, 15), 4);
  const Copy words("f32 (2,31,19)", "u8 (2,31,19):(589,1,31)", 4);
  replay(words, tile_of(words, cuda::UnalignedKind::kRuns, 32, 31), 4);
  const Copy last("f16 (3,7,19)", "u8 (3,7,19):(1,3,21)", 2);
  replay(last, tile_of(last, cuda::UnalignedKind::kRuns, 32, 9, 6), 2);
  const Copy shorter("u8 (2,40,7)", "f8e4m3 (2,40,7):(280,1,40)", 1);
  replay(shorter, tile_of(shorter, cuda::UnalignedKind::kRuns, 32, 40), 1);
}

TEST(UnalignedChainMap, RefusesShortRowsAndWideCasts) {
  const auto reason = [](const char* dst, const char* src) {
    return cuda_test::bid_of("tile/unaligned_chains", Copy(dst, src, 128).c).reason;
  };
  EXPECT_EQ(reason("u8 (300,9)", "u8 (300,9):(1,300)"), "no chains of modes, one a side, that are long enough");
  EXPECT_EQ(reason("c128 (99,99)", "f64 (99,99):(1,99)"), "units of 16 bytes start on words");
}

}  // namespace
}  // namespace restride
