#include <gtest/gtest.h>

#include "tests/layout/views.h"

namespace restride {
namespace {

using test::holds;
using test::Ints;
using test::message_of;
using test::of;

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

}  // namespace
}  // namespace restride
