// What is told of each of the CPU's kernels is the copy, and what a piece of tasks stores is what its code writes.
#include "src/cpu/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "src/api/plan_impl.h"
#include "src/cpu/rows/args.h"
#include "tests/support/trace_replay.h"

namespace restride {
namespace {

/// A plan for the CPU; shapes may differ.
Plan made(const char* dst, const char* src, const char* kernel) {
  Options options;
  options.device = DeviceKind::kCpu;
  options.family = kernel;
  options.reshape = true;
  return Plan(parse_layout(dst), parse_layout(src), options);
}

struct Case {
  const char* kernel;
  const char* dst;
  const char* src;
};

constexpr Case kCases[] = {
    {"run/units", "f32 (1000)", "f32 (1000)"},
    {"run/units", "f64 (900)", "u8 (900)"},
    {"run/pieces", "f32 (40000)", "f32 (40000)"},
    {"rows/units", "u8 (5,77,3)", "u8 (5,77,3):(308,4,1)"},
    {"rows/units", "f32 (30,100)", "f32 (30,100):(-100,-1)@2999"},
    {"rows/units", "f16 (20,90)", "f32 (20,90):(1,20)"},
    {"rows/records", "u8 (5,77,3)", "u8 (5,77,3):(308,4,1)"},
    {"rows/records", "u8 (5,77,3)", "u8 (5,77,3):(231,3,-1)@2"},
    {"rows/records", "u8 (50,3):(4,1)", "u8 (50,3)"},
    {"packed/staged", "f32 (37,7,5)", "f32 (37,7,5):(35,1,7)"},
    {"packed/staged", "f32 (50,3,3)", "f32 (50,3,3):(9,1,3)"},
    {"packed/staged", "u8 (77,4,2,3)", "u8 (77,4,2,3):(24,1,12,4)"},
    {"packed/staged", "f16 (60,9,5)", "f16 (60,9,5):(45,1,9)"},  // by two vectors, three, four
    {"packed/staged", "f32 (60,9,4)", "f32 (60,9,4):(36,1,9)"},
    {"packed/staged", "f32 (60,8,8)", "f32 (60,8,8):(64,1,8)"},
    {"packed/staged", "u8 (9,33,65)", "u8 (9,33,65):(2145,1,33)"},
    {"packed/staged", "f32 (50,9,7)", "f16 (50,9,7):(63,1,9)"},
    {"tile/units", "f32 (32,64)", "f32 (32,64):(1,32)"},
    {"tile/units", "f32 (300,517)", "f32 (300,517):(1,300)"},
    {"tile/units", "f16 (3,130,77)", "f32 (3,130,77):(10010,1,130)"},
    {"tile/units", "u8 (130,231)", "u8 (130,231):(-1,130)@129"},
    {"tile/matrices", "f32 (32,64)", "f32 (32,64):(1,32)"},
    {"tile/matrices", "f32 (200,333)", "f32 (200,333):(1,200)"},
    {"tile/records", "u8 (64,96,3)", "u8 (64,96,3):(3,192,1)"},
    {"tile/records", "u8 (64,96,3)", "u8 (64,96,3):(3,192,-1)@2"},
    {"buffered/blocks", "f32 (5,77,29)", "f32 (5,77,29):(2233,1,77)"},
    {"buffered/blocks", "u8 (26,3,4,14,18)", "u8 (26,3,4,14,18):(1,26,78,312,4368)"},
    {"channels/split", "u8 (3,500)", "u8 (3,500):(1,3)"},
    {"channels/split", "f32 (3,500)", "u8 (3,500):(-1,4)@2"},
    {"channels/join", "u8 (500,3)", "u8 (500,3):(1,500)"},
    {"gather/units", "f32 (2,3):(4,1)", "f32 (3,2):(4,1)"},
    {"gather/units", "f32 (3,4,5,6):(-120,5,1,20)@240", "f32 (3,4,5,6):(2,-30,6,120)@90"},
};

TEST(CpuTrace, OfEveryKernelMovesEveryUnitOnce) {
  std::set<std::string_view> told;
  for (const Case& c : kCases) {
    SCOPED_TRACE(std::string(c.kernel) + ": " + c.dst + " from " + c.src);
    const Plan plan = made(c.dst, c.src, c.kernel);
    const Plan::Impl& p = plan.impl();
    test::expect_whole_copy(p.dst, p.src, [&](std::int64_t piece) { return cpu::trace(p.cpu, p.canonical, piece); });
    if (testing::Test::HasFatalFailure()) return;
    told.insert(c.kernel);
  }
  EXPECT_EQ(told.size(), cpu::kKernelCount) << "a kernel of which nothing is told";
}

/// Rows that stay in the caches have a loop of their own, which no rows that stream have.
void edit_stream(std::int64_t stream, plan::Decision* decision) {
  for (plan::Param& param : decision->chosen.params) {
    if (param.id == plan::ParamId::kStream) param.value = stream;
    if (param.id == plan::ParamId::kLoop && stream != 0 &&
        param.value == static_cast<std::int64_t>(cpu::RowLoop::kCached))
      param.value = static_cast<std::int64_t>(cpu::RowLoop::kInOrder);
  }
}

TEST(CpuTrace, OfPlansThatStreamMovesEveryUnitOnce) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(std::string(c.kernel) + ": " + c.dst + " from " + c.src);
    const Plan plan = made(c.dst, c.src, c.kernel);
    plan::Decision decision = plan.impl().decision;
    edit_stream(1, &decision);
    const auto streamed = api::with_decision(plan.impl(), decision);
    test::expect_whole_copy(streamed->dst, streamed->src,
                            [&](std::int64_t piece) { return cpu::trace(streamed->cpu, streamed->canonical, piece); });
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(CpuTrace, OfPaddedBlocksMovesEveryUnitOnce) {
  const Plan plan = made("f32 (5,77,29)", "f32 (5,77,29):(2233,1,77)", "buffered/blocks");
  plan::Decision decision = plan.impl().decision;
  for (plan::Param& param : decision.chosen.params)
    if (param.id == plan::ParamId::kStream || param.id == plan::ParamId::kPadded) param.value = 1;
  const auto padded = api::with_decision(plan.impl(), decision);
  ASSERT_EQ(padded->cpu.of<cpu::BufferedArgs>()->column_pitch, 128) << "columns of 116 bytes";
  test::expect_whole_copy(padded->dst, padded->src,
                          [&](std::int64_t piece) { return cpu::trace(padded->cpu, padded->canonical, piece); });
}

/// Lines of src that a piece loads.
std::set<std::int64_t> lines_of(const plan::Trace& t) {
  std::set<std::int64_t> out;
  for (const plan::Access& a : t.accesses)
    if (a.space == plan::Space::kSrc)
      for (std::int64_t at = a.at / 64; at <= (a.at + a.bytes - 1) / 64; ++at) out.insert(at * 64);
  return out;
}

TEST(CpuTrace, OfATileAsksForTheRowsOfTheNextOne) {
  const Plan plan = made("f32 (300,517)", "f32 (300,517):(1,300)", "tile/units");
  const Plan::Impl& p = plan.impl();
  const auto tile = [&](std::int64_t n) { return cpu::trace(p.cpu, p.canonical, n); };
  const auto row_by_row = [](const plan::Trace& t) { return t.ahead_is.find("row by row") != std::string::npos; };
  const std::int64_t tiles = tile(0).pieces;
  std::set<std::int64_t> known = lines_of(tile(0));  // loaded, or asked for; odd rows may be asked for two tiles before
  for (std::int64_t n = 0; n + 1 < tiles; ++n) {
    const plan::Trace t = tile(n);
    EXPECT_NE(t.ahead_is.find("rows of the next tile"), std::string::npos);
    known.insert(t.ahead.begin(), t.ahead.end());
    std::set<std::int64_t> soon = lines_of(tile(n + 1));
    if (n > 0) {
      // Side by side, the last line of a row that starts inside one is left to the machine.
      for (const std::int64_t line : soon)
        EXPECT_TRUE(known.contains(line) || (!row_by_row(t) && known.contains(line - 64))) << n << ": line " << line;
    }
    known.merge(std::set(soon));
    if (n + 2 < tiles) soon.merge(lines_of(tile(n + 2)));
    // Side by side, rows that start inside a line are asked for from the next on, and may have one more at their end.
    for (const std::int64_t line : t.ahead)
      EXPECT_TRUE(soon.contains(line) || (!row_by_row(t) && soon.contains(line - 64))) << n << ": line " << line;
  }
  EXPECT_TRUE(tile(INT64_MAX).ahead.empty()) << "behind the last tile there is nothing";
}

TEST(CpuTrace, AsksForLinesOfSrcOnlyAndSaysWhatTheyAre) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(std::string(c.kernel) + ": " + c.dst + " from " + c.src);
    const Plan plan = made(c.dst, c.src, c.kernel);
    plan::Decision decision = plan.impl().decision;
    for (const std::int64_t stream : {0, 1}) {
      edit_stream(stream, &decision);
      const auto p = api::with_decision(plan.impl(), decision);
      const auto [first, last] = byte_range(p->src);
      const plan::Trace t = cpu::trace(p->cpu, p->canonical, 0);
      EXPECT_TRUE(t.ahead.empty() || !t.ahead_is.empty());
      for (const std::int64_t line : t.ahead)
        EXPECT_TRUE(line + 64 > first - 64 && line < last + 64 && line % 64 == 0) << line;
      EXPECT_TRUE(t.vector_bytes == 0 || t.vector_bytes == cpu::store_vector_bytes());
    }
  }
  EXPECT_TRUE(std::set({16, 32, 64}).contains(cpu::store_vector_bytes()));
}

TEST(CpuTrace, OfNothingHasNoPieces) {
  const Plan plan(parse_layout("f32 (0,3)"), parse_layout("f32 (0,3)"));
  EXPECT_EQ(cpu::trace(plan.impl().cpu, plan.impl().canonical, 0).pieces, 0);
}

TEST(CpuTrace, OfAPieceBehindTheLastIsTheLast) {
  const Plan plan = made("f32 (300,517)", "f32 (300,517):(1,300)", "tile/units");
  const plan::Trace t = cpu::trace(plan.impl().cpu, plan.impl().canonical, 1 << 30);
  EXPECT_EQ(t.piece, t.pieces - 1);
  EXPECT_FALSE(t.units.empty());
}

}  // namespace
}  // namespace restride
