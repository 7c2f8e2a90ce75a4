#include <gtest/gtest.h>

#include <string>

#include "tests/layout/views.h"

namespace restride {
namespace {

using test::holds;
using test::Ints;
using test::message_of;
using test::of;

TEST(Permute, TakesAxesAsNumPyDoes) {
  EXPECT_EQ(permute(of("f32 (2,3,4)"), {2, 0, 1}), of("f32 (4,2,3):(1,12,4)"));
  EXPECT_EQ(permute(of("f32 (2,3,4)"), {-1, 0, -2}), of("f32 (4,2,3):(1,12,4)"));
}

TEST(Permute, NamesTheModeThatIsTwiceOrMissing) {
  EXPECT_TRUE(holds(message_of<ShapeError>([] { permute(of("f32 (2,3)"), {1, -1}); }), "mode 1 twice"));
  EXPECT_TRUE(holds(message_of<ShapeError>([] { permute(of("f32 (2,3)"), {0}); }), "1 axis", "2 modes"));
  EXPECT_TRUE(holds(message_of<ShapeError>([] { permute(of("f32 (2,3)"), {0, 2}); }), "mode 2", "use 0 to 1"));
}

TEST(Flip, TurnsOneModeAround) {
  EXPECT_EQ(flip(of("u8 (2,3)"), 1), of("u8 (2,3):(3,-1)@2"));
  EXPECT_EQ(flip(flip(of("u8 (2,3)"), -1), 1), of("u8 (2,3)"));
  EXPECT_EQ(flip(of("u8 (0)"), 0).elements(), 0);
}

TEST(BroadcastTo, StretchesExtentOneAndPrependsModes) {
  EXPECT_EQ(broadcast_to(of("f32 (3,1)"), Ints{2, 3, 4}), of("f32 (2,3,4):(0,1,0)"));
  EXPECT_TRUE(holds(message_of<ShapeError>([] { broadcast_to(of("f32 (3)"), Ints{4}); }), "mode 0", "extent 3", "4"));
  EXPECT_THROW(broadcast_to(of("f32 (3,1)"), Ints{3}), ShapeError);
  EXPECT_THROW(broadcast_to(of("f32 (1)"), Ints{-1}), ArgumentError);
  EXPECT_THROW(broadcast_to(of("f32 (1)"), Ints{INT64_MAX}), RangeError);
}

TEST(Views, CountOneModeAsOne) {
  EXPECT_TRUE(holds(message_of<ShapeError>([] { permute(of("f32 (2)"), {0, 0}); }), "2 axes", "has 1 mode;"));
  EXPECT_TRUE(holds(message_of<ShapeError>([] { squeeze(of("f32 (2)"), 1); }), "has 1 mode;"));
  EXPECT_TRUE(holds(message_of<ShapeError>([] { broadcast_to(of("f32 (2)"), Ints{}); }), "has 1 mode but"));
}

TEST(Views, SayThatAScalarHasNoModes) {
  const std::string words = message_of<ShapeError>([] { flip(parse_layout("f32 ()"), 0); });
  EXPECT_TRUE(holds(words, "flip: mode 0 of f32 ():(), which has no modes")) << words;
  EXPECT_EQ(words.find("use"), std::string::npos);
}

TEST(Squeeze, RemovesExtentOneOnly) {
  EXPECT_EQ(squeeze(of("f32 (2,1,3)"), 1), of("f32 (2,3)"));
  EXPECT_EQ(unsqueeze(of("f32 (2)"), -1).rank(), 2);
  EXPECT_THROW(squeeze(of("f32 (2)"), 0), ShapeError);
  EXPECT_THROW(unsqueeze(of("f32 (2)"), 2), ShapeError);
  const Layout full = contiguous(DType::kU8, Ints(64, 1));
  EXPECT_THROW(unsqueeze(full, 0), ArgumentError);
}

TEST(Reinterpret, RenamesElementsOfOneSize) {
  EXPECT_EQ(reinterpret(of("f32 (4)"), DType::kU32), of("u32 (4)"));
  EXPECT_EQ(reinterpret(of("f32 (4)"), Element::bytes(4)), of("b4 (4)"));
  EXPECT_THROW(reinterpret(of("f32 (4)"), DType::kF64), CastError);
}

TEST(Views, OfEmptyTensorsKeepStridesThatWouldNotFit) {
  const Layout empty = strided(DType::kU8, Ints{0, 4}, Ints{1, INT64_MAX});
  const Layout tail = slice(empty, 1, 2, std::nullopt, 2);
  EXPECT_EQ(tail.modes[1], (Mode{1, INT64_MAX}));
  EXPECT_EQ(tail.offset_bytes, 0);
  EXPECT_EQ(flip(empty, 1).modes[1], (Mode{4, INT64_MAX}));
  const std::string third = "3";
  EXPECT_EQ(slice(strided(DType::kU8, Ints{4, 0}, Ints{INT64_MAX, 1}), {&third, 1}).offset_bytes, 0);
  EXPECT_THROW(merge(strided(DType::kU8, Ints{0, std::int64_t{1} << 62, 2}, Ints{1, 1, 1}), 1, 2), RangeError);
}

}  // namespace
}  // namespace restride
