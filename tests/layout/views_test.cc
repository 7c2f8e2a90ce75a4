#include <gtest/gtest.h>

#include <restride/layout.hpp>

#include <string>
#include <vector>

#include "tests/support/throws.h"

namespace restride {
namespace {

using test::holds;
using test::message_of;
using Ints = std::vector<std::int64_t>;

Layout of(std::string_view text) { return parse_layout(text); }

TEST(Permute, TakesAxesAsNumPyDoes) {
  EXPECT_EQ(permute(of("f32 (2,3,4)"), {2, 0, 1}), of("f32 (4,2,3):(1,12,4)"));
  EXPECT_EQ(permute(of("f32 (2,3,4)"), {-1, 0, -2}), of("f32 (4,2,3):(1,12,4)"));
}

TEST(Permute, NamesTheModeThatIsTwiceOrMissing) {
  EXPECT_TRUE(holds(message_of<ShapeError>([] { permute(of("f32 (2,3)"), {1, -1}); }), "mode 1 twice"));
  EXPECT_TRUE(holds(message_of<ShapeError>([] { permute(of("f32 (2,3)"), {0}); }), "1 axes", "2 modes"));
  EXPECT_TRUE(holds(message_of<ShapeError>([] { permute(of("f32 (2,3)"), {0, 2}); }), "mode 2", "use 0 to 1"));
}

TEST(Slice, TakesBoundsAsPythonDoes) {
  const Layout l = of("f32 (10)");
  EXPECT_EQ(slice(l, 0, 2, 8, 3), of("f32 (2):(3)@2"));
  EXPECT_EQ(slice(l, 0, -3, std::nullopt), of("f32 (3):(1)@7"));
  EXPECT_EQ(slice(l, 0, -99, 99), l);
  EXPECT_EQ(slice(l, 0, std::nullopt, std::nullopt, -2), of("f32 (5):(-2)@9"));
  EXPECT_EQ(slice(l, 0, 7, 2, -2), of("f32 (3):(-2)@7"));
  EXPECT_EQ(slice(l, 0, 5, 5).elements(), 0);
  EXPECT_EQ(slice(l, 0, 8, 2).elements(), 0);
  EXPECT_EQ(slice(l, 0, 99, std::nullopt).elements(), 0);
  EXPECT_EQ(slice(l, 0, 99, std::nullopt, -1), of("f32 (10):(-1)@9"));
}

TEST(Slice, TakesStepsThatLeaveTheModeAtOnce) {
  EXPECT_EQ(slice(of("f32 (10)"), 0, 3, std::nullopt, INT64_MAX).modes[0].extent, 1);
  EXPECT_EQ(slice(of("f32 (10)"), 0, 3, std::nullopt, INT64_MIN).modes[0].extent, 1);
}

TEST(Slice, RefusesStepZero) {
  EXPECT_TRUE(holds(message_of<ArgumentError>([] { slice(of("f32 (4)"), 0, 0, 4, 0); }), "step 0"));
}

TEST(Slice, ReadsOneTextAMode) {
  const std::vector<std::string> texts{"1:3", "::-1", "2"};
  EXPECT_EQ(slice(of("f32 (4,5,6)"), texts), of("f32 (2,5):(30,-6)@56"));
  EXPECT_EQ(slice(of("f32 (4,5)"), std::vector<std::string>{"-1"}), of("f32 (5):(1)@15"));
  EXPECT_EQ(slice(of("f32 (4,5)"), std::vector<std::string>{}), of("f32 (4,5)"));
  for (const char* bad : {"", "a", "1:2:3:4", "1 2", "1:b", "--1"})
    EXPECT_THROW(slice(of("f32 (4)"), std::vector<std::string>{bad}), ParseError) << bad;
  const auto too_large = [] { slice(of("f32 (4)"), std::vector<std::string>{"99999999999999999999:"}); };
  EXPECT_TRUE(holds(message_of<ParseError>(too_large), "does not fit 63 bits"));
  EXPECT_THROW(slice(of("f32 (4)"), std::vector<std::string>{"4"}), ShapeError);
  EXPECT_THROW(slice(of("f32 (4)"), std::vector<std::string>{":", ":"}), ShapeError);
  EXPECT_THROW(slice(of("f32 (4)"), std::vector<std::string>{"::0"}), ArgumentError);
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

TEST(Reshape, KeepsCOrderWhereStridesAllow) {
  EXPECT_EQ(reshape(of("f32 (2,6)"), Ints{3, 4}), of("f32 (3,4)"));
  EXPECT_EQ(reshape(of("f32 (4,9):(-9,-1)@35"), Ints{6, 6}), of("f32 (6,6):(-6,-1)@35"));
  EXPECT_EQ(reshape(of("f32 (2,6):(10,1)"), Ints{2, 2, -1}), of("f32 (2,2,3):(10,3,1)"));
  EXPECT_EQ(reshape(of("f32 (2,3):(3,1)"), Ints{6}), of("f32 (6)"));
  EXPECT_EQ(reshape(of("f32 (4)"), Ints{1, 4, 1}), of("f32 (1,4,1)"));
  EXPECT_EQ(reshape(of("f32 (0,3)"), Ints{7, 0}).elements(), 0);
}

TEST(Reshape, SaysToCopyFirstWhereNoStridesDescribeIt) {
  EXPECT_TRUE(holds(message_of<ShapeError>([] { reshape(of("f32 (2,3):(1,2)"), Ints{6}); }), "no strides", "copy"));
  EXPECT_THROW(reshape(of("f32 (2,3)"), Ints{7}), ShapeError);
  EXPECT_THROW(reshape(of("f32 (2,3)"), Ints{4, -1}), ShapeError);
  EXPECT_THROW(reshape(of("f32 (2,3)"), Ints{INT64_MAX, INT64_MAX}), RangeError);
  EXPECT_THROW(reshape(of("f32 (2,3)"), Ints{INT64_MAX, INT64_MAX, -1}), RangeError);
}

TEST(Reshape, RefusesExtentsThatNoLayoutHas) {
  EXPECT_THROW(reshape(of("f32 (2,3)"), Ints{-1, -1}), ArgumentError);
  EXPECT_THROW(reshape(of("f32 (2,3)"), Ints{-2, -3}), ArgumentError);
  EXPECT_TRUE(holds(message_of<ArgumentError>([] {
                      reshape(of("f32 (0,3)"), Ints{-1, 0});
                    }),
                    "(-1,0)", "write it out"));
}

TEST(Reshape, OfEmptyTensorsTakesAnyExtentsBesideAZero) {
  EXPECT_EQ(reshape(of("f32 (0,3)"), Ints{7, -1}).modes[1].extent, 0);
  EXPECT_EQ(reshape(of("f32 (0,3)"), Ints{INT64_MAX, INT64_MAX, 0}).rank(), 3);
}

TEST(SplitAndMerge, UndoEachOther) {
  const Layout l = of("f32 (12,5):(7,100)");
  EXPECT_EQ(split(l, 0, Ints{3, -1}), of("f32 (3,4,5):(28,7,100)"));
  EXPECT_EQ(merge(split(l, 0, Ints{3, 4}), 0, 2), l);
  EXPECT_THROW(split(l, 0, Ints{5, -1}), ShapeError);
  EXPECT_THROW(split(l, 2, Ints{1}), ShapeError);
  EXPECT_TRUE(holds(message_of<ShapeError>([&] { merge(l, 0, 2); }), "one stride", "copy"));
  EXPECT_THROW(merge(l, 0, 0), ArgumentError);
  EXPECT_THROW(merge(l, 1, 2), ShapeError);
}

TEST(SplitAndMerge, TakeModesWhoseEndLiesBeyondTheLimit) {
  const Layout far = of("u8 (2):(1152921504606846000)");
  EXPECT_EQ(split(far, 0, Ints{1, 2}).modes[1], far.modes[0]);
  EXPECT_EQ(reshape(far, Ints{1, 2}).modes[1], far.modes[0]);
  EXPECT_THROW(merge(of("u8 (2,2):(1,1152921504606846000)"), 0, 2), ShapeError);
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
