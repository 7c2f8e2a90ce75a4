#include "src/plan/decision.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/throws.h"

namespace restride {
namespace {

using test::holds;
using test::message_of;

Plan made(std::string_view dst, std::string_view src, std::string_view family = {}) {
  Options options;
  options.device = DeviceKind::kCpu;
  options.family = family;
  return Plan(parse_layout(dst), parse_layout(src), options);
}
std::string edited(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(Names, AreDistinct) {
  std::set<std::string_view> families;
  for (int i = 0; i < plan::kFamilyCount; ++i) families.insert(plan::name(static_cast<plan::Family>(i)));
  EXPECT_EQ(families.size(), static_cast<std::size_t>(plan::kFamilyCount));
  std::set<std::string_view> params;
  for (int i = 0; i < plan::kParamCount; ++i) params.insert(plan::name(static_cast<plan::ParamId>(i)));
  EXPECT_EQ(params.size(), static_cast<std::size_t>(plan::kParamCount));
}

TEST(Explain, ShowsTheCanonicalFormTheChoiceAndWhatLost) {
  EXPECT_TRUE(holds(made("f32 (64,96)", "f32 (64,96):(1,64)").explain(), "src        f32 (64,96):(1,64)",
                    "dst        f32 (64,96):(96,1)",
                    "canonical  unit 4: (96,64) dst (4,384)b src (256,4)b, innermost first", "device     cpu, 1 thread",
                    "chosen     ", "tile_rows=", "others     ",
                    "run      does not apply: the copy is not one run contiguous on both sides"));
}

TEST(Serialize, MakesTheSamePlanAgain) {
  for (const char* src :
       {"f32 (64,96):(1,64)", "f32 (64,96)", "f32 (64,96):(0,1)", "f32 (64,96):(-96,-1)@6143", "f16 (64,96):(1,64)"})
    for (const char* family : {"", "rows", "tile", "packed", "buffered", "gather"}) {
      const std::string text = [&]() -> std::string {
        try {
          return made("f32 (64,96)", src, family).serialize();
        } catch (const ArgumentError&) {
          return "";  // does not apply
        }
      }();
      if (text.empty()) continue;
      const Plan again = Plan::deserialize(text);
      EXPECT_EQ(again.serialize(), text);
      EXPECT_EQ(again.explain(), made("f32 (64,96)", src, family).explain());
      EXPECT_TRUE(holds(again.explain(), "chosen     " + std::string(again.family())));
    }
}

TEST(Serialize, CarriesChannels) {
  const Plan plan = made("f32 (3,64,96)", "u8 (3,64,96):(1,288,3)", "channels");
  EXPECT_EQ(Plan::deserialize(plan.serialize()).explain(), plan.explain());
}

TEST(Serialize, CarriesThePlanOfNothing) {
  const Plan nothing = Plan::deserialize(made("f32 (0)", "f32 (3,0)").serialize());
  EXPECT_EQ(nothing.family(), "noop");
  EXPECT_EQ(nothing.run(nullptr, nullptr), 0);
}

TEST(Deserialize, RefusesParametersThatNoTileHas) {
  const Plan plan = made("f32 (300,400)", "f32 (300,400):(1,300)", "tile");
  const std::string text = plan.serialize();
  const auto param = [&](const char* key, std::int64_t value) {
    const std::string name = std::string(1, '"').append(key).append("\":");
    std::size_t at = text.find(name);
    EXPECT_NE(at, std::string::npos);
    at += name.size();
    std::string out = text;
    return out.replace(at, out.find_first_of(",}", at) - at, std::to_string(value));
  };
  for (std::int64_t bad : {-1, 0, 3, 1 << 20}) {
    EXPECT_THROW(Plan::deserialize(param("tile_rows", bad)), ParseError) << "tile_rows " << bad;
    if (bad < 300) {  // a chunk may be longer than the rows there are
      EXPECT_THROW(Plan::deserialize(param("block_units", bad)), ParseError) << "block_units " << bad;
    }
    EXPECT_THROW(Plan::deserialize(param("tile_cols", bad)), ParseError) << "tile_cols " << bad;
    EXPECT_THROW(Plan::deserialize(param("band_cols", bad)), ParseError) << "band_cols " << bad;
  }
  EXPECT_NO_THROW(Plan::deserialize(param("stream", 1)));
}

TEST(Deserialize, RefusesTilesThatCutABlockOfColumns) {
  // Sinks carry whole blocks of columns over to the next tile: four f32 here, so that 6 columns would tear one.
  std::string text = made("f32 (300,400)", "f32 (300,400):(1,300)", "tile").serialize();
  const auto put = [&](const std::string& key, const std::string& value) {
    const std::size_t at = text.find("\"" + key + "\":") + key.size() + 3;
    text.replace(at, text.find_first_of(",}", at) - at, value);
  };
  put("tile_cols", "6");
  put("band_cols", "12");
  EXPECT_THROW(Plan::deserialize(text), ParseError);
  put("tile_cols", "8");
  put("band_cols", "16");
  EXPECT_NO_THROW(Plan::deserialize(text));
}

TEST(Deserialize, RefusesRecordTilesWhoseLastBlockWouldLeaveTheStage) {
  // Nine cells of 56 bytes fit the 512 of a staged row; the third block of four, read whole, would not.
  std::string text = made("b20 (9,128)", "b20 (9,128):(56,504)b", "tile").serialize();
  const auto put = [&](const std::string& key, const std::string& value) {
    const std::size_t at = text.find(key + "\":") + key.size() + 2;
    text.replace(at, text.find_first_of(",}", at) - at, value);
  };
  ASSERT_NE(text.find("record_bytes\":20"), std::string::npos) << text;
  EXPECT_NO_THROW(Plan::deserialize(text));
  put("tile_rows", "128");
  put("tile_cols", "9");
  put("band_cols", "9");
  put("block_units", "128");
  EXPECT_THROW(Plan::deserialize(text), ParseError);
}

TEST(Deserialize, RefusesBlocksAndRecordsThatDoNotFit) {
  const auto expect_refused = [](std::string text, const std::string& key, std::initializer_list<const char*> values) {
    const std::size_t at = text.find(key + "\":");
    ASSERT_NE(at, std::string::npos) << text;
    const std::size_t from = at + key.size() + 2;
    for (const char* value : values) {
      text.replace(from, text.find_first_of(",}", from) - from, value);
      EXPECT_THROW(Plan::deserialize(text), ParseError) << text;
    }
  };
  const std::string buffered = made("f32 (5,77,29)", "f32 (5,77,29):(2233,1,77)", "buffered").serialize();
  expect_refused(buffered, "run_bytes", {"0", "-1", "9223372036854775807"});
  expect_refused(buffered, "read_bytes", {"0", "-1", "9223372036854775807"});
  const std::string rows = made("u8 (5,77,3)", "u8 (5,77,3):(308,4,1)", "rows").serialize();
  expect_refused(rows, "record_bytes", {"-3", "1", "4", "9223372036854775807"});
}

TEST(Deserialize, RefusesTextThatSerializeDidNotMake) {
  const std::string text = made("f32 (64,96)", "f32 (64,96):(1,64)").serialize();
  for (const std::string& bad :
       {std::string(), std::string("[]"), std::string("{}"), text.substr(0, text.size() / 2),
        edited(text, "\"restride_plan\":1", "\"restride_plan\":2"), edited(text, "\"cpu\"", "\"abacus\""),
        edited(text, "\"threads\":1", "\"threads\":0"), edited(text, "\"threads\":1", "\"threads\":\"1\""),
        edited(text, "\"stream\"", "\"steam\""), edited(text, "\"dst_align\":1", "\"dst_align\":3"),
        edited(text, "\"family\":\"", "\"family\":\"x")})
    EXPECT_THROW(Plan::deserialize(bad), ParseError) << bad;
}

TEST(Deserialize, RefusesAFamilyThatTheLayoutsDoNotTake) {
  const std::string text = made("f32 (64,96)", "f32 (64,96)").serialize();
  EXPECT_TRUE(holds(
      message_of<ParseError>([&] { Plan::deserialize(edited(text, "\"family\":\"run\"", "\"family\":\"tile\"")); }),
      "plan:", "does not apply"));
}

}  // namespace
}  // namespace restride
