#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "src/base/checked.h"
#include "src/layout/canonical.h"
#include "tests/support/throws.h"

namespace restride::layout {
namespace {

using test::holds;
using test::message_of;

void one_to_one(std::string_view dst) { require_one_to_one(parse_layout(dst)); }
std::string complaint(std::string_view dst) {
  return message_of<OverlapError>([&] { one_to_one(dst); });
}
/// Both layouts over one buffer.
bool meet(std::string_view dst, std::string_view src) {
  static std::byte memory[4096];
  return may_overlap(memory + 1024, parse_layout(dst), memory + 1024, parse_layout(src));
}

TEST(RequireOneToOne, NamesTheModeItsStrideAndTheRemedy) {
  EXPECT_TRUE(holds(complaint("f32 (4,4):(2,1)"), "dst overlaps itself", "f32 (4,4):(2,1)", "bytes 8 to 11 twice",
                    "give mode 0 a stride of at least 4 elements"));
  EXPECT_TRUE(holds(complaint("f32 (4):(0)"), "mode 0", "at least 1 elements"));
  EXPECT_TRUE(holds(complaint("f32 (2,3):(4,2)b"), "mode 1"));
  EXPECT_TRUE(holds(complaint("u8 (4,4):(-2,1)@12"), "mode 0", "at least 4"));
}

TEST(RequireOneToOne, NamesBytesThatAreReallyWrittenTwice) {
  EXPECT_TRUE(holds(complaint("f32 (5,7):(4,3)"), "bytes 48 to 51 twice"));  // 12 = 3 * 4 = 4 * 3, and not 4
  EXPECT_TRUE(holds(complaint("f32 (5,7):(-4,3)@16"), "bytes 48 to 51 twice"));
  EXPECT_TRUE(holds(complaint("f32 (2,3):(4,2)b"), "bytes 4 to 7 twice"));
  EXPECT_TRUE(holds(complaint("f32 (2,5):(-10,8)b@10"), "bytes 10 to 11 twice"));  // of elements at 8 and at 10
}

TEST(RequireOneToOne, GivesAModeWithoutAStrideOneThatClearsTheOthers) {
  EXPECT_TRUE(holds(complaint("f32 (2,2):(0,1)"), "bytes 0 to 3 twice", "mode 0", "at least 2 elements"));
  one_to_one("f32 (2,2):(2,1)");
  EXPECT_TRUE(holds(complaint("f32 (3,4,2):(0,2,-1)@1"), "bytes 0 to 3 twice", "mode 0", "at least 8 elements"));
  one_to_one("f32 (3,4,2):(8,2,-1)@1");
}

TEST(RequireOneToOne, TakesEveryNestedLayoutAndItsFlips) {
  one_to_one("f32 (4,4)");
  one_to_one("f32 (4,4):(1,4)");
  one_to_one("f32 (4,4):(-4,1)@12");
  one_to_one("f32 (4,4):(17,-4)@12");
  one_to_one("f32 ()");
  one_to_one("f32 (1,1):(0,0)");
}

TEST(RequireOneToOne, TakesNoElementsWhateverTheStrides) { one_to_one("f32 (0,4):(0,0)"); }

TEST(RequireOneToOne, TakesInterleavedLayoutsThatHitEachByteOnce) {
  one_to_one("u8 (2,3):(3,2)");                               // 0 2 4 3 5 7
  one_to_one("u8 (3,3):(2,3)");                               // 0 3 6 2 5 8 4 7 10
  EXPECT_TRUE(holds(complaint("u8 (4,3):(2,3)"), "mode 1"));  // 6 = 3 * 2 = 2 * 3
}

TEST(MayOverlap, SeesHalvesOfAMatrixSideBySideAsApart) {
  EXPECT_FALSE(meet("f32 (4,4):(8,1)@4", "f32 (4,4):(8,1)"));
  EXPECT_TRUE(meet("f32 (4,4):(8,1)@3", "f32 (4,4):(8,1)"));
}

TEST(MayOverlap, SeesEvenAndOddElementsAsApart) {
  EXPECT_FALSE(meet("f32 (50):(2)", "f32 (50):(2)@1"));
  EXPECT_FALSE(meet("f32 (50):(-2)@98", "f32 (50):(2)@1"));
  EXPECT_TRUE(meet("f32 (50):(2)", "f32 (50):(3)@1"));
  EXPECT_TRUE(meet("f32 (50):(8)b@2", "f32 (50):(2)@1")) << "two bytes of each element";
}

TEST(MayOverlap, SeesTouchingRangesAsApartAndOneSharedByte) {
  EXPECT_FALSE(meet("u8 (16):(1)@16", "u8 (16)"));
  EXPECT_TRUE(meet("u8 (16):(1)@15", "u8 (16)"));
  EXPECT_FALSE(meet("u8 (0)", "u8 (16)"));
}

TEST(MayOverlap, LooksAtEachSidesOwnElementSize) {
  EXPECT_FALSE(meet("u8 (4):(4)@3", "b3 (4):(4)b"));
  EXPECT_TRUE(meet("u8 (4):(4)@2", "b3 (4):(4)b"));
}

TEST(MayOverlap, SeesTheIdenticalViewAsOverlap) { EXPECT_TRUE(meet("f32 (4,4)", "f32 (4,4)")); }

/// Small layouts whose bytes can be listed.
Layout random_small(std::mt19937_64& random) {
  const auto pick = [&](std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random);
  };
  Layout l{Element::bytes(pick(1, 4)), {}, pick(-8, 8)};
  for (std::int64_t rank = pick(0, 4); rank > 0; --rank) l.modes.push_back({pick(1, 4), pick(-12, 12)});
  return l;
}

/// Every byte the layout names, and whether one is named twice.
std::pair<std::set<std::int64_t>, bool> bytes_of(const Layout& l) {
  std::set<std::int64_t> bytes;
  bool twice = false;
  for (std::int64_t i = 0; i < l.elements(); ++i) {
    std::int64_t at = l.offset_bytes;
    std::int64_t rest = i;
    for (const Mode& m : l.modes) {
      at += rest % m.extent * m.stride_bytes;
      rest /= m.extent;
    }
    for (std::int64_t b = 0; b < l.element.size_bytes; ++b) twice |= !bytes.insert(at + b).second;
  }
  return {bytes, twice};
}

TEST(OverlapProperty, AgreesWithListingEveryByte) {
  std::byte memory[1];
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    std::mt19937_64 random(seed);
    const Layout a = random_small(random);
    const Layout b = random_small(random);
    const auto [a_bytes, twice] = bytes_of(a);
    const auto [b_bytes, unused] = bytes_of(b);
    bool refused = false;
    try {
      require_one_to_one(a);
    } catch (const OverlapError&) {
      refused = true;
    }
    ASSERT_EQ(refused, twice) << seed << ": " << to_string(a);
    bool shared = false;
    for (std::int64_t byte : a_bytes) shared |= b_bytes.count(byte) != 0;
    ASSERT_EQ(may_overlap(memory, a, memory, b), shared) << seed << ": " << to_string(a) << " and " << to_string(b);
  }
}

TEST(Overlap, IsFoundWhereADataPointerHasWrapped) {
  std::byte memory[8];
  constexpr std::int64_t kFar = std::int64_t{1} << 59;  // in front of any memory
  const Layout plain = parse_layout("u8 (4)");
  const Layout far{DType::kU8, {{4, 1}}, kFar};
  const auto at = [&](std::int64_t bytes) { return moved(static_cast<const std::byte*>(memory), bytes - kFar); };
  EXPECT_TRUE(may_overlap(at(0), far, memory, plain));
  EXPECT_TRUE(may_overlap(memory, plain, at(3), far));
  EXPECT_FALSE(may_overlap(at(4), far, memory, plain));
}

TEST(Overlap, GivesUpOnHostileStridesBeforeLongAndRefuses) {
  // Subset sums of 62 close strides: far beyond any search; what counts is that the answer comes, and errs to yes.
  Layout hostile{DType::kU8, {}, 0};
  for (std::int64_t i = 0; i < 62; ++i)
    hostile.modes.push_back({2, (std::int64_t{1} << 40) + 2 * (i * i * i * 7919 + i * 104729)});
  EXPECT_THROW(require_one_to_one(hostile), OverlapError);
  Layout odd = hostile;
  odd.offset_bytes = 1;
  std::byte memory[1];
  EXPECT_TRUE(may_overlap(memory, hostile, memory, odd));
}

}  // namespace
}  // namespace restride::layout
