#include "tools/draw/bars.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "src/api/plan_impl.h"

namespace restride::draw {
namespace {

std::string of(const char* dst, const char* src, bool coloured = false) {
  Options options;
  options.device = DeviceKind::kCuda;
  options.cuda_device = kModelDevice;
  const Plan plan(parse_layout(dst), parse_layout(src), options);
  return bars(plan.impl().decision, 100, coloured);
}

TEST(Bars, HaveALineForEveryBidWithinTheColumns) {
  const std::string text = of("f32 (640,480)", "f32 (640,480):(1,640)");
  std::istringstream in(text);
  int lines = 0;
  std::size_t longest = 0;
  for (std::string line; std::getline(in, line); ++lines) longest = std::max(longest, line.size());
  EXPECT_EQ(longest, 100u) << text;
  EXPECT_GT(lines, 4) << text;
  EXPECT_EQ(text.rfind("bids       tile/", 0), 0u) << text;
  EXPECT_NE(text.find("= sectors, + starts of rows, runs and tiles, . moving units"), std::string::npos);
}

TEST(Bars, SayByMarksWhatColoursSay) {
  const std::string plain = of("f32 (640,480)", "f32 (640,480):(1,640)");
  std::string coloured = of("f32 (640,480)", "f32 (640,480):(1,640)", true);
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  EXPECT_NE(coloured.find("\x1b["), std::string::npos);
  for (std::size_t at = coloured.find('\x1b'); at != std::string::npos; at = coloured.find('\x1b'))
    coloured.erase(at, coloured.find('m', at) - at + 1);
  EXPECT_EQ(coloured, plain);
}

TEST(Bars, OfNothingAreNone) { EXPECT_EQ(of("f32 (0)", "f32 (0)"), ""); }

}  // namespace
}  // namespace restride::draw
