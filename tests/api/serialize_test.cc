#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "src/plan/decision.h"
#include "tests/support/plan_text.h"
#include "tests/support/throws.h"

namespace restride {
namespace {

using test::holds;
using test::made;
using test::message_of;
using test::with;

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

TEST(Deserialize, TakesNoMoreThreadsThanThePlannerWould) {
  const std::pair<const char*, const char*> kCopies[] = {{"f32 (100)", "f32 (100)"},
                                                         {"f32 (2048,2048)", "f32 (2048,2048):(1,2048)"},
                                                         {"u8 (256,4096):(5000,1)", "u8 (256,4096):(1,300)"}};
  Options all;
  all.device = DeviceKind::kCpu;
  all.threads = 4096;
  for (const auto& [dst, src] : kCopies) {
    const std::string text = with(made(dst, src).serialize(), "threads", 4096);
    EXPECT_EQ(Plan::deserialize(text).threads(), Plan(parse_layout(dst), parse_layout(src), all).threads()) << text;
  }
}

TEST(Deserialize, RefusesTextThatSerializeDidNotMake) {
  const std::string text = made("f32 (64,96)", "f32 (64,96):(1,64)").serialize();
  std::string steam = text;
  steam.replace(steam.find("\"stream\""), 8, "\"steam\"");
  for (const std::string& bad :
       {std::string(), std::string("[]"), std::string("{}"), text.substr(0, text.size() / 2), steam,
        with(text, "restride_plan", 2), with(text, "device", "\"abacus\""), with(text, "threads", "0"),
        with(text, "threads", 4097), with(text, "threads", "\"1\""), with(text, "dst_align", 3),
        with(text, "family", "\"xtile\"")})
    EXPECT_THROW(Plan::deserialize(bad), ParseError) << bad;
}

TEST(Deserialize, RefusesMoreParametersThanAnyPlanHas) {
  std::string text = made("f32 (64,96)", "f32 (64,96):(1,64)", "tile").serialize();
  const std::size_t first = text.find("\"params\":{") + 10;
  std::string params;
  for (int i = 0; i < plan::kParamCount; ++i)
    params += std::string(i == 0 ? "\"" : ",\"").append(plan::name(static_cast<plan::ParamId>(i))) + "\":1";
  text.replace(first, text.find('}', first) - first, params);
  EXPECT_TRUE(holds(message_of<ParseError>([&] { Plan::deserialize(text); }), "is no integer parameter"));
}

TEST(Deserialize, RefusesAFamilyThatTheLayoutsDoNotTake) {
  const std::string text = made("f32 (64,96)", "f32 (64,96)").serialize();
  EXPECT_TRUE(holds(message_of<ParseError>([&] { Plan::deserialize(with(text, "family", "\"tile\"")); }),
                    "plan:", "does not apply"));
  EXPECT_TRUE(
      holds(message_of<ParseError>([&] { Plan::deserialize(with(text, "family", "\"noop\"")); }), "copies of nothing"));
}

}  // namespace
}  // namespace restride
