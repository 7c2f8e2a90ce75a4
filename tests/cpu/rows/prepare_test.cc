#include "src/cpu/rows/prepare.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "tests/support/plan_text.h"

namespace restride {
namespace {

using test::made;
using test::with;

TEST(PrepareRows, RefusesWaysToReadThatNoKernelHas) {
  std::string text = made("f32 (300,300)", "f32 (300,300):(400,1)", "rows").serialize();
  text = with(with(with(with(text, "stream", 1), "near", 1), "order", 2), "loop", 0);
  EXPECT_NO_THROW(Plan::deserialize(text)) << text;
  for (const char* bad : {"-1", "17", "9223372036854775807"}) {
    EXPECT_THROW(Plan::deserialize(with(text, "near", bad)), ParseError) << bad;
    EXPECT_THROW(Plan::deserialize(with(text, "order", bad)), ParseError) << bad;
    EXPECT_THROW(Plan::deserialize(with(text, "loop", bad)), ParseError) << bad;
  }
}

TEST(PrepareRows, CutsLongRowsIntoWholeLinesWhateverTheRecord) {
  for (const int bytes : {1, 3, 4, 5, 6, 7, 8, 12, 16})
    for (const std::int64_t stride : {-bytes, bytes, 17, 20, 24, 40, 48, 64}) {
      layout::Canonical c;
      c.dst_unit = c.src_unit = bytes;
      c.modes.push_back({1'000'000, bytes, stride});
      for (const bool near : {false, true}) {
        SCOPED_TRACE(testing::Message() << bytes << " bytes, " << stride << " apart, near " << near);
        const cpu::RowPieces rows = cpu::row_pieces(c, near);
        EXPECT_GT(rows.pieces, 1);
        const std::int64_t line = 64 / std::gcd(64, bytes);
        EXPECT_TRUE(rows.units < line || rows.units % line == 0) << rows.units;
        EXPECT_EQ((rows.pieces - 1) * rows.units + rows.last_units, 1'000'000);
      }
    }
}

TEST(PrepareRows, RefusesLoopsThatWouldMoveOtherRows) {
  const auto loops_of = [](std::string_view dst, std::string_view src, int stream) {
    const std::string text = with(made(dst, src, "rows/units").serialize(), "stream", stream);
    std::string taken;
    for (int loop = 0; loop < 5; ++loop) try {
        Plan::deserialize(with(text, "loop", loop));
        taken += std::to_string(loop);
      } catch (const ParseError&) {
      }
    return taken;
  };
  EXPECT_EQ(loops_of("f32 (300,48)", "f32 (300,48):(50,1)", 0), "024");
  EXPECT_EQ(loops_of("f32 (300,48)", "f32 (300,48):(50,1)", 1), "0134") << "192 bytes a row";
  EXPECT_EQ(loops_of("f32 (300,40)", "f32 (300,40):(50,1)", 1), "014") << "no whole lines";
  EXPECT_EQ(loops_of("f32 (300,300)", "f32 (300,300):(400,1)", 1), "01") << "1200 bytes a row";
  EXPECT_EQ(loops_of("f16 (300,48)", "f32 (300,48):(50,1)", 1), "014") << "converted";
  EXPECT_EQ(loops_of("f32 (300,48)", "f32 (300,48):(50,-1)@47", 0), "04") << "walked downwards in src";
  EXPECT_EQ(loops_of("u8 (2,200000)", "u8 (2,200000):(200001,1)", 0), "0") << "cut into pieces";
}

}  // namespace
}  // namespace restride
