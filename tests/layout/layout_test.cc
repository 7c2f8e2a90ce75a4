#include <restride/layout.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/support/throws.h"

namespace restride {
namespace {

using test::holds;
using test::message_of;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

Layout bytes_apart(Element element, std::vector<std::int64_t> extents, std::vector<std::int64_t> strides,
                   std::int64_t offset = 0) {
  return strided(element, extents, strides, offset);
}

TEST(Contiguous, MakesTheLastModeFastest) {
  const Layout l = contiguous(DType::kF32, {2, 3, 4});
  EXPECT_EQ(l.modes, (Modes{{2, 48}, {3, 16}, {4, 4}}));
  EXPECT_EQ(l.offset_bytes, 0);
  EXPECT_EQ(l.rank(), 3);
  EXPECT_EQ(l.elements(), 24);
  EXPECT_EQ(l.bytes(), 96);
  EXPECT_TRUE(is_contiguous(l));
}

TEST(Contiguous, OfRankZeroHoldsOneElement) {
  const Layout l = contiguous(DType::kF64, {});
  EXPECT_EQ(l.elements(), 1);
  EXPECT_EQ(byte_range(l), (std::pair<std::int64_t, std::int64_t>{0, 8}));
  EXPECT_TRUE(is_contiguous(l));
}

TEST(Contiguous, TakesRankSixtyFourAndRefusesSixtyFive) {
  const std::vector<std::int64_t> ones(65, 1);
  EXPECT_EQ(contiguous(DType::kU8, Extents(ones.data(), 64)).rank(), 64);
  EXPECT_TRUE(
      holds(message_of<ArgumentError>([&] { contiguous(DType::kU8, Extents(ones)); }), "rank 65", "64", "merge"));
}

TEST(Contiguous, RefusesANegativeExtentAndNamesItsMode) {
  EXPECT_TRUE(holds(message_of<ArgumentError>([] { contiguous(DType::kU8, {2, -3}); }), "mode 1", "-3"));
}

TEST(Contiguous, RefusesMoreBytesThanAnyMachineAddresses) {
  EXPECT_EQ(contiguous(DType::kU8, {kMaxBytes}).bytes(), kMaxBytes);
  EXPECT_THROW(contiguous(DType::kU16, {kMaxBytes}), RangeError);
  EXPECT_THROW(contiguous(DType::kU16, {kMax}), RangeError);
  EXPECT_THROW(contiguous(DType::kU8, {std::int64_t{1} << 32, std::int64_t{1} << 31}), RangeError);
}

TEST(Contiguous, OfNoElementsTakesAnyExtentsBesideAZero) {
  for (const std::vector<std::int64_t>& extents :
       {std::vector<std::int64_t>{0, kMax, kMax}, {kMax, 0, kMax}, {kMax, kMax, 0}}) {
    const Layout l = contiguous(DType::kF32, Extents(extents));
    EXPECT_EQ(l.elements(), 0);
    EXPECT_EQ(l.bytes(), 0);
    EXPECT_TRUE(is_contiguous(l));
    EXPECT_EQ(byte_range(l), (std::pair<std::int64_t, std::int64_t>{0, 0}));
    EXPECT_EQ(parse_layout(to_string(l)), l);
  }
  EXPECT_EQ(contiguous(DType::kF32, {2, 0, 3}).modes, (Modes{{2, 12}, {0, 12}, {3, 4}})) << "strides that fit stay";
}

TEST(Contiguous, CountsMoreElementsThanThirtyTwoBitsHold) {
  EXPECT_EQ(contiguous(DType::kF32, {3, std::int64_t{1} << 31}).elements(), std::int64_t{3} << 31);
}

TEST(Strided, RefusesListsOfDifferentLength) {
  EXPECT_TRUE(holds(message_of<ShapeError>([] { bytes_apart(DType::kF32, {2, 3}, {4}); }), "2 extents but 1 stride;"));
}

TEST(Strided, RefusesASpanBeyond63Bits) {
  EXPECT_THROW(bytes_apart(DType::kU8, {3}, {std::int64_t{1} << 62}), RangeError);
  EXPECT_THROW(bytes_apart(DType::kU8, {2, 2}, {kMax, -kMax}), RangeError);
  EXPECT_THROW(bytes_apart(DType::kU8, {2}, {1}, kMax), RangeError);
  EXPECT_THROW(bytes_apart(DType::kU8, {2}, {std::numeric_limits<std::int64_t>::min()}), RangeError);
}

TEST(Strided, SaysThatItIsTheOffsetWhichLeaves63Bits) {
  for (const std::int64_t offset : {kMax, kMax - 3, -kMax})
    EXPECT_TRUE(holds(message_of<RangeError>([&] { bytes_apart(DType::kF32, {2}, {offset < 0 ? -4 : 4}, offset); }),
                      "an offset of " + std::to_string(offset), "nearer to 0"));
  EXPECT_EQ(bytes_apart(DType::kF32, {2}, {4}, kMax - 8).offset_bytes, kMax - 8);
  EXPECT_EQ(bytes_apart(DType::kF32, {2}, {-4}, 4 - kMax).offset_bytes, 4 - kMax);
}

TEST(Strided, TakesAModeWhoseEndLiesBeyondTheLimit) {
  // Element 1 is the last byte that fits; a third would start behind it, but there is none.
  EXPECT_EQ(bytes_apart(DType::kU8, {2}, {kMaxBytes - 1}).elements(), 2);
  EXPECT_TRUE(holds(message_of<RangeError>([] { bytes_apart(DType::kU8, {2}, {kMaxBytes}); }), "2^60 bytes"));
  EXPECT_THROW(bytes_apart(DType::kU16, {kMaxBytes}, {0}), RangeError);
}

TEST(Validate, NamesWhatIsWrongWithLayoutsThatCannotBePrintedWhole) {
  Layout l;
  l.element = Element::bytes(0);
  l.modes.push_back({4, 0});
  EXPECT_THROW(permute(l, {1}), ShapeError);
  l.element.dtype = static_cast<DType>(200);
  EXPECT_THROW(validate(l), ArgumentError);
  EXPECT_EQ(to_string(l), "? (4):(0)");
}

TEST(Validate, LooksAtElementsThatWereFilledInByHand) {
  Layout l = contiguous(DType::kF32, {4});
  l.element.size_bytes = 2;
  EXPECT_TRUE(holds(message_of<ArgumentError>([&] { validate(l); }), "f32", "4 bytes", "not 2"));
  l.element.size_bytes = 0;
  EXPECT_THROW(validate(l), ArgumentError);
}

TEST(Elements, AreNoneWhenAnyExtentIsZeroWhateverTheOthers) {
  const Layout l = bytes_apart(DType::kF32, {kMax, 0, kMax}, {4, 4, 4});
  EXPECT_EQ(l.elements(), 0);
  EXPECT_EQ(l.bytes(), 0);
  EXPECT_EQ(byte_range(l), (std::pair<std::int64_t, std::int64_t>{0, 0}));
  EXPECT_TRUE(is_contiguous(l));
}

TEST(ByteRange, ReachesBackOverNegativeStrides) {
  EXPECT_EQ(byte_range(bytes_apart(DType::kF32, {3, 2}, {-8, 4}, 100)),
            (std::pair<std::int64_t, std::int64_t>{84, 108}));
}

TEST(ByteRange, CountsARepeatedElementOnce) {
  EXPECT_EQ(byte_range(bytes_apart(DType::kF32, {9}, {0})), (std::pair<std::int64_t, std::int64_t>{0, 4}));
}

TEST(IsContiguous, IgnoresStridesOfExtentOne) {
  EXPECT_TRUE(is_contiguous(bytes_apart(DType::kF32, {1, 4, 1}, {77, 4, -3})));
  EXPECT_FALSE(is_contiguous(bytes_apart(DType::kF32, {4, 4}, {4, 16})));
  EXPECT_FALSE(is_contiguous(bytes_apart(DType::kF32, {4}, {-4})));
}

}  // namespace
}  // namespace restride
