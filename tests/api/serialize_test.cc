#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/plan/decision.h"
#include "tests/support/families.h"
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

/// Every plan of every family for copies of all kinds, small and large; the families that there were.
std::set<std::string_view> expect_all_come_back(const Options& device) {
  const std::pair<const char*, const char*> kCopies[] = {
      {"f32 (1000)", "f32 (1000)"},
      {"u8 (1073741824)", "u8 (1073741824)"},
      {"bf16 (300,400)", "f32 (300,400):(500,1)"},
      {"u8 (4000,4000,3)", "u8 (4000,4000,3):(3,12000,1)"},  // records
      {"f32 (8192,8192)", "f32 (8192,8192):(1,8192)"},
      {"f32 (64,96):(100,1)", "f32 (64,96):(1,64)"},
      {"f16 (200,7,5)", "f16 (200,7,5):(35,1,7)"},
      {"f32 (5,77,29)", "f32 (5,77,29):(2233,1,77)"},
      {"f32 (3,64,96)", "u8 (3,64,96):(1,288,3)"},
      {"f32 (64,96)", "f32 (64,96):(-96,-1)@6143"},
      {"f32 (6,35)", "f32 (14,15):(1,14)"}};
  std::set<std::string_view> seen;
  for (const auto& [dst, src] : kCopies)
    for (const std::string_view family : test::families()) {
      Options options = device;
      options.family = family;
      options.reshape = true;
      std::optional<Plan> plan;
      try {
        plan.emplace(parse_layout(dst), parse_layout(src), options);
      } catch (const ArgumentError&) {
        continue;  // does not apply
      }
      const std::string text = plan->serialize();
      EXPECT_NO_THROW(EXPECT_EQ(Plan::deserialize(text).serialize(), text)) << text;
      seen.insert(family);
    }
  return seen;
}

TEST(Serialize, CarriesPlansOfEveryFamily) {
  Options cpu;
  cpu.device = DeviceKind::kCpu;
  cpu.threads = 4;
  const std::vector<std::string_view> all = test::families();
  EXPECT_EQ(expect_all_come_back(cpu), std::set<std::string_view>(all.begin(), all.end()));
  Options model;
  model.device = DeviceKind::kCuda;
  model.cuda_device = kModelDevice;
  EXPECT_EQ(expect_all_come_back(model), (std::set<std::string_view>{"run", "rows", "tile", "packed", "gather"}));
}

TEST(Serialize, CarriesWhatOtherMachinesChoose) {
  using Edits = std::vector<std::pair<const char*, std::int64_t>>;
  const auto comes_back = [](const char* dst, const char* src, const char* kernel, const Edits& edits) {
    std::string text = made(dst, src, kernel).serialize();
    for (const auto& [key, value] : edits) text = with(text, key, value);
    EXPECT_NO_THROW(EXPECT_EQ(Plan::deserialize(text).serialize(), text)) << text;
  };
  comes_back("f32 (1000)", "f32 (1000)", "run/pieces", {{"stream", 1}, {"near", 1}, {"loop", 0}});
  comes_back("f32 (30,40)", "f32 (30,40):(50,1)", "rows/units",
             {{"stream", 1}, {"near", 1}, {"order", 2}, {"loop", 0}});
  comes_back("f32 (300,7,5)", "f32 (300,7,5):(35,1,7)", "packed/staged", {{"stream", 1}, {"near", 1}, {"way", 3}});
  comes_back("f32 (3,70,90)", "f32 (3,70,90):(7000,1,70)", "buffered/blocks", {{"stream", 1}, {"near", 1}});
  comes_back("f32 (64,96)", "f32 (64,96):(1,64)", "tile/units",
             {{"stream", 1}, {"near", 1}, {"sink", 1}, {"source", 1}});
}

TEST(Deserialize, RefusesParametersThatTheKernelDoesNotHave) {
  const auto text = [](const char* family, const std::string& params) {
    std::string out = made("f32 (100)", "f32 (100):(-1)@99", family).serialize();
    const std::size_t from = out.find("\"params\":") + 9;
    return out.replace(from, out.find('}', from) + 1 - from, params);
  };
  EXPECT_NO_THROW(Plan::deserialize(text("gather", "{}")));
  EXPECT_NO_THROW(Plan::deserialize(text("rows", R"({"stream":1,"near":0,"order":0,"loop":0})")));
  for (const char* bad :
       {R"({"tile_rows":-5})", R"({"index_bits":7})", R"({"stream":0})", R"({"near":1})", R"({"order":2})"})
    EXPECT_THROW(Plan::deserialize(text("gather", bad)), ParseError) << bad;
  for (const char* bad :
       {"{}", R"({"near":1})", R"({"stream":1,"near":0})", R"({"stream":0,"near":0,"order":0,"loop":0,"sink":0})",
        R"({"stream":0,"near":0,"order":0,"loop":0,"threads":9})",
        R"({"stream":0,"near":0,"order":0,"loop":0,"direct":1})",
        R"({"stream":1,"stream":0,"near":0,"order":0,"loop":0})"})
    EXPECT_THROW(Plan::deserialize(text("rows", bad)), ParseError) << bad;
  EXPECT_TRUE(
      holds(message_of<ParseError>([&] { Plan::deserialize(text("rows", "{}")); }), "rows/units needs 'stream'"));
}

TEST(Serialize, CarriesThatElementsPairInCOrder) {
  Options options;
  options.reshape = true;
  const std::string text = Plan(parse_layout("f32 (2048,13)"), parse_layout("f32 (128,16,13)"), options).serialize();
  EXPECT_TRUE(holds(text, R"("reshape":true)"));
  EXPECT_EQ(Plan::deserialize(text).serialize(), text);
  EXPECT_THROW(Plan::deserialize(with(text, "reshape", "false")), ShapeError);
  EXPECT_THROW(Plan::deserialize(with(text, "reshape", "1")), ParseError);
  EXPECT_FALSE(holds(made("f32 (2048,13)", "f32 (2048,13)").serialize(), "reshape"));
}

TEST(Serialize, CarriesThePlanOfNothing) {
  const Plan nothing = Plan::deserialize(made("f32 (3,0)", "f32 (3,0)").serialize());
  EXPECT_EQ(nothing.family(), "noop");
  EXPECT_EQ(nothing.run(nullptr, nullptr), 0);
}

TEST(Serialize, CarriesThePlanOfAnExecutorOfManyThreads) {
  const Executor executor{[](void*, int, void (*)(void*, int), void*) {}, nullptr, 5000};
  Options options;
  options.executor = &executor;
  const Layout layout = parse_layout("f32 (90000,90000)");
  const Plan plan(layout, permute(layout, {1, 0}), options);
  EXPECT_EQ(plan.threads(), 4096);
  EXPECT_EQ(Plan::deserialize(plan.serialize()).threads(), 4096);
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

// A kernel that gets a parameter makes them texts that end at its first check, and the fuzzer no longer sees behind it.
TEST(Deserialize, ReadsThePlansThatTheFuzzerBeginsWith) {
  const std::set<std::string> refused{"plan_deep", "plan_key_twice"};
  int read = 0;
  for (const auto& file : std::filesystem::directory_iterator(RESTRIDE_TEST_DATA "/fuzz/corpus/c_abi")) {
    const std::string name = file.path().filename();
    if (!name.starts_with("plan_") || refused.contains(name)) continue;
    std::ifstream in(file.path(), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    ASSERT_TRUE(bytes.starts_with('\xff')) << name << ": the byte that says that text follows";
    EXPECT_NO_THROW(Plan::deserialize(std::string_view(bytes).substr(1)))
        << name << ": write it anew, a byte 255 and then what Plan::serialize makes of its dst, src and kernel";
    ++read;
  }
  EXPECT_GE(read, 9);
}

TEST(Deserialize, RefusesTextThatSerializeDidNotMake) {
  const std::string text = made("f32 (64,96)", "f32 (64,96):(1,64)", "tile/units").serialize();
  std::string steam = text;
  steam.replace(steam.find("\"stream\""), 8, "\"steam\"");
  for (const std::string& bad :
       {std::string(), std::string("[]"), std::string("{}"), text.substr(0, text.size() / 2), steam,
        with(text, "restride_plan", 1), with(text, "device", "\"abacus\""), with(text, "threads", "0"),
        with(text, "threads", 4097), with(text, "threads", "\"1\""), with(text, "dst_align", 3),
        with(text, "kernel", "\"xtile\""), with(text, "kernel", "\"tile\"")})
    EXPECT_THROW(Plan::deserialize(bad), ParseError) << bad;
}

TEST(Deserialize, SaysThatAPlanOfAnotherFormatIsToBeMadeAnew) {
  const std::string text =
      with(made("f32 (64,96)", "f32 (64,96):(1,64)", "tile/units").serialize(), "restride_plan", 1);
  EXPECT_TRUE(holds(message_of<ParseError>([&] { Plan::deserialize(text); }), "format 1", "reads 2", "plan again"));
}

TEST(Deserialize, RefusesIntegersThatWouldWrap) {
  const std::string text = made("f32 (64,96)", "f32 (64,96):(1,64)", "tile/units").serialize();
  for (const char* key : {"restride_plan", "threads", "dst_align", "stream"}) {
    const std::string message =
        message_of<ParseError>([&] { Plan::deserialize(with(text, key, "18446744073709551615")); });
    EXPECT_TRUE(holds(message, key, "integer")) << message;
    EXPECT_FALSE(holds(message, "-1")) << message;
  }
}

TEST(Deserialize, NamesTheLimitThatATextPasses) {
  const std::string text = made("f32 (64,96)", "f32 (64,96):(1,64)", "tile/units").serialize();
  const auto refusal = [](const std::string& wrong) {
    return message_of<ParseError>([&] { Plan::deserialize(wrong); });
  };
  EXPECT_NO_THROW(Plan::deserialize(text + std::string((1 << 20) - text.size(), ' ')));
  EXPECT_TRUE(holds(refusal(text + std::string((1 << 20) + 1 - text.size(), ' ')), "plan: it has 1048577 bytes",
                    "more than 1048576 are refused", "Plan::serialize"));
  const auto nested = [&](std::size_t levels) {
    return R"({"x":)" + std::string(levels - 1, '[') + std::string(levels - 1, ']') + "," + text.substr(1);
  };
  EXPECT_NO_THROW(Plan::deserialize(nested(16)));
  EXPECT_TRUE(holds(refusal(nested(17)), "nested deeper than 16 levels"));
  EXPECT_TRUE(holds(refusal(std::string(1 << 20, '[')), "nested deeper than 16 levels"));
}

TEST(Deserialize, ReadsAsManyKeysAsATextHoldsWithoutComparingAllPairs) {
  const std::string text = made("f32 (64,96)", "f32 (64,96):(1,64)", "tile/units").serialize();
  std::string keys = "{";
  for (int i = 0; i < 80'000; ++i) keys += "\"k" + std::to_string(i) + "\":0,";
  EXPECT_EQ(Plan::deserialize(keys + text.substr(1)).serialize(), text);
  EXPECT_TRUE(holds(message_of<ParseError>([&] { Plan::deserialize(keys + R"("k7":1,)" + text.substr(1)); }),
                    "plan: 'k7' appears twice in one object"));
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

TEST(Deserialize, RefusesAKernelThatTheLayoutsDoNotTake) {
  const std::string text = made("f32 (64,96)", "f32 (64,96)").serialize();
  EXPECT_TRUE(holds(message_of<ParseError>([&] { Plan::deserialize(with(text, "kernel", "\"tile/units\"")); }),
                    "plan:", "does not apply"));
  EXPECT_TRUE(
      holds(message_of<ParseError>([&] { Plan::deserialize(with(text, "kernel", "\"noop\"")); }), "names no kernel"));
}

}  // namespace
}  // namespace restride
