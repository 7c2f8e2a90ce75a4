#include "tools/io/text.h"

#include "tests/tools/io/support.h"

namespace restride::io {
namespace {

TEST(Text, KeepsUtf8SoThatNamesCanBePastedBack) {
  for (const char* text : {"", "weights", "größe", "重み", "\xf0\x9f\xa6\x80", "\xc2\xa0"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_EQ(escaped(text), text);
  }
}

TEST(Text, EscapesWhatIsNoUtf8) {
  EXPECT_EQ(escaped("a\xff"), "a\\xff");
  EXPECT_EQ(escaped("\xc3"), "\\xc3") << "cut in the middle";
  EXPECT_EQ(escaped("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(escaped("\xe0\x80\xaf"), "\\xe0\\x80\\xaf") << "overlong";
  EXPECT_EQ(escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(escaped("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond Unicode";
  EXPECT_FALSE(is_utf8("a\xff"));
}

TEST(Text, EscapesWhatATerminalObeys) {
  EXPECT_EQ(escaped("\x1b[31m\n\x7f"), "\\x1b[31m\\x0a\\x7f");
  EXPECT_EQ(escaped("\xc2\x9b"
                    "31m"),
            "\\xc2\\x9b31m");
}

TEST(Text, TrimsBlanksOfAllKinds) {
  EXPECT_EQ(trimmed(" \t\r\na b\n "), "a b");
  EXPECT_EQ(trimmed(" \n"), "");
  EXPECT_EQ(trimmed(""), "");
}

TEST(Text, CutsLongTextBetweenCharacters) {
  std::string text(1, 'x'), shown;
  for (int i = 0; i < 40; ++i) text += "é";
  shown = text.substr(0, 59);  // 60 bytes would end in the middle of an é
  EXPECT_EQ(printable(text), shown.append("..."));
  EXPECT_EQ(printable(std::string(60, 'x')), std::string(60, 'x'));
}

}  // namespace
}  // namespace restride::io
