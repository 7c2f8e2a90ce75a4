#include "src/plan/traffic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string_view>

#include "src/cpu/planner.h"
#include "src/cuda/planner.h"
#include "tests/property/random_layout.h"

namespace restride::plan {
namespace {

layout::Canonical canonical(const Layout& dst, const Layout& src) {
  return layout::canonicalize(dst, src, 64, 64, layout::UnitRule::kAnywhere);
}
layout::Canonical canonical(std::string_view dst, std::string_view src) {
  return canonical(parse_layout(dst), parse_layout(src));
}

struct Count {
  std::int64_t bytes, sectors;
  friend bool operator==(const Count&, const Count&) = default;
};
Count of(const Touched& t) { return {t.bytes, t.sectors}; }
std::ostream& operator<<(std::ostream& out, const Count& c) { return out << c.bytes << " in " << c.sectors; }

TEST(Touched, AreTheLinesCountedByHand) {
  const struct {
    const char* dst;
    const char* src;
    Count written, read;
  } cases[] = {
      {"f32 (4096,4096)", "f32 (4096,4096):(0,1)", {67108864, 1048576}, {16384, 256}},
      {"f32 (4096,4096)", "f32 (4096,4096):(1,0)", {67108864, 1048576}, {16384, 256}},
      {"f32 (1000000):(16)", "f32 (1000000)", {4000000, 1000000}, {4000000, 62500}},
      {"f32 (100):(2)", "f32 (100)", {400, 13}, {400, 7}},
      {"f32 (4096,256)", "f32 (4096,256):(4096,16)", {4194304, 65536}, {4194304, 1048576}},
      {"f32 (1000)", "f32 (1000):(20)", {4000, 63}, {4000, 1000}},   // aligned: none straddles
      {"u8 (64,3)", "u8 (64,3):(4,1)", {192, 3}, {192, 4}},          // the gap is read along
      {"u8 (16,64)", "u8 (16,64):(256,1)", {1024, 16}, {1024, 16}},  // rows of one line each
      {"f32 (1000):(-2)@1998", "f32 (1000):(-1)@999", {4000, 125}, {4000, 63}},
      {"f32 (10,10)", "f32 (10,10):(1,1)", {400, 7}, {76, 2}},   // windows over 19 elements
      {"f32 (2,3):(4,1)", "f32 (3,2):(4,1)", {24, 1}, {24, 1}},  // no common refinement
      {"f64 (8)", "f32 (8)", {64, 1}, {32, 1}},
      {"f32 ()", "f32 ()", {4, 1}, {4, 1}},
  };
  for (const auto& k : cases) {
    const layout::Canonical c = canonical(k.dst, k.src);
    EXPECT_EQ(of(touched_dst(c, 64)), k.written) << k.dst;
    EXPECT_EQ(of(touched_src(c, 64)), k.read) << k.src;
  }
}

TEST(Touched, LeavesHugeSizesInRange) {
  const layout::Canonical c = canonical("u8 (1073741824,1073741824)", "u8 (1073741824,1073741824):(0,1)");
  EXPECT_EQ(touched_dst(c, 64).sectors, std::int64_t{1} << 54);
  EXPECT_EQ(touched_src(c, 64).bytes, 1 << 30);
}

/// The lines that elements lie in, one by one, of a buffer that starts on one.
std::int64_t counted_lines(const Layout& l) {
  std::set<std::int64_t> lines;
  for (std::int64_t i = 0; i < l.elements(); ++i) {
    std::int64_t at = l.offset_bytes + (std::int64_t{1} << 40), left = i;
    for (std::size_t m = l.modes.size(); m-- > 0; left /= l.modes[m].extent)
      at += left % l.modes[m].extent * l.modes[m].stride_bytes;
    for (std::int64_t line = at / 64; line <= (at + l.element.size_bytes - 1) / 64; ++line) lines.insert(line);
  }
  return static_cast<std::int64_t>(lines.size());
}

TEST(Touched, ComesCloseToCountingLineByLine) {
  test::Rng rng(11);
  double off = 0;
  int sides = 0;
  for (int i = 0; i < 2000; ++i) {
    const test::Case copy = test::random_case(rng, {.elements = 3000});
    if (copy.dst.elements() == 0) continue;
    const layout::Canonical c = canonical(copy.dst, copy.src);
    const auto check = [&](const Layout& l, std::int64_t sectors) {
      const auto exact = static_cast<double>(counted_lines(l));
      const double by = std::abs(static_cast<double>(sectors) - exact) / exact;
      EXPECT_LT(by, exact < 20 ? 1.01 : 0.5) << to_string(l) << ": " << sectors << " for " << exact;
      off += by;
      ++sides;
    };
    check(copy.dst, touched_dst(c, 64).sectors);
    check(copy.src, touched_src(c, 64).sectors);
  }
  EXPECT_LT(off / sides, 0.07);
}

std::vector<Candidate> that_apply(const Decision& d) {
  std::vector<Candidate> out{d.chosen};
  for (const Candidate& k : d.others)
    if (k.applies) out.push_back(k);
  return out;
}

TEST(Touched, IsWhatEveryBidTells) {
  for (const char* src : {"f32 (4096,4096):(0,1)", "f32 (4096,4096):(1,0)"}) {
    for (const Candidate& k : that_apply(cpu::plan_cpu(canonical("f32 (4096,4096)", src), {}))) {
      EXPECT_EQ(k.predicted.read_bytes, 16384) << name(k.kernel.family);
      EXPECT_EQ(k.predicted.read_sectors, 256) << name(k.kernel.family);
      EXPECT_EQ(k.predicted.written_sectors, 1048576) << name(k.kernel.family);
    }
    const auto c = layout::canonicalize(parse_layout("f32 (4096,4096)"), parse_layout(src), 64, 64);
    for (const Candidate& k : that_apply(cuda::plan_cuda(c, {}))) {
      EXPECT_EQ(k.predicted.read_bytes, 16384) << name(k.kernel.family);
      EXPECT_EQ(k.predicted.read_sectors, 512) << name(k.kernel.family);
      EXPECT_EQ(k.predicted.written_sectors, 2097152) << name(k.kernel.family);
    }
  }
  for (const Candidate& k : that_apply(cpu::plan_cpu(canonical("f32 (100):(2)", "f32 (100)"), {}))) {
    EXPECT_EQ(k.predicted.read_sectors, 7) << name(k.kernel.family);
    EXPECT_EQ(k.predicted.written_sectors, 13)
        << name(k.kernel.family) << ": what is read before it is written is time";
  }
}

}  // namespace
}  // namespace restride::plan
