#include "src/base/json_reader.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "src/base/json_text.h"
#include "src/base/json_value.h"
#include "tests/support/json_peer.h"
#include "tests/support/throws.h"

namespace restride::base {
namespace {

using test::holds;
using test::message_of;

constexpr JsonLimits kLimits{1 << 20, 16};

JsonValue read(std::string_view text) { return parse_json(text, kLimits); }
std::string refusal(std::string_view text, const JsonLimits& limits = kLimits) {
  return message_of<ParseError>([&] { parse_json(text, limits); });
}

TEST(JsonReader, ReadsEveryKindOfValue) {
  const JsonValue in = read(" {\"a\" : [1, -2 ,3.5,\t1e3, true,false,null,\"x\"],\r\n\"b\":{},\"c\":[]} ");
  const JsonValue::List& a = *in.find("a")->list();
  ASSERT_EQ(a.size(), 8u);
  EXPECT_EQ(a[0].integer(), 1);
  EXPECT_EQ(a[1].integer(), -2);
  EXPECT_EQ(a[2].number(), 3.5);
  EXPECT_EQ(a[3].number(), 1000.0);
  EXPECT_FALSE(a[3].integer()) << "1e3 is written as no integer";
  EXPECT_TRUE(std::get<bool>(a[4].held));
  EXPECT_FALSE(std::get<bool>(a[5].held));
  EXPECT_TRUE(std::holds_alternative<std::nullptr_t>(a[6].held));
  EXPECT_EQ(*a[7].text(), "x");
  EXPECT_TRUE(in.find("b")->object()->empty());
  EXPECT_TRUE(in.find("c")->list()->empty());
  EXPECT_EQ(in.find("d"), nullptr);
  EXPECT_EQ(a[0].find("d"), nullptr);
  EXPECT_EQ(*read("\"alone\"").text(), "alone");
  EXPECT_EQ(read("\xef\xbb\xbf[7]").list()->size(), 1u) << "behind a byte order mark";
}

TEST(JsonReader, TellsIntegersThatDoNotFit) {
  EXPECT_EQ(read("9223372036854775807").integer(), INT64_MAX);
  EXPECT_EQ(read("-9223372036854775808").integer(), INT64_MIN);
  EXPECT_EQ(std::get<std::uint64_t>(read("9223372036854775808").held), 1ull << 63);
  EXPECT_EQ(std::get<std::uint64_t>(read("18446744073709551615").held), UINT64_MAX);
  EXPECT_EQ(std::get<double>(read("18446744073709551616").held), 0x1p64);
  EXPECT_EQ(std::get<double>(read("-9223372036854775809").held), -0x1p63);
  EXPECT_EQ(read("-0").integer(), 0);
  EXPECT_TRUE(holds(refusal("[1e999]"), "number that ends at byte 6 is beyond all ranges"));
}

TEST(JsonReader, DecodesEscapes) {
  EXPECT_EQ(*read(R"("\"\\\/\b\f\n\r\t")").text(), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(*read(R"("a\u0041\u00e9\u20AC\ud83d\ude00z")").text(), "aA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z");
  EXPECT_EQ(*read(R"("\u0000")").text(), std::string(1, '\0'));
  for (const char* wrong : {R"("\x")", R"("\u12")", R"("\u12g4")", R"("\ud800")", R"("\ud800x")", R"("\ud800\n")",
                            R"("\ud800\u0041")", R"("\udc00")", R"("\)", "\"\\u"})
    EXPECT_TRUE(holds(refusal(wrong), "no valid JSON")) << wrong;
}

TEST(JsonReader, QuotesWhatItReadsBack) {
  std::string text;
  for (int c = 0; c < 0x80; ++c) text += static_cast<char>(c);
  text += "\xc3\xa9\xf0\x9f\x98\x80";
  EXPECT_EQ(*read(json_quoted(text)).text(), text);
}

TEST(JsonReader, SaysAtWhichByteItGoesWrong) {
  const std::pair<const char*, int> kTable[] = {
      {"", 1},           {"  ", 3},    {"{", 2},         {"{\"t\":", 6},  {"[1,]", 4}, {"[1 2]", 4}, {"{\"a\" 1}", 6},
      {"{a:1}", 2},      {"{,}", 2},   {"[,]", 2},       {"[1", 3},       {"1 1", 3},  {"tru", 4},   {"nul1", 4},
      {"True", 1},       {"\"abc", 5}, {"\"a\nb\"", 3},  {"\"\xff\"", 2}, {"01", 2},   {"-", 2},     {".5", 1},
      {"1.", 3},         {"1e", 3},    {"1e+", 4},       {"+1", 1},       {"[1],", 4}, {"NaN", 1},   {"'a'", 1},
      {"{\"a\":1,}", 8}, {"[1}", 3},   {"{\"a\":1]", 7}, {"// a\n1", 1}};
  for (const auto& [text, byte] : kTable)
    EXPECT_TRUE(holds(refusal(text), "no valid JSON: it ends or goes wrong at byte " + std::to_string(byte))) << text;
}

TEST(JsonReader, RefusesTextThatIsNoUtf8) {
  for (const char* wrong :
       {"\x80", "\xc0\x80", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\xf0\x80\x80\x80"})
    EXPECT_TRUE(holds(refusal(std::string("\"") + wrong + "\""), "no valid JSON")) << wrong;
}

TEST(JsonReader, NamesTheLimitThatATextPasses) {
  EXPECT_NO_THROW(parse_json("[[1]]", {5, 2, 0}));
  EXPECT_TRUE(holds(refusal("[[1]] ", {5, 2}), "it has 6 bytes; more than 5 are refused"));
  EXPECT_TRUE(holds(refusal("[[[1]]]", {100, 2}), "nested deeper than 2 levels"));
  EXPECT_TRUE(holds(refusal(R"({"a":{"b":1},"c":2})", {100, 2, 2}), "more than 2 keys"));
  EXPECT_TRUE(holds(refusal(std::string(1 << 20, '[')), "nested deeper than 16 levels"));
}

TEST(JsonReader, RefusesAKeyThatStandsTwiceInOneObject) {
  EXPECT_TRUE(holds(refusal(R"({"a":1,"b":2,"a":3})"), "'a' appears twice in one object"));
  EXPECT_TRUE(holds(refusal(R"({"a":{"x":1,"\u0078":2}})"), "'x' appears twice"));
  EXPECT_TRUE(holds(refusal(R"({"":1,"":2})"), "'' appears twice"));
  EXPECT_NO_THROW(read(R"({"a":{"a":1,"b":[{"a":1},{"a":1}]},"b":{"a":1}})"));
  const std::string name = std::string(59, 'x') + "\xc3\xa9" + std::string(1000, 'y');
  EXPECT_TRUE(holds(refusal("{\"" + name + "\":1,\"" + name + "\":2}"), "'" + std::string(59, 'x') + "...'"));
}

TEST(JsonReader, FindsAKeyThatStandsTwiceAmongManyWithoutComparingAllPairs) {
  std::string text = "{\"-1\":0";
  for (int i = 0; i < 300'000; ++i) text += ",\"" + std::to_string(i) + "\":0";
  constexpr JsonLimits kLarge{1 << 24, 1};
  EXPECT_EQ(parse_json(text + "}", kLarge).object()->size(), 300'001u);
  EXPECT_TRUE(holds(refusal(text + ",\"150000\":0}", kLarge), "'150000' appears twice"));
}

TEST(JsonReader, AgreesWithAnotherParserOnTextsWithOneByteChanged) {
  const std::string texts[] = {R"({"a":[1,-2.5e3,true,null],"b":{"c":"x\u00e9\n"},"d":false})",
                               R"([0,10,-0.5,"\ud83d\ude00",{},[],{"":""}])", "[\"\xc3\xa9\xe2\x82\xac\", 1E-2 ]"};
  for (const std::string& text : texts)
    for (std::size_t at = 0; at < text.size(); ++at)
      for (int byte = 0; byte < 256; ++byte) {
        std::string changed = text;
        changed[at] = static_cast<char>(byte);
        ASSERT_EQ(test::disagreement(changed), "") << changed;
      }
}

}  // namespace
}  // namespace restride::base
