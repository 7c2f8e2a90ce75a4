#include "src/layout/dtype_names.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include <restride/layout.hpp>

#include "tests/support/throws.h"

namespace restride {
namespace {

using test::holds;
using test::message_of;

TEST(DTypeNames, AreThoseOfNumPyTorchJaxAndSafetensorsToo) {
  const std::pair<const char*, Element> kNames[] = {
      {"float32", DType::kF32},
      {"half", DType::kF16},
      {"uint8", DType::kU8},
      {"<f4", DType::kF32},
      {"=f8", DType::kF64},
      {"|u1", DType::kU8},
      {"<u8", DType::kU64},
      {"<i8", DType::kI64},
      {"<f2", DType::kF16},
      {"<c16", DType::kC128},
      {"|b1", DType::kBool},
      {"?", DType::kBool},
      {">u1", DType::kU8},
      {"|V12", Element::bytes(12)},
      {"torch.float32", DType::kF32},
      {"torch.float", DType::kF32},
      {"torch.int", DType::kI32},
      {"torch.long", DType::kI64},
      {"torch.half", DType::kF16},
      {"torch.bfloat16", DType::kBF16},
      {"torch.cfloat", DType::kC64},
      {"torch.bool", DType::kBool},
      {"np.float64", DType::kF64},
      {"numpy.int_", DType::kI64},
      {"jnp.bfloat16", DType::kBF16},
      {"bool_", DType::kBool},
      {"F32", DType::kF32},
      {"BF16", DType::kBF16},
      {"F8_E4M3", DType::kF8E4M3},
      {"torch.float8_e5m2", DType::kF8E5M2},
      {"double", DType::kF64},
      {"complex64", DType::kC64},
      {"Int64", DType::kI64},
  };
  for (const auto& [name, element] : kNames) {
    EXPECT_EQ(parse_element(name), element) << name;
    EXPECT_EQ(element_named(name), element) << name;
    EXPECT_EQ(parse_layout(std::string(name) + " (4)").element, element) << name;
  }
}

TEST(DTypeNames, OfTheNotationKeepTheirMeaning) {
  EXPECT_EQ(parse_element("u8"), Element(DType::kU8));
  EXPECT_EQ(parse_element("i8"), Element(DType::kI8));
  EXPECT_EQ(parse_element("b1"), Element::bytes(1));
  EXPECT_EQ(parse_element("b8"), Element::bytes(8));
}

TEST(DTypeNames, ThatMeanTwoThingsOrNothingAreRefused) {
  for (const char* name : {"float", "int", "byte", "np.float", "torch.f32", "<U4", "<u3", "B12", "f4", ">f4", "torch.",
                           "", "<", "<f", "<f1", "|b2", "float8_e4m3", "<f4x"})
    EXPECT_EQ(parse_element(name), std::nullopt) << name;
}

TEST(DTypeNames, ThatAreNoneGetAHint) {
  const auto message = [](const char* name) { return message_of<ParseError>([&] { element_named(name); }); };
  EXPECT_TRUE(holds(message("flaot32"), "there is no dtype 'flaot32'; did you mean float32?"));
  EXPECT_TRUE(holds(message("f33"), "did you mean f32?"));
  EXPECT_TRUE(holds(message("f4"), "did you mean <f4, which is f32?"));
  EXPECT_TRUE(holds(message(">f4"), "big-endian", "swap"));
  EXPECT_TRUE(holds(message("float"), "some mean f32 and some f64", "write one"));
  EXPECT_TRUE(holds(message("float8_e4m3"), "did you mean float8_e4m3fn?"));
  EXPECT_TRUE(holds(message("f8"), "some mean f64 and some f8e4m3", "write one"));
  EXPECT_TRUE(holds(message("b0"), "1 to 2147483647 bytes", "b12"));
  EXPECT_TRUE(holds(message("b2147483648"), "1 to 2147483647 bytes"));
  EXPECT_TRUE(holds(message("abacus"), "there are bool, u8,", "b12 for twelve opaque bytes", "NumPy's"));
  EXPECT_TRUE(holds(message_of<ParseError>([] { parse_layout("flaot32 (4)"); }), "column 1",
                    "'flaot32' is no element type; did you mean float32?"));
}

}  // namespace
}  // namespace restride
