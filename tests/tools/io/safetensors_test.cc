#include "tools/io/safetensors.h"

#include "tests/support/allocations.h"
#include "tests/tools/io/support.h"

namespace restride::io {
namespace {

std::string file_of(const std::string& json, std::size_t data_bytes = 64) {
  return le(json.size(), 8) + json + std::string(data_bytes, '\0');
}

std::vector<ArrayEntry> entries_of(const std::string& file) {
  std::vector<ArrayEntry> entries;
  for (const SafetensorsTensor& t : parse_safetensors(source_of(file))) entries.push_back(entry_of(t));
  return entries;
}

TEST(Safetensors, ReadsEveryTensorWithItsPlaceInTheFile) {
  const std::string json = R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F16","shape":[2,3],"data_offsets":[4,16]},)"
                           R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})";
  const std::string file = file_of(json, 16);
  const std::vector<ArrayEntry> entries = entries_of(file);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].name, "a");
  EXPECT_EQ(entries[0].layout.rank(), 0);
  EXPECT_EQ(entries[1].name, "b");
  EXPECT_EQ(entries[1].layout.element, Element(DType::kF16));
  EXPECT_EQ(entries[1].layout.offset_bytes, static_cast<std::int64_t>(8 + json.size() + 4));
}

std::string header_of(const std::string& name, const Element& element, const std::vector<std::int64_t>& shape) {
  const SafetensorsSpec spec{name, safetensors_dtype(element), shape,
                             static_cast<std::uint64_t>(contiguous(element, shape).bytes())};
  return safetensors_header({&spec, 1});
}

TEST(Safetensors, ReadsBackWhatItWrites) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const Element element = static_cast<DType>(i);
    if (element.dtype == DType::kC128) continue;
    const std::vector<std::int64_t> shape{2, 3};
    const std::string header = header_of("name \"with\" quotes", element, shape);
    EXPECT_EQ(header.size() % 8, 0u);
    const std::string file = header + std::string(static_cast<std::size_t>(6 * element.size_bytes), '\0');
    const std::vector<ArrayEntry> entries = entries_of(file);
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0].name, "name \"with\" quotes");
    Layout expected = contiguous(element, shape);
    expected.offset_bytes = static_cast<std::int64_t>(header.size());
    EXPECT_EQ(entries[0].layout, expected);
  }
}

TEST(Safetensors, WritesManyTensorsAndWhatTheFileSaysBesideThem) {
  const std::vector<std::int64_t> shape{2, 3}, none{0}, scalar;
  const SafetensorsMetadata metadata{{"format", "pt"}, {"a \"b\"", "\n\u00e4"}};
  const std::vector<SafetensorsSpec> specs{{"w", "F64", shape, 48}, {"empty", "U8", none, 0}, {"s", "BF16", scalar, 2}};
  const std::string file = safetensors_header(specs, metadata) + std::string(50, '\0');
  SafetensorsMetadata back;
  const std::deque<SafetensorsTensor> tensors = parse_safetensors(source_of(file), &back);
  EXPECT_EQ(back, metadata);
  ASSERT_EQ(tensors.size(), 3u);
  for (const SafetensorsTensor& t : tensors) {
    const auto& spec = specs[t.name == "w" ? 0 : t.name == "empty" ? 1 : 2];
    EXPECT_EQ(t.dtype->name, spec.dtype);
    EXPECT_EQ(t.last - t.first, spec.bytes);
    EXPECT_TRUE(std::equal(t.extents.begin(), t.extents.end(), spec.extents.begin(), spec.extents.end()));
  }
  const std::vector<SafetensorsSpec> twice{specs[0], specs[0]};
  EXPECT_NE(message_of<ArgumentError>([&] { safetensors_header(twice); }).find("two tensors are called 'w'"),
            std::string::npos);
}

TEST(Safetensors, ReadsElementsThatOnlyMove) {
  const std::string json = R"({"e":{"dtype":"F8_E8M0","shape":[3],"data_offsets":[0,3]},)"
                           R"("f":{"dtype":"F4","shape":[3,2],"data_offsets":[3,6]},)"
                           R"("s":{"dtype":"F6_E3M2","shape":[4],"data_offsets":[6,9]}})";
  const std::vector<ArrayEntry> entries = entries_of(le(json.size(), 8) + json + "abcdefghi");
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].layout.element, Element::bytes(1));
  EXPECT_EQ(entries[0].safetensors_dtype, "F8_E8M0");
  EXPECT_EQ(entries[0].bits, 0);
  EXPECT_EQ(entries[1].bits, 4);
  EXPECT_EQ(entries[1].layout.elements(), 6);
  EXPECT_EQ(entries[2].bits, 6);
  for (const char* wrong : {R"({"f":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})",
                            R"({"f":{"dtype":"F6_E3M2","shape":[6],"data_offsets":[0,4]}})"}) {
    const std::string file = le(std::string(wrong).size(), 8) + wrong + "abcd";
    EXPECT_NE(message_of<ParseError>([&] { parse_safetensors(source_of(file)); }).find("ends inside a byte"),
              std::string::npos);
  }
}

TEST(Safetensors, SaysWhenItHasNoNameForAnElement) {
  const std::vector<std::int64_t> shape{1};
  const auto message = [&](const Element& element) {
    return message_of<UnsupportedError>([&] { safetensors_dtype(element); });
  };
  EXPECT_NE(message(DType::kC128).find("convert with --dtype, or write .npy"), std::string::npos);
  // Opaque bytes never convert.
  EXPECT_EQ(message(Element::bytes(24)).find(" --dtype"), std::string::npos);
  EXPECT_NE(message(Element::bytes(24)).find("--in-dtype what the elements really are, or write .npy"),
            std::string::npos);
  EXPECT_THROW(header_of("\xff", DType::kF32, shape), ArgumentError);
}

TEST(Safetensors, RefusesTheNameThatIsNoTensors) {
  const std::vector<std::int64_t> shape{1};
  const auto message = message_of<ArgumentError>([&] { header_of("__metadata__", DType::kF32, shape); });
  EXPECT_NE(message.find("another name"), std::string::npos) << message;
}

struct Hostile {
  const char* name;
  std::string file;
  const char* message;
};

TEST(Safetensors, RefusesHostileHeadersWithAReason) {
  const auto tensor = [](const std::string& body) { return file_of("{\"t\":{" + body + "}}"); };
  const std::string f32 = R"("dtype":"F32",)";
  const Hostile table[] = {
      {"empty", "", "ends after 0 bytes"},
      {"only a length", le(2, 8), "truncated"},
      {"10 GB header", le(10'000'000'000, 8) + "{}", "are refused"},
      {"length of 2^64-1", le(~std::uint64_t{0}, 8) + "{}", "are refused"},
      {"header longer than the file", le(1000, 8) + "{}", "truncated"},
      {"no JSON", file_of("{\"t\":"), "no valid JSON: it ends or goes wrong at byte 6"},
      {"not UTF-8", file_of("{\"\xff\":1}"), "no valid JSON"},
      {"a list", file_of("[]"), "no JSON object"},
      {"a million brackets", file_of(std::string(1'000'000, '[')), "nested deeper"},
      {"nested objects", file_of(R"({"a":{"b":{"c":{"d":{}}}}})"), "nested deeper"},
      {"name twice", file_of(R"({"a":{},"a":{}})"), "twice"},
      {"key twice", tensor(R"("dtype":"F32","dtype":"U8","shape":[1],"data_offsets":[0,4])"), "'dtype' appears twice"},
      {"tensor is a number", file_of(R"({"t":1})"), "no object"},
      {"no dtype", tensor(R"("shape":[1],"data_offsets":[0,4])"), "has no 'dtype'"},
      {"offsets of three", tensor(f32 + R"("shape":[1],"data_offsets":[0,4,8])"), "two data_offsets"},
      {"negative extent", tensor(f32 + R"("shape":[-1],"data_offsets":[0,4])"), "unsigned"},
      {"fractional extent", tensor(f32 + R"("shape":[1.5],"data_offsets":[0,4])"), "unsigned"},
      {"extent of 2^63", tensor(f32 + R"("shape":[9223372036854775808],"data_offsets":[0,4])"), "63 bits"},
      {"end before begin", tensor(f32 + R"("shape":[1],"data_offsets":[8,4])"), "truncated"},
      {"end behind the file", tensor(f32 + R"("shape":[1000],"data_offsets":[0,4000])"), "truncated"},
      {"offsets unlike the shape", tensor(f32 + R"("shape":[3],"data_offsets":[0,8])"), "data_offsets span 8"},
      {"rank 65",
       tensor(f32 + "\"shape\":[" +
              [] {
                std::string s = "1";
                for (int i = 0; i < 64; ++i) s += ",1";
                return s;
              }() +
              R"(],"data_offsets":[0,4])"),
       "more than 64"},
  };
  for (const Hostile& h : table)
    EXPECT_NE(message_of<ParseError>([&] { parse_safetensors(source_of(h.file)); }).find(h.message), std::string::npos)
        << h.name << ": " << h.message;
}

TEST(Safetensors, LetsEveryTensorHaveTheSameKeys) {
  const std::string file = file_of(R"({"shape":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                   R"("dtype":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                                   2);
  EXPECT_EQ(parse_safetensors(source_of(file)).size(), 2u);
}

TEST(Safetensors, RefusesDataThatItsTensorsDoNotFill) {
  const auto message = [](const std::string& header, std::size_t data_bytes) {
    const std::string file = file_of(header, data_bytes);
    return message_of<ParseError>([&] { parse_safetensors(source_of(file)); });
  };
  const auto u8 = [](const char* name, int first, int last) {
    return "\"" + std::string(name) + R"(":{"dtype":"U8","shape":[)" + std::to_string(last - first) +
           R"(],"data_offsets":[)" + std::to_string(first) + "," + std::to_string(last) + "]}";
  };
  EXPECT_NE(message("{" + u8("a", 4, 8) + "}", 8).find("'a' begins at byte 4"), std::string::npos);
  EXPECT_NE(message("{" + u8("b", 6, 8) + "," + u8("a", 0, 4) + "}", 8).find("'b' begins at byte 6"),
            std::string::npos);
  EXPECT_NE(message("{" + u8("a", 0, 4) + "," + u8("b", 2, 6) + "}", 6).find("'b' begins at byte 2"),
            std::string::npos);
  EXPECT_NE(message("{" + u8("a", 0, 4) + "," + u8("b", 0, 4) + "}", 4).find("ends at 4"), std::string::npos);
  EXPECT_NE(message("{" + u8("a", 0, 4) + "}", 5).find("end at byte 4 of the data, the file at 5"), std::string::npos);
  const std::string filled = file_of("{" + u8("b", 4, 8) + "," + u8("none", 4, 4) + "," + u8("a", 0, 4) + "}", 8);
  EXPECT_EQ(parse_safetensors(source_of(filled)).size(), 3u);
}

TEST(Safetensors, TakesMetadataOfStringsOnly) {
  const std::string tensor = R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})";
  for (const char* wrong : {"[1]", "[\"x\"]", "[[\"x\"]]", "{\"x\":1}", "{\"x\":null}", "\"text\""}) {
    const std::string file = file_of(std::string("{\"__metadata__\":") + wrong + "," + tensor, 4);
    SafetensorsMetadata metadata;
    for (SafetensorsMetadata* kept : {static_cast<SafetensorsMetadata*>(nullptr), &metadata})
      EXPECT_NE(message_of<ParseError>([&] { parse_safetensors(source_of(file), kept); }).find("object of strings"),
                std::string::npos)
          << wrong;
  }
  for (const char* right : {"{}", "null", "{\"x\":\"y\"}"}) {
    const std::string file = file_of(std::string("{\"__metadata__\":") + right + "," + tensor, 4);
    EXPECT_EQ(parse_safetensors(source_of(file)).size(), 1u) << right;
  }
}

TEST(Safetensors, RefusesByteCountsThatOverflow) {
  const std::string file = file_of(R"({"t":{"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,0]}})");
  const std::string message = message_of<RangeError>([&] { parse_safetensors(source_of(file)); });
  EXPECT_NE(message.find("its header claims extents (4294967296,4294967296) of f64"), std::string::npos) << message;
}

TEST(Safetensors, NamesADtypeItDoesNotKnowAndReadsTheOthers) {
  const std::string file = file_of(R"({"new":{"dtype":"F3","shape":[2],"data_offsets":[0,1]},)"
                                   R"("old":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}})",
                                   4);
  const std::vector<ArrayEntry> entries = entries_of(file);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_NE(entries[0].unsupported.find("'F3'"), std::string::npos) << entries[0].unsupported;
  EXPECT_EQ(entries[1].unsupported, "");
  EXPECT_EQ(entries[1].layout.elements(), 3);
}

TEST(Safetensors, HoldsATensorOfAnUnknownDtypeToTheFile) {
  const std::string file = file_of(R"({"t":{"dtype":"F4","shape":[2],"data_offsets":[60,65]}})");
  EXPECT_NE(message_of<ParseError>([&] { parse_safetensors(source_of(file)); }).find("truncated"), std::string::npos);
}

/// A file of `count` tensors of one byte; what `name` makes of their numbers are their names.
template <class Name>
std::string file_of_many(std::size_t count, Name&& name) {
  std::string json = "{";
  for (std::size_t i = 0; i < count; ++i)
    json += (i == 0 ? "\"" : ",\"") + name(i) + R"(":{"dtype":"U8","shape":[1],"data_offsets":[)" + std::to_string(i) +
            "," + std::to_string(i + 1) + "]}";
  return file_of(json + "}", count);
}

TEST(Safetensors, ReadsAHeaderOfManyTensorsWithoutLookingThroughAllForEach) {
  constexpr std::size_t kCount = 300'000;
  const auto name = [](std::size_t i) { return "layers." + std::to_string(i) + ".weight"; };
  const std::deque<SafetensorsTensor> tensors = parse_safetensors(source_of(file_of_many(kCount, name)));
  ASSERT_EQ(tensors.size(), kCount);
  EXPECT_EQ(tensors[299'999].name, "layers.299999.weight");
  EXPECT_EQ(tensors[299'999].last - tensors[0].first, kCount);
  const auto once_more = [&](std::size_t i) { return name(i + 1 == kCount ? 1 : i); };
  EXPECT_NE(message_of<ParseError>([&] {
              parse_safetensors(source_of(file_of_many(kCount, once_more)));
            }).find("'layers.1.weight' appears twice"),
            std::string::npos);
}

TEST(Safetensors, ReadsAHeaderOfTheLargestSizeAndNoLargerOne) {
  constexpr std::size_t kMost = 100'000'000;
  const std::string tensor = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  std::string file = le(kMost, 8) + tensor + std::string(kMost - tensor.size(), ' ') + "x";
  EXPECT_EQ(parse_safetensors(source_of(file)).size(), 1u);
  file.replace(0, 8, le(kMost + 1, 8));
  EXPECT_NE(message_of<ParseError>([&] { parse_safetensors(source_of(file)); }).find("more than 100000000 are refused"),
            std::string::npos);
}

TEST(Safetensors, ListsTensorsInTheOrderOfTheirBytes) {
  const std::string file = file_of(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[2,4]},)"
                                   R"("none":{"dtype":"U8","shape":[0],"data_offsets":[2,2]},)"
                                   R"("z":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                                   R"("empty":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}})",
                                   4);
  std::vector<std::string> names;
  for (const ArrayEntry& e : entries_of(file)) names.push_back(e.name);
  EXPECT_EQ(names, (std::vector<std::string>{"z", "none", "empty", "a"}));
}

/// Repeats `part`, with its number for each %, to about a MiB between `head` and `tail`.
std::string repeated(const std::string& head, const std::string& part, const std::string& tail) {
  std::string json = head;
  for (int i = 0; json.size() < 1 << 20; ++i) {
    json += i == 0 ? "" : ",";
    for (const char c : part) json += c == '%' ? std::to_string(i) : std::string(1, c);
  }
  return json + tail;
}

TEST(Safetensors, TakesNoMoreThanEightTimesAHeadersSizeOfMemory) {
  const std::string ones = [] {
    std::string s = "0";
    for (int i = 0; i < 63; ++i) s += ",1";
    return s;
  }();
  const std::string shape = R"(,"shape":[)", offsets = R"(],"data_offsets":[0,0]})";
  const std::string long_text(1'100'000, 'x');  // a little above a power of two, where what doubles is largest
  const std::pair<const char*, std::string> table[] = {
      {"many tensors", repeated("{", R"("%":{"dtype":"U8")" + shape + "0" + offsets, "}")},
      {"unknown dtypes", repeated("{", R"("%":{"dtype":"")" + shape + offsets, "}")},
      {"many modes", repeated("{", R"("%":{"dtype":"U8")" + shape + ones + offsets, "}")},
      {"metadata", repeated(R"({"__metadata__":{)", R"("%":"")", "}}")},
      {"unknown keys", repeated(R"({"t":{)", R"("%":1)", "}}")},
      {"a list without end", repeated(R"({"t":{"shape":[)", "1", "]}}")},
      {"lists of a kind that none is", repeated(R"({"t":[)", "{}", "]}")},
      {"a long name", "{\"" + long_text + R"(":{"dtype":"U8")" + shape + "0" + offsets + "}"},
      {"a long text", R"({"__metadata__":{"a":")" + long_text + "\"}}"},
      {"a long text of escapes", R"({"__metadata__":{"a":")" + repeated("", R"(\u00e9\n)", "") + "\"}}"},
      {"a long dtype", R"({"t":{"dtype":")" + long_text + "\"" + shape + offsets + "}"},
      {"a long number", R"({"t":{"dtype":"U8")" + shape + std::string(1'100'000, '1') + offsets + "}"},
      {"a text without end", "{\"" + long_text},
      {"a text that is none", "{\"" + long_text + "\n\":1}"}};
  for (const auto& [what, json] : table) {
    const std::string file = file_of(json, 0);
    const std::size_t before = test::live_bytes();
    test::forget_peak();
    try {
      parse_safetensors(source_of(file));
    } catch (const ParseError&) {  // many are none
    }
    EXPECT_LE(test::peak_bytes() - before, 8 * json.size()) << what;
  }
}

TEST(Safetensors, ThrowsWhereverMemoryRunsOut) {
  const auto name = [](std::size_t i) { return "a name that takes memory " + std::to_string(i); };
  std::string file = file_of_many(200, name);
  for (const std::string part : {"", "\"shape\"", "}}"}) {  // as it is, then with a piece of it gone
    file.erase(file.find(part), part.size());
    const auto told = [&file] {
      try {
        return parse_safetensors(source_of(file)).empty();
      } catch (const ParseError&) {
        return false;
      }
    };
    EXPECT_GT(test::failures_told(told), 10u) << part;
  }
}

}  // namespace
}  // namespace restride::io
