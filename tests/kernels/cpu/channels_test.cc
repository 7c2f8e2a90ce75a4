#include "src/kernels/cpu/channels.h"

#include "tests/kernels/cpu/family.h"

namespace restride {
namespace {

using test::expect_exact;

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
  const std::string n = std::to_string(3 * kernels::cpu::kChannelPoints + 5);
  expect_exact("channels", "u8 (3," + n + ")", "u8 (3," + n + "):(1,3)", {}, 13, 4);
  expect_exact("channels", "f32 (" + n + ",2)", "u8 (" + n + ",2):(1," + n + ")", {}, 13, 3);
}

}  // namespace
}  // namespace restride
