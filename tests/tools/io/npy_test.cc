#include "tools/io/npy.h"

#include "tests/support/throws.h"
#include "tests/tools/io/support.h"

namespace restride::io {
namespace {

std::string npy(const std::string& dict, int major = 1, const std::string& data = std::string(4096, '\0')) {
  return std::string("\x93NUMPY") + static_cast<char>(major) + '\0' + le(dict.size(), major == 1 ? 2 : 4) + dict + data;
}

TEST(Npy, ReadsAllThreeVersions) {
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
  EXPECT_EQ(parse_npy(source_of(npy(dict, 1))).layout.offset_bytes, static_cast<std::int64_t>(10 + dict.size()));
  EXPECT_EQ(parse_npy(source_of(npy(dict, 2))).layout.offset_bytes, static_cast<std::int64_t>(12 + dict.size()));
  EXPECT_EQ(parse_npy(source_of(npy(dict, 3))).layout.offset_bytes, static_cast<std::int64_t>(12 + dict.size()));
}

TEST(Npy, TurnsFortranOrderIntoStrides) {
  const ArrayEntry entry = parse_npy(source_of(npy("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3, 4)}")));
  ASSERT_EQ(entry.layout.rank(), 3);
  EXPECT_EQ(entry.layout.modes[0], (Mode{2, 2}));
  EXPECT_EQ(entry.layout.modes[1], (Mode{3, 4}));
  EXPECT_EQ(entry.layout.modes[2], (Mode{4, 12}));
}

TEST(Npy, ReadsAnEmptyArrayWhateverItsOtherExtents) {
  const std::string shape = "'shape': (0, 9223372036854775807, 9223372036854775807)}";
  for (const char* fortran : {"False", "True"}) {
    const ArrayEntry entry =
        parse_npy(source_of(npy(std::string("{'descr': '<f4', 'fortran_order': ") + fortran + ", " + shape, 1, "")));
    EXPECT_EQ(entry.layout.rank(), 3);
    EXPECT_EQ(entry.layout.elements(), 0);
  }
}

TEST(Npy, ReadsScalarsOneTuplesKeysInAnyOrderAndPython2Integers) {
  EXPECT_EQ(parse_npy(source_of(npy("{'shape': (), 'fortran_order': False, 'descr': '<f8'}"))).layout.rank(), 0);
  EXPECT_EQ(parse_npy(source_of(npy("{\"shape\": (7L,), 'fortran_order': False, 'descr': '|u1', }"))).layout.elements(),
            7);
}

TEST(Npy, SaysWhichWordsAreBigEndian) {
  const auto words = [](const char* descr) { return parse_npy_dtype(descr).word_bytes; };
  EXPECT_EQ(words(">f4"), 4);
  EXPECT_EQ(words(">c16"), 8);
  EXPECT_EQ(words("<f4"), 0);
  EXPECT_EQ(words(">u1"), 0);
  EXPECT_EQ(words(">M8[ns]"), 8);
  EXPECT_EQ(words(">U5"), 4);
  EXPECT_EQ(words(">f16"), 16);
  EXPECT_EQ(words(">c32"), 16);
  EXPECT_EQ(words("<M8[ns]"), 0);
  for (const char* unordered : {"|S4", ">S4", ">V4"}) EXPECT_EQ(words(unordered), 0) << unordered;
}

TEST(Npy, KeepsTheOrderOfElementsThatItOnlyMoves) {
  const ArrayEntry entry = parse_npy(source_of(npy("{'descr': '>M8[ns]', 'fortran_order': False, 'shape': (3,)}")));
  EXPECT_EQ(entry.swap_bytes, 0) << "moves untouched, its dtype string with it";
  EXPECT_EQ(entry.opaque_word_bytes, 8);
}

TEST(Npy, NamesEveryDtypeAsNumpyDoesAndReadsItBack) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const Element element = static_cast<DType>(i);
    const NpyDtype back = parse_npy_dtype(npy_dtype(element));
    EXPECT_EQ(back.element.size_bytes, element.size_bytes);
    EXPECT_EQ(back.word_bytes, 0);
    // NumPy has no name for these; they come back as bytes.
    const bool nameless =
        element.dtype == DType::kBF16 || element.dtype == DType::kF8E4M3 || element.dtype == DType::kF8E5M2;
    EXPECT_EQ(back.element, nameless ? Element::bytes(element.size_bytes) : element);
  }
  EXPECT_EQ(parse_npy_dtype("bfloat16").element, Element(DType::kBF16));
  EXPECT_EQ(parse_npy_dtype("float8_e4m3fn").element, Element(DType::kF8E4M3));
  EXPECT_EQ(parse_npy_dtype("<f1").element, Element(DType::kF8E5M2));
}

TEST(Npy, MovesDtypesItCannotConvertAsBytesUnderTheirOwnName) {
  EXPECT_EQ(parse_npy_dtype("<U5").element, Element::bytes(20));
  EXPECT_EQ(parse_npy_dtype("|V12").element, Element::bytes(12));
  EXPECT_EQ(parse_npy_dtype("<M8[25us]").element, Element::bytes(8));
  EXPECT_EQ(parse_npy_dtype("<f16").element, Element::bytes(16));
  EXPECT_EQ(parse_npy(source_of(npy("{'descr': '<U5', 'fortran_order': False, 'shape': (3,)}"))).npy_descr, "<U5");
}

TEST(Npy, TakesDatesAndWideFloatsOnlyAsNumpyHasThem) {
  for (const char* descr : {"<M8", "<m8[D]", ">M8[ns]", "<M8[25us]", "|S7", "|V3", "<f12", "<c32"})
    EXPECT_TRUE(parse_npy_dtype(descr).opaque) << descr;
  for (const char* descr : {"<f3", "<f32", "<c4", "<i3", "|b2", "<M3", "<M8garbage", "<M8[", "<M8[]", "<M8[xs]",
                            "<M8[s]\n", "<M8[\x1b[0m]", "<f4\n", "<U5\x1b"})
    EXPECT_THROW(parse_npy_dtype(descr), ParseError) << descr;
}

TEST(Npy, RefusesACountOfTimeUnitsThatNumpyHasNoBitsFor) {
  EXPECT_TRUE(parse_npy_dtype("<M8[2147483647s]").opaque);
  for (const char* descr : {"<M8[2147483648s]", "<M8[99999999999999999999us]"})
    EXPECT_NE(message_of<ParseError>([&] { parse_npy_dtype(descr); }).find("does not fit 31 bits"), std::string::npos);
}

TEST(Npy, WritesHeadersThatItReadsBack) {
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{}, {5}, {2, 0, 3}, {4, 3, 2, 1}}) {
    const std::string header = npy_header("<f4", shape, false);
    EXPECT_EQ(header.size() % 64, 0u);
    EXPECT_EQ(header.back(), '\n');
    const std::string file = header + std::string(4096, '\0');
    const ArrayEntry entry = parse_npy(source_of(file));
    Layout expected = contiguous(DType::kF32, shape);
    expected.offset_bytes = static_cast<std::int64_t>(header.size());
    EXPECT_EQ(entry.layout, expected);
  }
}

TEST(Npy, WritesVersion2WhenTheHeaderIsLong) {
  const std::string header = npy_header("|V" + std::string(70000, '1'), std::vector<std::int64_t>{1}, false);
  EXPECT_EQ(header[6], 2);
  EXPECT_EQ(header.size(), 12 + load_le(reinterpret_cast<const std::uint8_t*>(header.data()) + 8, 4));
}

struct Hostile {
  const char* name;
  std::string file;
  const char* message;  // part of it
};

TEST(Npy, RefusesHostileHeadersWithAReason) {
  const std::string shape = "'fortran_order': False, 'shape': ";
  const std::string f4 = "{'descr': '<f4', " + shape;
  const Hostile table[] = {
      {"empty", "", "ends after 0 bytes"},
      {"cut in the magic", "\x93NUM", "truncated"},
      {"other magic", std::string(100, 'x'), "does not begin"},
      {"header longer than the file", std::string("\x93NUMPY\1\0", 8) + le(60000, 2) + "{", "truncated"},
      {"header of 4 GB", std::string("\x93NUMPY\2\0", 8) + le(0xffffffff, 4) + "{", "are refused"},
      {"data missing", npy(f4 + "(3,)}", 1, ""), "truncated or the shape is wrong"},
      {"data cut", npy(f4 + "(1025,)}"), "truncated or the shape is wrong"},
      {"negative extent", npy(f4 + "(-1,)}"), "negative"},
      {"extent beyond 63 bits", npy(f4 + "(9223372036854775808,)}"), "63 bits"},
      {"rank 65",
       npy(f4 + "(" +
           [] {
             std::string s;
             for (int i = 0; i < 65; ++i) s += "1,";
             return s;
           }() +
           ")}"),
       "more than 64"},
      {"nested shape", npy(f4 + "((1,),)}"), "expected a number"},
      {"shape that is a number", npy(f4 + "(4)}"), "needs a comma, as in (8,)"},
      {"shape that is a list", npy(f4 + "[4]}"), "expected '('"},
      {"NUL in the dictionary", npy(f4 + std::string("(4,)\0}", 6)), "expected '}'"},
      {"NUL behind the dictionary", npy(f4 + std::string("(4,)}\0", 6)), "text follows"},
      {"no dictionary", npy("__import__('os')"), "expected '{'"},
      {"no end", npy(f4 + "(1,)"), "expected '}'"},
      {"text behind", npy(f4 + "(1,)} + 1"), "text follows"},
      {"key twice", npy("{'descr': '<f4', 'descr': '<f4', " + shape + "(1,)}"), "twice"},
      {"key unknown", npy("{'evil': '<f4', " + shape + "(1,)}"), "unknown key 'evil'"},
      {"key missing", npy("{'descr': '<f4', 'shape': (1,)}"), "all needed"},
      {"string without end", npy("{'descr"), "without end"},
      {"backslash", npy("{'descr': '<f\\x34', " + shape + "(1,)}"), "backslash"},
      {"dtype nonsense", npy("{'descr': 'float', " + shape + "(1,)}"), "no NumPy dtype"},
      {"dtype of 2^40 bytes", npy("{'descr': '|V1099511627776', " + shape + "(1,)}"), "no NumPy dtype"},
      {"control characters", npy("{'descr': '\x1b[31m', " + shape + "(1,)}"), "\\x1b[31m"},
  };
  for (const Hostile& h : table)
    EXPECT_NE(message_of<ParseError>([&] { parse_npy(source_of(h.file)); }).find(h.message), std::string::npos)
        << h.name << ": " << h.message;
}

TEST(Npy, RefusesByteCountsThatOverflow) {
  const std::string file = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}");
  const std::string message = message_of<RangeError>([&] { parse_npy(source_of(file)); });
  EXPECT_NE(message.find("its header claims extents (4294967296,4294967296) of f64"), std::string::npos) << message;
  EXPECT_EQ(message.find("use smaller extents"), std::string::npos) << "nobody chose them";
}

TEST(Npy, SaysHowManyBytesARecordHas) {
  const auto read = [](const std::string& descr) {
    parse_npy(source_of(npy("{'descr': " + descr + ", 'fortran_order': False, 'shape': (1,)}")));
  };
  const std::pair<const char*, const char*> records[] = {
      {"[('x', '<f4')]", "a.view('V4')"},
      {"[('x', '<f4'), ('y', '>f8', (3, 2)), ('', '|V4'), ('text', '<U5'), ('none', '|S0'),]", "a.view('V76')"},
      {"[(('a title', 'x'), '|u1', (2,)), ('y', [('a', '<i2'), ('b', [('c', '|b1')], (5,))], (10,))]", "a.view('V72')"},
      {"[('x', '<M8[ns]', 3), ('y', [])]", "a.view('V24')"},
  };
  for (const auto& [descr, hint] : records)
    EXPECT_TRUE(test::holds(message_of<UnsupportedError>([&, d = descr] { read(d); }), hint)) << descr;
  const std::pair<const char*, const char*> broken[] = {
      {"[('x', '<f4')", "expected '('"},
      {"[('x', '<f3')]", "no NumPy dtype"},
      {"[('x')]", "expected ','"},
      {"[('x', '<f8', (99999999999, 99999999999))]", "63 bits"},
      {"[('x', '<f8', (2147483647,))]", "more bytes than NumPy has"},
      {"[('x', '<f8', (-1,))]", "negative"},
      {"[('x', [", "expected '('"},
      {"[('x', '<f8') ('y', '<f8')]", "expected ']'"},
  };
  for (const auto& [descr, words] : broken)
    EXPECT_TRUE(test::holds(message_of<ParseError>([&, d = descr] { read(d); }), words)) << descr;
  std::string deep = "[('x', '<f4')]";
  for (int i = 0; i < 10000; ++i) deep = "[('x', " + deep + ")]";
  const std::string text = npy("{'descr': " + deep + ", 'fortran_order': False, 'shape': (1,)}", 2);
  EXPECT_TRUE(test::holds(message_of<UnsupportedError>([&] { parse_npy(source_of(text)); }), "a.view('V4')"));
}

TEST(Npy, ColumnsPointAtTheWordAndNotBehindIt) {
  const std::pair<const char*, const char*> wrong[] = {
      {"{'evil': 1}", "column 2: unknown key 'evil', near \"'evil'"},
      {"{'shape': (1,), 'shape': (1,)}", "column 17: 'shape' appears twice"},
      {"{'shape': (1,-2)}", "column 14: extent -2"},
      {"{'shape': (8)}", "column 11: the shape of one extent"},
  };
  for (const auto& [text, words] : wrong)
    EXPECT_TRUE(test::holds(message_of<ParseError>([t = text] { parse_npy(source_of(npy(t))); }), words)) << text;
}

TEST(Npy, NamesTheRemedyForWhatItCannotRead) {
  const std::string shape = "'fortran_order': False, 'shape': (1,)}";
  const auto message = [&](const std::string& descr) {
    const std::string file = npy("{'descr': " + descr + ", " + shape);
    return message_of<UnsupportedError>([&] { parse_npy(source_of(file)); });
  };
  EXPECT_NE(message("[('x', '<f4'), ('y', '<f4')]").find("a['field']"), std::string::npos);
  EXPECT_NE(message("('<f4', (3,))").find("arrays themselves"), std::string::npos);
  EXPECT_NE(message("'|O'").find("astype"), std::string::npos);
  EXPECT_NE(message("'|V0'").find("no bytes"), std::string::npos);
  EXPECT_NE(message_of<UnsupportedError>([&] { parse_npy(source_of(npy(shape, 9))); }).find("version 9.0"),
            std::string::npos);
}

}  // namespace
}  // namespace restride::io
