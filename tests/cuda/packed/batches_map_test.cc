// Replays src/cuda/packed/batches_map.h for every tile.
#include "src/cuda/packed/batches_map.h"

#include "tests/cuda/replay.h"

namespace restride {
namespace {

using cuda_test::canonical;
using cuda_test::Copy;
using cuda_test::Written;

void replay(const std::string& dst, const std::string& src, std::int64_t align = 128) {
  SCOPED_TRACE(dst + " from " + src);
  const Copy copy(dst, src, align);
  const plan::Candidate bid = cuda_test::bid_of("packed/batches", copy.c);
  ASSERT_TRUE(bid.applies) << bid.reason;
  const auto a = cuda_test::args_of<cuda::BatchArgs>(copy.c, bid);
  const int unit = copy.c.dst_unit;
  Written written(copy);
  for (std::uint32_t tile = 0; tile < a.tiles; ++tile) {
    const cuda::BatchPlace place = cuda::batch_place(a, tile);
    ASSERT_LE(place.matrices, a.tile_matrices);
    const auto low = static_cast<std::uint32_t>(place.at.src & 15);
    const std::int32_t bytes = cuda::batch_piece_bytes(a, place.matrices);
    for (std::int32_t p = 0; p < cuda::batch_pieces(a, place.matrices); ++p) {
      const std::int32_t at = cuda::batch_piece(a, p, low);
      ASSERT_EQ(at % 16, (place.at.src + p * a.src_pitch) & 15) << "not congruent to its address";
      ASSERT_LE((at & 15) + bytes, static_cast<std::int32_t>(a.piece_words.divisor) * 16);
      ASSERT_LE(at - p * a.piece_pitch + bytes, a.piece_pitch) << "reaches into the next piece";
    }
    // Where a byte of a line lies in shared memory, and from where it came there.
    const auto source = [&](std::int32_t at) {
      const std::int32_t p = a.pieces == 1 ? 0 : at / a.piece_pitch;
      return place.at.src + p * a.src_pitch + at - cuda::batch_piece(a, p, low);
    };
    for (std::int32_t n = 0; n * unit < place.matrices * a.matrix_bytes; ++n) {
      const cuda::BatchUnit at = cuda::batch_unit(a, n);
      ASSERT_LT(at.line + cuda::kMostBatchTurns, cuda::batch_lines(a, place.matrices));
      const std::int32_t from = cuda::batch_line(a, static_cast<std::uint32_t>(at.line), low) + at.at * a.unit_step;
      ASSERT_LT(from, cuda::batch_table(a));
      written.unit(place.at.dst + n * unit, source(from), unit);
    }
    // A word finds all of its units from the line of the first one and the next lines.
    const cuda::BatchRun run = cuda::batch_run(a, place.matrices, static_cast<std::uint32_t>(place.at.dst));
    ASSERT_EQ(run.head + run.words * a.word_bytes + run.tail, place.matrices * a.matrix_bytes);
    ASSERT_LE((run.head + run.tail) / unit, 128) << "one unit a lane";
    if (run.words > 0) {
      ASSERT_EQ((place.at.dst + run.head) % 32, 0) << "off a sector";
    }
    const std::int32_t turns = cuda::batch_turns(a.line_units.divisor, unit, a.word_bytes);
    ASSERT_LE(turns, a.kept_words != 0 ? cuda::kMostBatchTurns : 1);
    const auto at_unit = [&](std::int32_t n) {
      const cuda::BatchUnit at = cuda::batch_unit(a, n);
      return cuda::batch_line(a, static_cast<std::uint32_t>(at.line), low) + at.at * a.unit_step;
    };
    for (std::int32_t w = 0; w < run.words; ++w) {
      const std::int32_t units = a.word_bytes / unit, first = (run.head + w * a.word_bytes) / unit;
      ASSERT_LE(cuda::batch_unit(a, first + units - 1).line - cuda::batch_unit(a, first).line, turns);
      if (a.kept_words == 0) continue;
      const std::int32_t ahead = w / a.kept_words * a.kept_words * a.word_bytes;
      ASSERT_LT(cuda::batch_unit(a, first - ahead / unit).line + turns,
                cuda::batch_lines_made(a, place.matrices, unit));
      for (std::int32_t u = 0; u < units; ++u) ASSERT_EQ(at_unit(first + u), at_unit(first - ahead / unit + u) + ahead);
    }
    if (testing::Test::HasFatalFailure()) return;
  }
  written.expect_complete();
}

TEST(BatchesMap, MovesWholeMatricesOnce) {
  for (const std::int64_t align : {128, 2}) {
    replay("u16 (803,35,67)", "u16 (803,35,67):(2345,1,35)", align);
    replay("u16 (1001,13,15)", "u16 (1001,13,15):(195,1,13)", align);
    replay("u16 (977,7,9,11)", "u16 (977,7,9,11):(693,1,7,63)", align);
    replay("u16 (333,3,5,7,9)", "u16 (333,3,5,7,9):(945,1,3,15,105)", align);
    replay("u8 (1203,12,12)", "u8 (1203,12,12):(144,1,12)", align);
    replay("u8 (1203,19,5)", "u8 (1203,19,5):(95,1,19)", align);
  }
  for (const std::int64_t align : {128, 8}) {
    replay("f32 (803,9,41)", "f32 (803,9,41):(369,1,9)", align);
    replay("f64 (203,31,33)", "f64 (203,31,33):(1023,1,31)", align);
  }
  replay("u8 (5,121,121)", "u8 (5,121,121):(14641,1,121)", 1);
  replay("u16 (3,5,7)", "u16 (3,5,7):(35,1,5)");
  replay("u8 (19,13)", "u8 (19,13):(1,19)", 1);
}

TEST(BatchesMap, ChoosesWordsByHowLanesMeet) {
  const auto bid = [](const char* dst, const char* src) {
    return cuda_test::bid_of("packed/batches", canonical(dst, src));
  };
  const auto wide = bid("u8 (9000,13,19)", "u8 (9000,13,19):(247,1,13)");
  EXPECT_EQ(wide.get(plan::ParamId::kVectorBytes), 16);
  EXPECT_EQ(wide.get(plan::ParamId::kKind), 0);
  const auto kept = bid("u8 (9000,12,12)", "u8 (9000,12,12):(144,1,12)");
  EXPECT_EQ(kept.get(plan::ParamId::kVectorBytes), 16);
  EXPECT_EQ(kept.get(plan::ParamId::kKind), 1);
  EXPECT_EQ(bid("u8 (900,121,121)", "u8 (900,121,121):(14641,1,121)").get(plan::ParamId::kVectorBytes), 4);
  EXPECT_EQ(bid("u8 (9000,119,13)", "u8 (9000,119,13):(1547,1,119)").get(plan::ParamId::kVectorBytes), 4)
      << "places repeat themselves too late";
}

TEST(BatchesMap, IsChosenWhereLanesSeldomMeet) {
  const auto chosen = [](const char* dst, const char* src) {
    return cuda::plan_cuda(canonical(dst, src), {}).chosen.kernel.text;
  };
  EXPECT_EQ(chosen("u8 (191739,35,15)", "u8 (191739,35,15):(525,1,35)"), "packed/batches");
  EXPECT_EQ(chosen("u16 (20000,67,35)", "u16 (20000,67,35):(2345,1,67)"), "packed/batches");
  EXPECT_EQ(chosen("f64 (3592,113,31)", "f64 (3592,113,31):(3503,1,113)"), "packed/batches");
  EXPECT_EQ(chosen("f64 (4419,39,73)", "f64 (4419,39,73):(2847,1,39)"), "packed/batches");
  EXPECT_EQ(chosen("u8 (24576,64,64)", "u8 (24576,64,64):(4096,1,64)"), "tile/chains");
  EXPECT_EQ(chosen("u8 (20,12,12)", "u8 (20,12,12):(144,1,12)"), "rows/pixels") << "too small to pay";
}

TEST(BatchesMap, MovesMatricesThatLieApartInSrc) {
  for (const std::int64_t align : {128, 2}) {
    replay("u16 (5,25,9,11,13)", "u16 (5,25,9,11,13):(32175,143,3575,1,11)", align);
    replay("u16 (5,7,9,11,13)", "u16 (5,7,9,11,13):(9109,1301,143,1,11)", align);
    replay("u16 (7,5,33,45):(8000,1500,45,1)", "u16 (7,5,33,45):(1485,10395,1,33)", align);
  }
  replay("u8 (31,15,17)", "u8 (31,15,17):(-255,1,15)@7650", 1);
}

TEST(BatchesMap, IsOfferedWhereMatricesAreDense) {
  const auto reason = [](const char* dst, const char* src, std::int64_t align = 256) {
    const auto c = layout::canonicalize(parse_layout(dst), parse_layout(src), align, align);
    return cuda_test::bid_of("packed/batches", c).reason;
  };
  constexpr const char* kNotDense = "no block that is dense on both sides, or one too large for shared memory";
  EXPECT_EQ(reason("u16 (9000,35,67)", "u16 (9000,35,67):(2345,1,35)"), "");
  EXPECT_EQ(reason("u16 (9000,35,67)", "u16 (9000,35,67):(2400,1,35)"), "");
  EXPECT_EQ(reason("u16 (9000,35,67)", "u16 (9000,35,67):(2400,1,36)"), kNotDense);
  EXPECT_EQ(reason("u16 (67,35,9000)", "u16 (67,35,9000):(1,67,2345)"), kNotDense);
  EXPECT_EQ(reason("u16 (900,301,101)", "u16 (900,301,101):(30401,1,301)"), kNotDense);
  EXPECT_EQ(reason("u8 (9000,7,2)", "u8 (9000,7,2):(14,1,7)"), "lines of dst are too short");
  EXPECT_EQ(reason("c128 (900,7,7)", "c128 (900,7,7):(49,1,7)"), "no units of 1 to 8 bytes that are moved");
}

TEST(BatchesMap, TilesOfTwoHundredBytesAreLeftToOthers) {
  // 16 floats change places, and only four such blocks follow each other in dst.
  const Copy copy("f32 (512,1024,4,8,2)", "f32 (512,1024,4,8,2):(16,8192,8388608,1,8)", 128);
  const plan::Candidate bid = cuda_test::bid_of("packed/batches", copy.c);
  ASSERT_TRUE(bid.applies) << bid.reason;
  EXPECT_GT(bid.predicted.time_ns, 10 * cuda_test::bid_of("packed/staged", copy.c).predicted.time_ns);
}

}  // namespace
}  // namespace restride
