#include "src/cpu/tile/prepare.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/plan_text.h"

namespace restride {
namespace {

using test::made;
using test::with;

constexpr const char* kHuge[] = {"1152921504606846976", "9223372036854775807"};

TEST(PrepareTile, RefusesSizesThatNoTileHas) {
  const std::string text = made("f32 (300,400)", "f32 (300,400):(1,300)", "tile/units").serialize();
  for (const std::int64_t bad : {-1, 0, 3, 1 << 20}) {
    EXPECT_THROW(Plan::deserialize(with(text, "tile_rows", bad)), ParseError) << "tile_rows " << bad;
    if (bad < 300) {  // a chunk may be longer than the rows there are
      EXPECT_THROW(Plan::deserialize(with(text, "block_units", bad)), ParseError) << "block_units " << bad;
    }
    EXPECT_THROW(Plan::deserialize(with(text, "tile_cols", bad)), ParseError) << "tile_cols " << bad;
    EXPECT_THROW(Plan::deserialize(with(text, "band_cols", bad)), ParseError) << "band_cols " << bad;
  }
  for (const char* huge : kHuge) EXPECT_THROW(Plan::deserialize(with(text, "tile_cols", huge)), ParseError) << huge;
  EXPECT_NO_THROW(Plan::deserialize(with(text, "stream", 1)));
}

TEST(PrepareTile, RefusesFlagsThatSayNothingHere) {
  const std::string text = made("u8 (2000,2000)", "u8 (2000,2000):(1,2000)", "tile/units").serialize();
  const std::string past = with(with(text, "stream", 1), "sink", 2);  // whatever this machine's caches hold
  const std::string far = with(with(with(with(past, "near", 0), "source", 0), "side_by_side", 0), "odd_ahead", 0);
  EXPECT_NO_THROW(Plan::deserialize(with(far, "late", 1))) << far;
  EXPECT_NO_THROW(Plan::deserialize(with(far, "side_by_side", 1))) << far;
  EXPECT_THROW(Plan::deserialize(with(far, "odd_ahead", 1)), ParseError) << "nothing is prefetched near";
  const std::string near = with(far, "near", 1);
  EXPECT_NO_THROW(Plan::deserialize(with(with(near, "side_by_side", 1), "odd_ahead", 1)));
  EXPECT_THROW(Plan::deserialize(with(near, "side_by_side", 2)), ParseError);
  EXPECT_THROW(Plan::deserialize(with(with(with(far, "stream", 0), "sink", 0), "late", 1)), ParseError);
  const std::string wide = made("f32 (2000,2000)", "f32 (2000,2000):(1,2000)", "tile/units").serialize();
  EXPECT_THROW(Plan::deserialize(with(wide, "late", 1)), ParseError) << "columns of words leave by pairs of lines";
  const std::string pixels = made("u8 (200,300,3)", "u8 (200,300,3):(3,600,1)", "tile/records").serialize();
  for (const int way : {0, 1, 2}) EXPECT_NO_THROW(Plan::deserialize(with(pixels, "record_way", way)));
  EXPECT_THROW(Plan::deserialize(with(pixels, "record_way", 3)), ParseError);
}

TEST(PrepareTile, RefusesTilesThatCutABlockOfColumns) {
  // Sinks carry whole blocks of columns over to the next tile: four f32 here, so that 6 columns would tear one.
  const std::string text = made("f32 (300,400)", "f32 (300,400):(1,300)", "tile/units").serialize();
  EXPECT_THROW(Plan::deserialize(with(with(text, "tile_cols", 6), "band_cols", 12)), ParseError);
  EXPECT_NO_THROW(Plan::deserialize(with(with(text, "tile_cols", 8), "band_cols", 16)));
}

TEST(PrepareTile, RefusesChunksThatCutATile) {
  const std::string text = made("f32 (300,400)", "f32 (300,400):(1,300)", "tile/units").serialize();
  const std::string tiles = with(text, "tile_rows", 32);
  EXPECT_THROW(Plan::deserialize(with(tiles, "block_units", 48)), ParseError);
  EXPECT_NO_THROW(Plan::deserialize(with(tiles, "block_units", 64)));
}

TEST(PrepareTile, RefusesRecordsWhoseLastBlockWouldLeaveTheStage) {
  // Nine cells of 56 bytes fit the 512 of a staged row; the third block of four, read whole, would not.
  const std::string text = made("b20 (9,128)", "b20 (9,128):(56,504)b", "tile/records").serialize();
  ASSERT_NE(text.find("record_bytes\":20"), std::string::npos) << text;
  EXPECT_NO_THROW(Plan::deserialize(text));
  const std::string wide = with(with(with(text, "tile_rows", 128), "tile_cols", 9), "band_cols", 9);
  EXPECT_THROW(Plan::deserialize(with(wide, "block_units", 128)), ParseError);
}

TEST(PrepareTile, TakesMoreRowsAChunkThanThereAre) {
  const Plan plan = made("f32 (32,64)", "f32 (32,64):(1,32)", "tile/units");
  const Plan replayed = Plan::deserialize(with(plan.serialize(), "block_units", INT64_MAX));
  std::vector<float> from(64 * 32), once(from.size()), again(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i + 1);
  plan.run(once.data(), from.data());
  replayed.run(again.data(), from.data());
  EXPECT_EQ(once, again);
}

TEST(PrepareTile, RefusesSinksAndSourcesThatDoNotFit) {
  const std::string off_lines = made("f32 (300,401)", "f32 (300,401):(1,300)", "tile/units").serialize();
  const std::string streamed = with(off_lines, "stream", 1);
  EXPECT_NO_THROW(Plan::deserialize(with(streamed, "sink", 2)));
  EXPECT_THROW(Plan::deserialize(with(streamed, "sink", 1)), ParseError) << "columns start inside lines";
  EXPECT_THROW(Plan::deserialize(with(off_lines, "sink", 2)), ParseError) << "stores stay in the caches";
  for (const std::int64_t bad : {-1, 3}) EXPECT_THROW(Plan::deserialize(with(streamed, "sink", bad)), ParseError);
  for (const std::int64_t bad : {-1, 2}) EXPECT_THROW(Plan::deserialize(with(streamed, "source", bad)), ParseError);
  const std::string cast = made("f16 (300,401)", "f32 (300,401):(1,300)", "tile/units").serialize();
  EXPECT_THROW(Plan::deserialize(with(cast, "source", 1)), ParseError) << "what is converted is staged";
}

TEST(PrepareTile, RefusesBandsOfMatricesThatFillNoBlock) {
  const std::string text = made("f32 (300,400)", "f32 (300,400):(1,300)", "tile/matrices").serialize();
  for (const std::int64_t bad : {-1, 0, 3, 301})
    EXPECT_THROW(Plan::deserialize(with(text, "band_cols", bad)), ParseError);
  EXPECT_NO_THROW(Plan::deserialize(with(text, "band_cols", 4)));
}

TEST(PrepareTile, StreamsDenseMatricesAsAWhole) {
  const std::string text = made("f32 (9,61,40)", "f32 (9,61,40):(2440,1,61)", "tile/matrices").serialize();
  EXPECT_NO_THROW(Plan::deserialize(with(text, "stream", 1)));
  EXPECT_THROW(Plan::deserialize(with(text, "stream", 2)), ParseError);
  EXPECT_THROW(Plan::deserialize(with(with(text, "stream", 1), "band_cols", 20)), ParseError) << "a band of each";
}

TEST(PrepareTile, HasNoStreamForMatricesWithGaps) {
  for (const char* src : {"f32 (9,61,40):(2480,1,62)", "f32 (9,61,40):(2440,-1,61)@60"})
    EXPECT_EQ(made("f32 (9,61,40)", src, "tile/matrices").serialize().find("stream"), std::string::npos) << src;
}

}  // namespace
}  // namespace restride
