// Pages and drawings of every kernel of both engines, as text.
#include "tools/draw/explain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "src/api/plan_impl.h"
#include "src/cpu/families.h"
#include "src/cpu/machine.h"
#include "tests/gpu/every_kernel.h"
#include "tests/support/instruction_sets.h"

namespace restride::draw {
namespace {

constexpr std::size_t kMostBytes = 2 << 20;

/// The text inside the first element with this data-figure.
std::string drawn(const std::string& page, const std::string& figure) {
  const std::string mark = std::string("data-figure=\"").append(figure).append("\"");
  const std::size_t at = page.find(mark);
  if (at == std::string::npos) return "";
  const std::size_t from = page.find('>', at) + 1;
  return page.substr(from, page.find('<', from) - from);
}

/// True where every tag that opens closes in its turn.
bool is_balanced(const std::string& text) {
  std::vector<std::string> open;
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
    const std::size_t end = text.find('>', at);
    const std::string tag = text.substr(at + 1, end - at - 1);
    if (tag[0] == '!' || tag.rfind("meta", 0) == 0 || tag.rfind("link", 0) == 0 || tag.back() == '/') continue;
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  return open.empty();
}

void expect_drawn(const Plan& plan) {
  const plan::Decision& d = plan.impl().decision;
  SCOPED_TRACE(std::string(d.chosen.kernel.text) + ": " + to_string(plan.dst()) + " from " + to_string(plan.src()));
  const Explained e{plan, 0, "a copy", ""};
  const std::string html = page(e, piece_json(e));
  EXPECT_LT(html.size(), kMostBytes);
  EXPECT_TRUE(is_balanced(html));
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("http"), html.find("http-equiv")) << "an address outside";
  EXPECT_EQ(drawn(html, "kernel"), d.chosen.kernel.text);
  EXPECT_EQ(drawn(html, "read_sectors"), std::to_string(d.chosen.predicted.read_sectors));
  EXPECT_EQ(drawn(html, "written_bytes"), std::to_string(d.chosen.predicted.written_bytes));
  const nlohmann::ordered_json piece = piece_json(e);
  EXPECT_EQ(drawn(html, "src.sectors"), piece["src"]["sectors"].dump());
  EXPECT_EQ(drawn(html, "dst.sectors"), piece["dst"]["sectors"].dump());
  EXPECT_EQ(drawn(html, "src.used_bytes"), piece["src"]["used_bytes"].dump());
  EXPECT_EQ(drawn(html, "dst.used_bytes"), piece["dst"]["used_bytes"].dump());
  EXPECT_EQ(drawn(html, "of"), piece["of"].dump());
  if (piece.contains("prefetched") && piece["prefetched"]["lines"] > 0) {
    EXPECT_EQ(drawn(html, "prefetched.lines"), piece["prefetched"]["lines"].dump());
    EXPECT_EQ(drawn(html, "prefetched.is"), piece["prefetched"]["is"].get<std::string>());
  }
  if (piece.contains("stage_read")) {
    EXPECT_EQ(drawn(html, "stage_read.cycles"), piece["stage_read"]["cycles"].dump());
    // packed/staged chooses by one simulated warp, which need not be like all others.
    if (piece["stage_read"].contains("plain_cycles") && d.chosen.kernel.text != "packed/staged") {
      EXPECT_LE(piece["stage_read"]["cycles"], piece["stage_read"]["plain_cycles"]) << "lanes are kept apart in vain";
    }
    if (d.device == DeviceKind::kCuda) {
      EXPECT_FALSE(trace_of(e, 0).stage_is.empty()) << "says nothing about banks";
    }
  }
  const std::string svg = svg_file(whole_drawing(e));
  EXPECT_LT(svg.size(), kMostBytes);
  EXPECT_TRUE(is_balanced(svg));
}

TEST(ExplainPage, OfEveryKernelOfTheGpuShowsItsNumbers) {
  for (const test::KernelCase& c : test::kernel_cases()) expect_drawn(test::plan_of(c, kModelDevice));
}

TEST(ExplainPage, OfEveryKernelOfTheCpuShowsItsNumbers) {
  std::set<std::string> drawn_kernels;
  for (const auto& [dst, src] : {std::pair{"f32 (1000)", "f32 (1000)"},
                                 {"u8 (5,77,3)", "u8 (5,77,3):(308,4,1)"},
                                 {"f32 (37,7,5)", "f32 (37,7,5):(35,1,7)"},
                                 {"f32 (200,333)", "f32 (200,333):(1,200)"},
                                 {"u8 (64,96,3)", "u8 (64,96,3):(3,192,1)"},
                                 {"u8 (3,500)", "u8 (3,500):(1,3)"},
                                 {"u8 (500,3)", "u8 (500,3):(1,500)"},
                                 {"f32 (2,3):(4,1)", "f32 (3,2):(4,1)"}})
    for (const cpu::Kernel& k : cpu::kKernels) {
      Options options;
      options.device = DeviceKind::kCpu;
      options.reshape = true;
      options.family = k.name.text;
      try {
        expect_drawn(Plan(parse_layout(dst), parse_layout(src), options));
        drawn_kernels.insert(std::string(k.name.text));
      } catch (const ArgumentError&) {  // it does not apply
      }
    }
  EXPECT_EQ(drawn_kernels.size(), cpu::kKernelCount);
}

TEST(ExplainPage, SaysWhatHappenedToAKernelThatWasNotTimed) {
  Options options;
  options.device = DeviceKind::kCpu;
  const Plan plan(parse_layout("f32 (64,48)"), parse_layout("f32 (64,48):(1,64)"), options);
  Explained e{plan, 0, "it", ""};
  e.measured.emplace();
  e.measured->median_ns = 1;
  const auto& others = plan.impl().decision.others;
  const auto lost = std::find_if(others.begin(), others.end(), [](const plan::Candidate& k) { return k.applies; });
  ASSERT_NE(lost, others.end());
  EXPECT_EQ(page(e, {}).find("not timed"), std::string::npos);
  e.measured->other_errors[std::string(lost->kernel.text)] = "wrong output: element 3";
  EXPECT_NE(page(e, {}).find("; not timed: wrong output: element 3</td>"), std::string::npos);
}

TEST(ExplainPage, OfWhatIsTooLargeSaysWhatIsLeftOut) {
  std::string ones = "2", strides = "1";
  for (int i = 1; i < 20; ++i) {
    ones.append(",2");
    strides.append(",").append(std::to_string(std::int64_t{1} << (7 * i % 20)));
  }
  const std::string shape = std::string("u8 (").append(ones).append(")");
  const std::string deep = std::string(shape).append(":(").append(strides).append(")");
  const std::pair<std::string, std::string> copies[] = {{shape, deep},
                                                        {"f32 (40000,30000)", "f32 (40000,30000):(1,40000)"},
                                                        {"f64 (1000000000)", "f64 (1000000000):(2)"}};
  for (const auto& [dst, src] : copies) {
    Options options;
    options.device = DeviceKind::kCpu;
    const Plan plan(parse_layout(dst), parse_layout(src), options);
    const Explained e{plan, 0, "large", ""};
    const std::string html = page(e, piece_json(e));
    EXPECT_LT(html.size(), kMostBytes) << dst;
    EXPECT_NE(html.find("left out"), std::string::npos) << dst;
    EXPECT_TRUE(is_balanced(html)) << dst;
  }
}

TEST(ExplainPage, OfNothingSaysSo) {
  const Plan plan(parse_layout("f32 (0,3)"), parse_layout("f32 (0,3)"));
  const Explained e{plan, 0, "nothing", ""};
  EXPECT_NE(page(e, piece_json(e)).find("no elements"), std::string::npos);
  EXPECT_TRUE(is_balanced(svg_file(whole_drawing(e))));
}

TEST(ExplainPage, ShowsNamesAsText) {
  const Plan plan(parse_layout("f32 (4,3)"), parse_layout("f32 (4,3):(1,4)"));
  const Explained e{plan, 0, "<script>alert(1)</script>.npy", "--slice '<b>'"};
  const std::string html = page(e, piece_json(e));
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("<b>"), std::string::npos);
  EXPECT_NE(html.find("&lt;script&gt;alert(1)&lt;/script&gt;.npy"), std::string::npos);
}

TEST(ExplainPage, ShowsWhatWasMeasuredOrWhyNot) {
  const Plan plan(parse_layout("f32 (4,3)"), parse_layout("f32 (4,3):(1,4)"));
  Explained e{plan, 0, "x", ""};
  e.measured = Measured{1000, 0.05, 800, "memcpy", true, ""};
  std::string html = page(e, piece_json(e));
  EXPECT_EQ(drawn(html, "measured_time"), "1 us");
  EXPECT_EQ(drawn(html, "plain_time"), "800 ns");
  EXPECT_EQ(drawn(html, "ratio"), "0.80");
  e.measured = Measured{0, 0, 0, "", false, "there is no GPU here"};
  html = page(e, piece_json(e));
  EXPECT_EQ(drawn(html, "measured_time"), "");
  EXPECT_NE(html.find("Not measured: there is no GPU here"), std::string::npos);
}

TEST(PlannedFor, DrawsTheSameOnEveryInstructionSet) {
  Options options;
  options.device = DeviceKind::kCpu;
  options.threads = 1;
  const Plan here(parse_layout("f32 (1000,500)"), parse_layout("f32 (1000,500):(1,1000)"), options);
  for (const cpu::CpuModel& model : cpu::cpu_models()) {
    std::set<std::string> drawings;
    for (const std::int64_t target : test::instruction_sets()) {
      const test::OnInstructionSet on(target);
      const Plan plan = planned_for(model, here, "tile/units");
      Explained e{plan, 0, "x", ""};
      e.model = &model;
      const std::string svg = svg_file(whole_drawing(e));
      drawings.insert(svg);
      EXPECT_NE(svg.find(model.machine.name), std::string::npos);
      EXPECT_NE(svg.find(std::string("vectors of ") + std::to_string(model.vector_bytes)), std::string::npos);
      EXPECT_NE(page(e, piece_json(e)).find("a model of " + std::string(model.machine.name)), std::string::npos);
    }
    EXPECT_EQ(drawings.size(), 1U) << model.word;
  }
}

TEST(PlannedFor, KnowsEveryMachineThatWasMeasured) {
  for (const cpu::CpuTraits traits : {cpu::CpuTraits{cpu::CpuVendor::kIntel},
                                      {cpu::CpuVendor::kAmd, 48 << 10, 1 << 20},
                                      {cpu::CpuVendor::kAmd, 32 << 10, 1 << 20},
                                      {cpu::CpuVendor::kAmd, 32 << 10, 512 << 10}}) {
    const cpu::CpuMachine& measured = cpu::nearest_cpu(traits);
    EXPECT_TRUE(std::ranges::any_of(cpu::cpu_models(), [&](const auto& m) { return m.machine.name == measured.name; }))
        << measured.name;
  }
}

TEST(ExplainJson, HasTheStepsOfTheCanonicalForm) {
  const Plan plan(parse_layout("f32 (64,8)"), parse_layout("f32 (64,8):(1,64)"));
  const nlohmann::ordered_json steps = steps_json(plan);
  EXPECT_EQ(steps.front()["step"], "given");
  EXPECT_EQ(steps.back()["step"], "unit");
  EXPECT_EQ(steps.back()["modes"][0]["extent"], 8);
  EXPECT_EQ(steps.back()["modes"][0]["src_stride_bytes"], 256);
}

}  // namespace
}  // namespace restride::draw
