// Replays src/cuda/packed/staged_map.h for every block, thread and step.
#include "src/cuda/packed/staged_map.h"

#include <array>
#include <map>
#include <vector>

#include "src/cuda/packed/staged.h"
#include "tests/cuda/replay.h"

namespace restride {
namespace {

using cuda_test::canonical;
using cuda_test::Copy;
using cuda_test::Written;

/// Calls `move` for every step of every thread.
template <class Move>
void every_step(const cuda::PackedLattice& l, std::int32_t threads, Move move) {
  for (std::int32_t step = 0; step < l.steps; ++step)
    for (std::uint32_t thread = 0; thread < static_cast<std::uint32_t>(threads); ++thread)
      move(cuda::packed_step(l, static_cast<std::uint32_t>(step), thread));
}

/// The row table's entries, as numbers of rows: sorted where the kernel sorts them, -1 where there is none.
std::vector<std::int32_t> row_table(const cuda::PackedArgs& a) {
  std::vector<std::int32_t> table(static_cast<std::size_t>(cuda::packed_row_table(a)), -1);
  std::array<std::int32_t, 16> count{};
  for (std::int32_t r = 0; r < a.rows; ++r) {
    const auto start = static_cast<std::size_t>(cuda::packed_row_entry(a, static_cast<std::uint32_t>(r)).dst & 15);
    const std::int32_t at =
        a.start_step == 0 ? r : cuda::packed_sorted_place(a, static_cast<std::int32_t>(start), count[start]++);
    EXPECT_EQ(table.at(static_cast<std::size_t>(at)), -1) << "two rows in one place";
    table.at(static_cast<std::size_t>(at)) = r;
  }
  return table;
}

void replay(const std::string& dst, const std::string& src, std::int64_t align = 128) {
  SCOPED_TRACE(dst + " from " + src);
  const Copy copy(dst, src, align);
  const plan::Candidate packed = cuda_test::bid_of("packed/staged", copy.c);
  ASSERT_TRUE(packed.applies) << packed.reason;
  const cuda::PackedArgs a = cuda_test::args_of<cuda::PackedArgs>(copy.c, packed);
  const int unit = copy.c.dst_unit, units = 16 / unit;
  const bool flat = a.kind == cuda::PackedKind::kFlat;
  const int across = a.kind == cuda::PackedKind::kTransposed ? 4 / unit : 1;
  ASSERT_LE(a.threads, cuda::kPackedThreads);
  ASSERT_LE(a.shared_bytes, cuda::kMostShared);
  const std::vector<std::int32_t> table = row_table(a);
  Written written(copy);
  for (std::uint32_t tile = 0; tile < a.tiles; ++tile) {
    const cuda::PackedPlace place = cuda::packed_place(a, tile);
    const std::int64_t low = place.src & 15;
    std::map<std::uint32_t, std::int64_t> shared;  // byte of shared memory -> source byte
    every_step(a.load, a.threads, [&](const cuda::PackedStep& step) {
      if (step.line >= place.pieces) return;
      const cuda::PackedSum sum = cuda::packed_sum(a.piece_modes, static_cast<std::uint32_t>(step.line));
      const std::int64_t at = place.src + sum.src;
      const std::int64_t off = step.word * 16 - (at & 15);
      if (off >= place.piece_bytes) return;
      ASSERT_TRUE(!place.inside || (at + off >= a.src_first && at + off + 16 <= a.src_last));
      const std::int64_t linear = low + cuda::packed_piece_base(a, step.line, sum.src) + off;
      ASSERT_EQ(linear % 16, 0) << "an aligned word must land on an aligned word";
      const std::uint32_t to = cuda::packed_swizzle(static_cast<std::uint32_t>(linear), a.swizzle_shift);
      ASSERT_LE(to + 16, static_cast<std::uint32_t>(a.tile_bytes));
      for (std::uint32_t b = 0; b < 16; ++b) shared[to + b] = at + off + b;
    });
    // Unit `p` of the run at `to`, found at `linear` bytes of shared memory.
    const auto collect = [&](std::int64_t to, std::int32_t p, std::int64_t linear) {
      const std::uint32_t byte = cuda::packed_swizzle(static_cast<std::uint32_t>(linear), a.swizzle_shift);
      ASSERT_TRUE(shared.count(byte)) << "reads shared memory that no load filled";
      written.unit(to + p * unit, shared[byte], unit);
    };
    if (flat) {
      const std::int32_t all = place.rows * a.run_units, skew = static_cast<std::int32_t>(place.dst & 15) / unit;
      const std::int32_t cycle = a.cycles.runs * a.run_units;
      const std::uint32_t items = static_cast<std::uint32_t>(a.cycles.together) * a.cycles.words.divisor;
      for (std::uint32_t item = 0; item < items && !testing::Test::HasFatalFailure(); ++item) {
        const cuda::PackedStep at = cuda::packed_cycle_word(a.cycles, item);
        const std::int32_t first = at.word * units - skew;
        for (std::int32_t c = at.line; first + c * cycle < all; c += a.cycles.together) {
          // The first word of a tile that starts off a word is looked up anew in each cycle.
          const std::int32_t known = first < 0 ? first + c * cycle : first;
          const std::int32_t behind = first < 0 ? 0 : c * a.cycles.runs * a.flat_step;
          const std::uint32_t run = a.flat_run.quotient(static_cast<std::uint32_t>(std::max(known, 0)));
          const std::int32_t in_run = known - static_cast<std::int32_t>(run * a.flat_run.divisor);
          for (std::int32_t j = 0; j < units; ++j) {
            const std::int32_t p = first + c * cycle + j;
            if (p < 0 || p >= all) continue;
            collect(place.dst, p,
                    low + behind + cuda::packed_run_entry(a, static_cast<std::uint32_t>(in_run + j)) +
                        static_cast<std::int64_t>(run) * a.flat_step);
          }
        }
      }
      continue;
    }
    // The words of the run in row `row` that a thread moves as its word number `word`.
    const bool ends_apart = cuda::packed_ends_apart(a.kind, unit, copy.c.cast);
    const auto place_of = [&](std::int32_t row) {
      const cuda::PackedSum entry = cuda::packed_row_entry(a, static_cast<std::uint32_t>(row));
      return std::pair{place.dst + entry.dst, entry.inside};
    };
    const auto unit_of_run = [&](std::int64_t to, std::int32_t inside, std::int32_t p) {
      if (!testing::Test::HasFatalFailure())
        collect(to, p, low + cuda::packed_run_entry(a, static_cast<std::uint32_t>(p)) + inside);
    };
    const auto move_word = [&](std::int32_t row, std::int32_t word, bool own_start) {
      const auto [to, inside] = place_of(row);
      // Lanes of a tile whose runs start alike take the tile's own start.
      const auto start = static_cast<std::int32_t>((own_start ? to : place.dst) & 15) / unit;
      const std::int32_t first = word * units + (ends_apart ? cuda::packed_head(start, units) : -start);
      if (ends_apart && first + units > place.run_units) return;
      for (std::int32_t p = std::max(first, 0); p < std::min(first + units, place.run_units); ++p)
        unit_of_run(to, inside, p);
    };
    if (a.kind == cuda::PackedKind::kSorted) {
      const auto passes = static_cast<std::int32_t>(a.store.passes.divisor);
      for (std::int32_t step = 0; step < a.store.steps; step += passes)
        for (std::int32_t thread = 0; thread < a.threads; ++thread) {
          const cuda::PackedStep at =
              cuda::packed_step(a.store, static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(thread));
          if (at.line >= a.store.lines) continue;
          for (std::int32_t line = at.line * passes; line < (at.line + 1) * passes; ++line) {
            const std::int32_t row = table.at(static_cast<std::size_t>(line));
            if (row >= 0 && row < place.rows) move_word(row, at.word, true);
          }
        }
    } else {
      every_step(a.store, a.threads, [&](const cuda::PackedStep& step) {
        for (std::int32_t row = step.line * across; row < std::min((step.line + 1) * across, place.rows); ++row)
          move_word(row, step.word, a.kind == cuda::PackedKind::kLoose);
      });
    }
    for (std::int32_t i = 0; ends_apart && i < cuda::kPackedEndParts * place.rows; ++i) {
      const auto [to, inside] = place_of(i / cuda::kPackedEndParts);
      const auto start = static_cast<std::int32_t>(to & 15) / unit;
      const cuda::PackedEnd end = cuda::packed_end(start, place.run_units, units, i % cuda::kPackedEndParts);
      if (end.first >= end.last) continue;
      ASSERT_EQ((to + std::int64_t{end.unit} * unit) % 4, 0) << "4 bytes of dst";
      ASSERT_TRUE(end.unit <= end.first && end.last <= end.unit + units / 4);
      for (std::int32_t p = end.first; p < end.last; ++p) unit_of_run(to, inside, p);
    }
    if (testing::Test::HasFatalFailure()) return;
  }
  written.expect_complete();
}

TEST(PackedMap, MovesRecordsAndPixelsOnce) {
  replay("f32 (3,1000)", "f32 (3,1000):(1,3)");
  replay("f32 (1000,5)", "f32 (1000,5):(1,1000)");
  replay("u8 (2,3,777)", "u8 (2,3,777):(2331,1,3)");
}

TEST(PackedMap, ReadsShortGapsOfSrcAlongAndLeavesThemOut) {
  replay("u8 (700,17)", "u8 (700,17):(24,1)");
  replay("u8 (700,17)", "u8 (700,17):(24,-1)@16");
  replay("f16 (300,17)", "f16 (300,17):(24,1)", 2);
  replay("u8 (333,100)", "u8 (333,100):(5,2048)");
  replay("u8 (333,100)", "u8 (333,100):(-5,2048)@1660");
  replay("f32 (40,30,3)", "f32 (40,30,3):(400,8,2)");
}

TEST(PackedMap, TakesATileThatFitsWhereTheCheapestDoesNot) {
  replay("u8 (187,3,7,103)", "u8 (187,3,7,103):(1,187,561,3927)");
}

TEST(PackedMap, MovesBatchesOfSmallMatricesOnce) {
  const Copy copy("f32 (500000,12,8)", "f32 (500000,12,8):(96,1,12)");
  EXPECT_EQ(cuda::plan_cuda(copy.c, {}).chosen.kernel.family, plan::Family::kPacked);
  replay("f32 (50,6,6)", "f32 (50,6,6):(36,1,6)");
  replay("f16 (40,20,12)", "f16 (40,20,12):(240,1,20)");
  replay("u8 (9,33,65)", "u8 (9,33,65):(2145,1,33)");
}

TEST(PackedMap, MovesReversalsOfManyModesOnce) {
  replay("f32 (7,5,6,9)", "f32 (7,5,6,9):(1,7,35,210)");
  replay("u8 (26,3,4,14,18)", "u8 (26,3,4,14,18):(1,26,78,312,4368)");
  replay("c64 (2,2,2,2,2,2,2,2,2)", "c64 (2,2,2,2,2,2,2,2,2):(4,128,1,16,64,2,256,8,32)");
}

TEST(PackedMap, TransposesBytesInBlocksWhereRowsAllowIt) {
  const Copy copy("u8 (96,5,48,32)", "u8 (96,5,48,32):(1,147456,96,4608)");
  const plan::Candidate packed = cuda_test::bid_of("packed/staged", copy.c);
  ASSERT_TRUE(packed.applies);
  EXPECT_EQ(cuda_test::args_of<cuda::PackedArgs>(copy.c, packed).kind, cuda::PackedKind::kTransposed);
  replay("u8 (96,48,32)", "u8 (96,48,32):(1,96,4608)");
  replay("f16 (96,5,48,32)", "f16 (96,5,48,32):(1,147456,96,4608)");
}

TEST(PackedMap, RunsThatFollowEachOtherAreOneFlatRun) {
  for (const auto& [rows, columns] : {std::pair{2, 2}, {3, 3}, {5, 7}, {13, 29}, {31, 17}}) {
    const auto layout = [rows = rows, columns = columns](const std::string& dtype, int count) {
      return dtype + " (" + std::to_string(count) + "," + std::to_string(rows) + "," + std::to_string(columns) + ")";
    };
    const std::string strides = ":(" + std::to_string(rows * columns) + ",1," + std::to_string(rows) + ")";
    const Copy copy(layout("f32", 20000), layout("f32", 20000) + strides);
    EXPECT_EQ(cuda_test::args_of<cuda::PackedArgs>("packed/staged", copy.c).kind, cuda::PackedKind::kFlat) << rows;
    for (const std::string dtype : {"u8", "f16", "f32"})
      for (const int align : {128, dtype == "u8" ? 1 : dtype == "f16" ? 2 : 4})
        replay(layout(dtype, 400), layout(dtype, 400) + strides, align);
  }
}

TEST(PackedMap, MatricesOfTwoKibibytesComeSeveralToATile) {
  for (const auto& [dst, src] : {std::pair{"f32 (20000,31,17)", "f32 (20000,31,17):(527,1,31)"},
                                 {"f32 (20000,60,9)", "f32 (20000,60,9):(540,1,60)"},
                                 {"f64 (20000,13,19)", "f64 (20000,13,19):(247,1,13)"}}) {
    const Copy copy(dst, src);
    EXPECT_GE(cuda_test::args_of<cuda::PackedArgs>("packed/staged", copy.c).tile_bytes, 8 << 10) << dst;
  }
  replay("f32 (40,31,17)", "f32 (40,31,17):(527,1,31)");
}

TEST(PackedMap, SortsLooseRowsByWhereTheyStart) {
  const std::string dst = "u8 (7,15,11,43,10,18)", src = "u8 (7,15,11,43,10,18):(473,595980,1,11,59598,3311)";
  const Copy copy(dst, src);
  const cuda::PackedArgs a = cuda_test::args_of<cuda::PackedArgs>("packed/staged", copy.c);
  EXPECT_EQ(a.kind, cuda::PackedKind::kSorted);
  EXPECT_EQ(a.start_step, 4);
  replay(dst, src);
  replay(dst, src, 1);
  replay("f16 (12,19,11,9,15,2)", "f16 (12,19,11,9,15,2):(1,51480,4680,978120,24,12)", 2);
  replay("f16 (5,84,15)", "f16 (5,84,15):(1260,1,84)");
}

TEST(PackedMap, EndsAndWholeWordsAreEveryUnitOfARunOnce) {
  for (const int units : {8, 16})
    for (int start = 0; start < units; ++start)
      for (int run = 1; run <= 5 * units; ++run) {
        std::vector<int> moved(static_cast<std::size_t>(run));
        for (int first = cuda::packed_head(start, units); first + units <= run; first += units)
          for (int p = first; p < first + units; ++p) ++moved[static_cast<std::size_t>(p)];
        for (int part = 0; part < cuda::kPackedEndParts; ++part) {
          const cuda::PackedEnd end = cuda::packed_end(start, run, units, part);
          for (int p = end.first; p < end.last; ++p) ++moved.at(static_cast<std::size_t>(p));
        }
        EXPECT_EQ(std::set<int>(moved.begin(), moved.end()), std::set<int>{1}) << units << " " << start << " " << run;
      }
}

TEST(PackedMap, FollowsPiecesFirstWhereRunsAreCutOften) {
  const auto pieces_first = [](const char* dst, const char* src) {
    const Copy copy(dst, src);
    return cuda_test::args_of<cuda::PackedArgs>("packed/staged", copy.c).pieces_first;
  };
  EXPECT_TRUE(pieces_first("u8 (27,2,12,388080)", "u8 (27,2,12,388080):(1,27,54,648)"));
  EXPECT_FALSE(pieces_first("u8 (27,2,12,3880)", "u8 (27,2,12,3880):(1,27,54,648)"));
}

TEST(PackedMap, TilesInEitherOrderAreAllCutsOnce) {
  cuda::PackedArgs a;
  a.cuts_d = base::FastDiv(5);
  a.cuts_s = base::FastDiv(3);
  a.d_dst_step = 1;
  a.s_dst_step = 10;
  for (const bool pieces_first : {false, true}) {
    a.pieces_first = pieces_first;
    std::set<std::int64_t> seen;
    for (std::uint32_t tile = 0; tile < 15; ++tile) seen.insert(cuda::packed_place(a, tile).dst);
    EXPECT_EQ(seen.size(), 15u);
    EXPECT_EQ(*seen.rbegin(), 24);
    EXPECT_EQ(cuda::packed_place(a, 1).dst, pieces_first ? 10 : 1);
  }
}

TEST(PackedMap, FollowsPitchesFlipsAndPointersOffTheirWords) {
  replay("f32 (10,12,7):(200,10,1)", "f32 (10,12,7):(1,10,-120)@720");
  replay("u8 (31,12,7)", "u8 (31,12,7):(1,40,481)@3", 1);
  replay("f16 (9,8,20)", "f16 (9,8,20):(-1,9,72)@8", 2);
}

TEST(PackedMap, WalksModesThatGoBackwardsInWholeAndInPart) {
  replay("u8 (50,40,3)", "u8 (50,40,3):(-3,150,1)@147");  // turned left
  replay("u8 (400,310,3)", "u8 (400,310,3):(-3,1200,1)@1197");
  replay("f32 (300,200,3)", "f32 (300,200,3):(-3,900,1)@897");
  replay("u8 (90,2000,3)", "u8 (90,2000,3):(-6000,-3,1)@539997");  // upside down
  replay("f16 (90,501,3)", "f16 (90,501,3):(1503,-3,1)@1500", 2);  // mirrored
  replay("u8 (5,700,3)", "u8 (5,700,3):(2100,3,-1)@2", 1);         // colours swapped
  replay("u8 (96,5,48,32)", "u8 (96,5,48,32):(-1,147456,96,4608)@95");
}

TEST(PackedMap, LanesLookUpWordsSideBySideInBanksOfTheirOwn) {
  using cuda::PackedKind;
  for (const int unit : {1, 2}) {
    const int units = 16 / unit;
    const std::int32_t gap = cuda::packed_run_gap(PackedKind::kFixed, unit);
    EXPECT_EQ(cuda::packed_run_gap(PackedKind::kSpread, unit), gap) << "one may become the other";
    for (int first = 0; first < units; ++first)
      for (int part = 0; part < units; ++part) {
        std::set<std::int32_t> banks;
        for (int lane = 0; lane < 32; ++lane)
          banks.insert(cuda::packed_run_place(first + lane * units + part, unit, gap) * 2 / 4 % 32);
        EXPECT_EQ(banks.size(), 32u) << unit << " " << first << " " << part;
      }
    for (const int run : {1, 31, 1400}) {
      std::set<std::int32_t> places;
      for (std::int32_t i = 0; i < run + 2 * cuda::kRunPad; ++i) places.insert(cuda::packed_run_place(i, unit, gap));
      EXPECT_EQ(places.size(), static_cast<std::size_t>(run + 2 * cuda::kRunPad)) << "an entry has its own place";
      EXPECT_LT(*places.rbegin(), cuda::packed_run_table(run, unit, gap));
    }
  }
  for (const PackedKind kind : {PackedKind::kLoose, PackedKind::kFlat, PackedKind::kTransposed, PackedKind::kSorted})
    EXPECT_EQ(cuda::packed_run_gap(kind, 1), 0);
}

TEST(PackedMap, RunsOfBytesThatStartAlikeAreMovedOnce) {
  const std::string dst = "u8 (101,6,40,35)", src = "u8 (101,6,40,35):(40,4040,1,24240)";
  const Copy copy(dst, src);
  const cuda::PackedKind kind = cuda_test::args_of<cuda::PackedArgs>("packed/staged", copy.c).kind;
  EXPECT_TRUE(kind == cuda::PackedKind::kFixed || kind == cuda::PackedKind::kSpread);
  replay(dst, src);
  replay(dst, src, 1);
}

TEST(PackedMap, SwizzleKeepsAWordInItsGroupOfEight) {
  for (const int shift : {cuda::kNoSwizzle, 3, 5, 9}) {
    std::set<std::uint32_t> seen;
    for (std::uint32_t at = 0; at < 4096; at += 16) {
      const std::uint32_t to = cuda::packed_swizzle(at, shift);
      EXPECT_EQ(to / 128, at / 128);
      EXPECT_TRUE(seen.insert(to).second);
      EXPECT_EQ(cuda::packed_swizzle(at + 5, shift), to + 5);
    }
  }
}

}  // namespace
}  // namespace restride
