#include "tools/draw/markup.h"

#include <gtest/gtest.h>

namespace restride::draw {
namespace {

TEST(Markup, EscapesWhatMeansSomethingThere) {
  EXPECT_EQ(escaped("<script>a & \"b\" 'c'</script>"),
            "&lt;script&gt;a &amp; &quot;b&quot; &#39;c&#39;&lt;/script&gt;");
  EXPECT_EQ(escaped("caf\xc3\xa9 \xe2\x86\x92"), "caf\xc3\xa9 \xe2\x86\x92");
}

TEST(Markup, ReplacesWhatIsNoText) {
  EXPECT_EQ(escaped("a\xff"
                    "b"),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(escaped(std::string_view("a\0b\x1b", 4)),
            "a\xef\xbf\xbd"
            "b\xef\xbf\xbd");
  EXPECT_EQ(escaped("a\n\tb"), "a\n\tb");
}

TEST(Markup, EscapesTextAndAttributesOfTags) {
  EXPECT_EQ(Markup().leaf("text", {{"x", 3}, {"class", "a\"b"}}, "1 < 2").str(),
            "<text x=\"3\" class=\"a&quot;b\">1 &lt; 2</text>\n");
  EXPECT_EQ(Markup().open("p").text("a").leaf("b", {}, "&").text(".").close().str(), "<p>a<b>&amp;</b>.</p>\n");
}

TEST(Markup, NumbersHaveNoMoreDigitsThanTheyNeed) {
  EXPECT_EQ(number(12), "12");
  EXPECT_EQ(number(2.5), "2.5");
  EXPECT_EQ(number(1.0 / 3), "0.33");
  EXPECT_EQ(number(-0.001), "0");
}

TEST(Drawing, StacksPartsWithTheirNames) {
  const Drawing whole = stacked("all", "t", {{"one", "", 100, 10, "<a/>"}, {"two", "", 50, 20, "<b/>"}});
  EXPECT_GE(whole.width, 100);
  EXPECT_GE(whole.height, 30);
  EXPECT_NE(whole.markup.find("id=\"one\""), std::string::npos);
  EXPECT_NE(whole.markup.find("id=\"two\""), std::string::npos);
  EXPECT_EQ(svg_file(whole).rfind("<svg", 0), 0u);
}

}  // namespace
}  // namespace restride::draw
