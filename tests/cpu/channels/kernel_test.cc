#include "src/cpu/channels/kernel.h"

#include "tests/cpu/family.h"

namespace restride {
namespace {

using test::expect_exact;
using test::kStreamed;
using test::kStreamedNear;

TEST(Channels, GoApartIntoPlanesForEveryUnit) {
  for (const std::string d : {"u8", "f16", "f32", "f64"}) {
    expect_exact("channels", d + " (2,333)", d + " (2,333):(1,2)");
    expect_exact("channels", d + " (3,333)", d + " (3,333):(1,3)");
    expect_exact("channels", d + " (4,333)", d + " (4,333):(1,4)");
  }
}

TEST(Channels, ComeTogetherFromPlanesForEveryUnit) {
  for (const std::string d : {"u8", "f16", "f32", "f64"}) {
    expect_exact("channels", d + " (333,2)", d + " (333,2):(1,333)");
    expect_exact("channels", d + " (333,3)", d + " (333,3):(1,333)");
    expect_exact("channels", d + " (333,4)", d + " (333,4):(1,333)");
  }
}

TEST(Channels, TakeFewerPointsThanAVectorHolds) {
  expect_exact("channels", "u8 (3,37)", "u8 (3,37):(1,3)");
  expect_exact("channels", "u8 (37,3)", "u8 (37,3):(1,37)");
}

TEST(Channels, MayRunDownwardsInTheSource) {
  for (const std::string d : {"u8", "f32"}) {
    expect_exact("channels", d + " (5,3,70)", d + " (5,3,70):(210,-1,3)@2");
    expect_exact("channels", d + " (5,70,3)", d + " (5,70,3):(210,1,-70)@140");
  }
}

TEST(Channels, LeaveGapsBetweenRowsAndPlanesAlone) {
  expect_exact("channels", "u8 (3,20,50):(1300,60,1)", "u8 (3,20,50):(1,160,3)");
  expect_exact("channels", "f32 (20,50,4):(210,4,1)", "f32 (20,50,4):(57,1,1200)");
}

TEST(Channels, ConvertOnTheWay) {
  for (const std::string d : {"u8", "f16", "bf16", "f64", "i32"}) {
    expect_exact("channels", "f32 (3,2,1111)", d + " (3,2,1111):(1,3333,3)");
    expect_exact("channels", d + " (2,1111,3)", "f32 (2,1111,3):(3333,1,1111)");
  }
}

TEST(Channels, AreCutIntoPiecesThatThreadsShare) {
  const std::string n = std::to_string(3 * cpu::kChannelPieceBytes + 5);
  expect_exact("channels", "u8 (3," + n + ")", "u8 (3," + n + "):(1,3)", {}, 13, 4);
  expect_exact("channels", "f32 (" + n + ",2)", "u8 (" + n + ",2):(1," + n + ")", {}, 13, 3);
}

/// Lines leave past the caches: planes that start on lines, on units inside them, and inside units.
TEST(Channels, GoApartPastTheCaches) {
  for (const std::string d : {"u8", "f16", "f32", "f64"})
    for (int channels = 2; channels <= 8; ++channels)
      for (const std::string n : {"33", "64", "333", "1024"}) {
        const std::string shape = d + " (" + std::to_string(channels) + "," + n + ")";
        const std::string src = shape + ":(1," + std::to_string(channels) + ")";
        expect_exact("channels/split", shape, src, kStreamed, 8);
        expect_exact("channels/split", shape, src, kStreamedNear, 13);
      }
}

TEST(Channels, ComeTogetherPastTheCaches) {
  for (const std::string d : {"u8", "f16", "f32", "f64"})
    for (int channels = 2; channels <= 8; ++channels)
      for (const std::string n : {"33", "64", "333", "1024"}) {
        const std::string shape = d + " (" + n + "," + std::to_string(channels) + ")";
        const std::string src = shape + ":(1," + n + ")";
        expect_exact("channels/join", shape, src, kStreamed, 8);
        expect_exact("channels/join", shape, src, kStreamedNear, 13);
      }
}

/// Behind the last point's channels nothing is read.
TEST(Channels, MayBeTheFirstOfWiderPoints) {
  for (const std::string d : {"u8", "f16", "f32", "f64"}) {
    expect_exact("channels/split", d + " (3,333)", d + " (3,333):(1,4)", kStreamed, 8);
    expect_exact("channels/split", d + " (3,128)", d + " (3,128):(-1,4)@2", kStreamed, 8);
    expect_exact("channels/split", d + " (2,7,128)", d + " (2,7,128):(1,1024,8)", kStreamed, 8);
    expect_exact("channels/split", d + " (7,333)", d + " (7,333):(1,8)", kStreamedNear, 24);
  }
}

/// Rows of planes that start elsewhere in a line each time.
TEST(Channels, LeavePastTheCachesRowByRow) {
  expect_exact("channels", "u8 (3,20,150):(4000,160,1)", "u8 (3,20,150):(1,480,3)", kStreamed);
  expect_exact("channels", "u8 (3,20,150):(4001,163,1)", "u8 (3,20,150):(1,480,3)", kStreamed);
  expect_exact("channels", "f32 (20,50,4):(210,4,1)", "f32 (20,50,4):(57,1,1200)", kStreamed, 4);
  expect_exact("channels", "u8 (20,77,5)", "u8 (20,77,5):(77,1,1600)", kStreamed);
}

TEST(Channels, ConvertPastTheCaches) {
  for (const std::string d : {"u8", "f16", "f64"}) {
    expect_exact("channels", "f32 (3,2,1111)", d + " (3,2,1111):(1,3333,3)", kStreamed, 8);
    expect_exact("channels", d + " (2,1111,3)", "f32 (2,1111,3):(3333,1,1111)", kStreamed, 8);
    expect_exact("channels", "f32 (5,1111)", d + " (5,1111):(1,6)", kStreamed, 8);
    expect_exact("channels", d + " (1111,7)", "f32 (1111,7):(1,1111)", kStreamed, 8);
  }
  expect_exact("channels", "c128 (2,963)", "u16 (2,963):(1,2)", kStreamed);  // the widest units there are
}

}  // namespace
}  // namespace restride
