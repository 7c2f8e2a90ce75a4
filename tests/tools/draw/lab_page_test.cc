#include "tools/draw/lab_page.h"

#include <gtest/gtest.h>

#include "lab/rungs.h"
#include "tools/draw/figures.h"
#include "tools/draw/story.h"

namespace restride::draw {
namespace {

TEST(LabPage, DrawsEveryRungWhateverWasMeasured) {
  const std::string page =
      lab_page({{"machine", {{"why_not", "no <GPU>"}}}, {"rows", nlohmann::ordered_json::array()}});
  for (const lab::Rung& rung : lab::rungs()) {
    if (rung.faulty || rung.trace == nullptr) continue;
    EXPECT_NE(page.find("id=\"rung-" + std::string(rung.name) + "\""), std::string::npos) << rung.name;
  }
  EXPECT_NE(page.find("no &lt;GPU&gt;"), std::string::npos);
  EXPECT_LT(page.size(), std::size_t{2} << 20);
}

// The conflicts of a drawing and those of the lab's table are counted by code of their own from the same maps.
TEST(LabPage, CountsTheConflictsThatTheTableHas) {
  for (const lab::Rung& rung : lab::rungs()) {
    if (rung.trace == nullptr) continue;
    for (const int bytes : {1, 2, 4}) {
      if (!rung.takes(bytes)) continue;
      const lab::Matrix shape = rung.measured_shape(512);
      const lab::Traffic table = rung.traffic(shape, bytes);
      const Figures drawn = figures_of(rung.trace(shape, bytes, 0), kGpuGrain);
      SCOPED_TRACE(std::string(rung.name) + ", " + std::to_string(bytes));
      if (table.get_conflicts) {
        EXPECT_NEAR(static_cast<double>(drawn.taken.cycles) / static_cast<double>(drawn.taken.least),
                    *table.get_conflicts, 1e-9);
      }
      if (table.put_conflicts) {
        EXPECT_NEAR(static_cast<double>(drawn.put.cycles) / static_cast<double>(drawn.put.least), *table.put_conflicts,
                    1e-9);
      }
      if (table.load_sectors) {
        EXPECT_NEAR(static_cast<double>(drawn.first_load_is.sectors), *table.load_sectors, 1e-9);
      }
    }
  }
}

TEST(Story, TellsTheMarkdownOfTheLab) {
  Markup m;
  std::string handed;
  int sections = 0;
  tell_story(
      "# T\n\nA `b<c` **d** *i* 2 * 3 [e](f.md)\ng.\n\n- one\n  more\n- two\n\n## S\n\n```\nx < y\n```\n"
      "<!-- figures: kind a b -->\n| h | i |\n|---|---:|\n| 1 | 2 |\n<!-- /figures -->\n| h |\n|---|\n| 3 |\n",
      [&](Markup& to, std::string_view words) {
        handed = words;
        to.leaf("hr", {});
        return true;
      },
      [&](Markup&) { ++sections; }, m);
  EXPECT_EQ(handed, "kind a b");
  EXPECT_EQ(sections, 2);
  EXPECT_NE(m.str().find("<p>A <code>b&lt;c</code> <b>d</b> <em>i</em> 2 * 3 e g.</p>"), std::string::npos) << m.str();
  EXPECT_NE(m.str().find("<li>one more</li>"), std::string::npos);
  EXPECT_NE(m.str().find("x &lt; y"), std::string::npos);
  EXPECT_EQ(m.str().find(">2<"), std::string::npos) << "the block's own lines";
  EXPECT_NE(m.str().find(">3<"), std::string::npos);
}

}  // namespace
}  // namespace restride::draw
