#include "src/cpu/rows/kernel.h"

#include "tests/cpu/family.h"

namespace restride {
namespace {

using test::expect_exact;
using test::kStreamed;
using test::kStreamedNear;

TEST(Rows, BringsHeadsTogether) {
  expect_exact("rows", "f32 (13,2048)", "f32 (13,16,128):(512,6656,4)b");
  expect_exact("rows", "f32 (13,2048)", "f32 (13,16,128):(512,6656,4)b", kStreamed, 13, 3);
}

TEST(Rows, JoinsNeighbouringRowsIntoWholeLines) {
  for (const char* src : {"u8 (100,7):(11,1)", "u8 (100,61):(64,1)", "u8 (50,129):(131,1)"}) {
    const Layout l = parse_layout(src);
    const std::string dst = to_string(contiguous(l.element, {l.modes[0].extent, l.modes[1].extent}));
    for (const std::int64_t skew : {0, 1, 63}) expect_exact("rows", dst, src, kStreamed, skew);
  }
}

TEST(Rows, MovesShortRowsOfEveryLength) {
  for (const int bytes :
       {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 191, 255, 256, 257}) {
    const std::string shape = " (70," + std::to_string(bytes) + ")";
    const std::string pitched = shape + ":(" + std::to_string(bytes + 3) + ",1)";
    expect_exact("rows", "u8" + shape, "u8" + pitched);
    expect_exact("rows", "u8" + shape, "u8" + pitched, kStreamed, 13, 2);
    expect_exact("rows", "u8" + pitched, "u8" + shape, kStreamed);
  }
}

TEST(Rows, ConvertsShortRowsABatchAtATime) {
  for (const int units : {2, 3, 16, 20, 33, 64}) {
    const std::string shape = " (70," + std::to_string(units) + ")";
    const std::string pitched = shape + ":(" + std::to_string(units + 3) + ",1)";
    expect_exact("rows", "f32" + shape, "u8" + pitched);
    expect_exact("rows", "f16" + shape, "f32" + pitched, kStreamed, 13, 2);
    expect_exact("rows", "u8" + pitched, "f64" + shape, kStreamed);
  }
}

TEST(Rows, LeavesGapsOfTheDestinationAlone) {
  expect_exact("rows", "u8 (50,61):(67,1)", "u8 (50,61)", kStreamed);
  expect_exact("rows", "u8 (50,128):(192,1)", "u8 (50,128):(131,1)", kStreamed);
}

TEST(Rows, PicksUnitsAtAnyStride) {
  for (const char* dtype : {"u8", "f16", "f32", "f64", "c128", "b12"}) {
    const std::string d(dtype);
    for (const char* src : {" (3,700):(2100,3)", " (3,700):(700,-1)@699", " (3,700):(1,0)", " (3,700):(-1,-5)@4000"}) {
      expect_exact("rows", d + " (3,700)", d + src);
      expect_exact("rows", d + " (3,700)", d + src, kStreamed);
    }
  }
}

TEST(Rows, ConvertsWhatItPicks) {
  expect_exact("rows", "f16 (3,700)", "f32 (3,700):(701,1)", kStreamed);
  expect_exact("rows", "f16 (3,700)", "f32 (3,700):(2100,3)", kStreamed);
  expect_exact("rows", "f32 (3,700)", "u8 (3,700):(1,0)", kStreamed);
}

TEST(Rows, AlternatesRowsThatJumpAPageInTheSource) {
  expect_exact("rows", "f32 (3,200,32)", "f32 (3,200,32):(32,1024,1)", kStreamed, 13, 2);
}

TEST(Rows, AsksForRowsJustAhead) {
  expect_exact("rows", "f32 (21,1030)", "f32 (21,1030):(2000,1)", kStreamedNear);
  expect_exact("rows", "bf16 (21,1030)", "f32 (21,1030):(2000,1)", kStreamedNear);
  expect_exact("rows", "f32 (21,1030)", "f32 (21,1030):(2000,-1)@1029", kStreamedNear);
  expect_exact("rows", "f16 (21,2060)", "f32 (21,2060):(3000,-1)@2059", kStreamedNear);
  expect_exact("rows", "u8 (37,5,300)", "u8 (37,5,300):(310,20000,1)", kStreamedNear);
  expect_exact("rows", "u8 (90,41)", "u8 (90,41):(64,1)", kStreamedNear);
}

TEST(Rows, ReadsUpwardsWhatIsTurnedRound) {
  const test::Edits upwards = {{plan::ParamId::kStream, 1}, {plan::ParamId::kNear, 1}, {plan::ParamId::kOrder, 2}};
  for (const char* src : {"u8 (3,9000):(9000,-1)@8999", "u8 (3,9000):(-9001,-1)@27002", "u8 (3,9000):(-9000,1)@18000",
                          "u8 (3,8192):(8192,-1)@8191", "u8 (3,2,3000):(-7000,-3001,-1)@20999"})
    for (const int threads : {1, 3}) {
      const Layout l = parse_layout(src);
      std::vector<std::int64_t> extents;
      for (const Mode& m : l.modes) extents.push_back(m.extent);
      expect_exact("rows", to_string(contiguous(l.element, extents)), src, upwards, 13, threads);
    }
  expect_exact("rows", "f16 (3,9000)", "f32 (3,9000):(9000,-1)@8999", upwards, 13, 2);
  expect_exact("rows", "u8 (3,9000):(-9000,1)@18000", "u8 (3,9000):(9003,-1)@8999", upwards, 13, 2);
}

TEST(Rows, FollowsTheSourceWhereverRowsGo) {
  const test::Edits as_in_src = {{plan::ParamId::kStream, 1}, {plan::ParamId::kNear, 1}, {plan::ParamId::kOrder, 2}};
  for (const int bytes : {1, 40, 64, 128, 200, 257, 384, 1000, 1472, 4095, 4096, 9001}) {
    const std::string row = std::to_string(bytes);
    const std::string pitch = std::to_string(bytes * 9);
    const std::string dst = "u8 (9,35," + row + ")";
    expect_exact("rows", dst, dst + ":(" + row + "," + pitch + ",1)", as_in_src);
    expect_exact("rows", dst, dst + ":(-" + row + "," + pitch + ",1)@" + std::to_string(bytes * 8), as_in_src, 0, 2);
  }
  expect_exact("rows", "f32 (6,7,5,300)", "f32 (6,7,5,300):(300,0,1800,1)", as_in_src);
  expect_exact("rows", "f32 (6,7,500):(5000,600,1)", "f32 (6,7,500):(500,3000,1)", as_in_src);
  expect_exact("rows", "f16 (30,40,500)", "f32 (30,40,500):(500,15000,1)", as_in_src, 13, 2);
  expect_exact("rows", "f64 (9,8,3001)", "u8 (9,8,3001):(3001,27009,1)", as_in_src);
}

TEST(Rows, MovesRowsOfWholeLinesByThemselves) {
  for (const int bytes : {64, 128, 192, 256, 448, 512, 576}) {
    const std::string row = std::to_string(bytes);
    const std::string pitch = std::to_string(bytes + 10);
    const std::string dst = "u8 (9,35," + row + ")";
    for (const int threads : {1, 2}) {
      expect_exact("rows", dst, dst + ":(" + row + "," + std::to_string(bytes * 9) + ",1)", kStreamedNear, 0, threads);
      expect_exact("rows", dst, dst + ":(" + pitch + ",4000,1)@3", kStreamedNear, 0, threads);
    }
    expect_exact("rows", dst + ":(30000," + std::to_string(bytes + 64) + ",1)",
                 dst + ":(30000,-" + row + ",1)@" + std::to_string(bytes * 34), kStreamedNear);
    expect_exact("rows", dst, dst + ":(" + row + ",0,1)", kStreamedNear);
  }
}

TEST(Rows, MovesShortRowsThatStayInTheCachesOneByOne) {
  for (int bytes = 3; bytes <= 257; bytes += bytes < 70 ? 1 : 17) {
    if (bytes == 4 || bytes == 8 || bytes == 16) continue;  // a unit
    for (const int pitch : {bytes + 3, 4096}) {             // side by side, or a page each
      const std::string row = std::to_string(bytes), to = std::to_string(pitch);
      const std::string outer = std::to_string(19 * pitch + 5);
      const std::string shape = "u8 (3,19," + row + ")";
      expect_exact("rows/units", shape, shape + ":(" + outer + "," + to + ",1)", {{plan::ParamId::kLoop, 2}}, 3);
      expect_exact("rows/units", shape + ":(" + outer + "," + to + ",1)", shape, {{plan::ParamId::kLoop, 2}}, 3);
    }
  }
}

TEST(Rows, MovesRowsByWhicheverLoopTakesThem) {
  using plan::ParamId;
  for (const std::int64_t near : {0, 1})
    for (const std::int64_t loop : {0, 1, 3, 4}) {
      const test::Edits large = {{ParamId::kStream, 1}, {ParamId::kNear, near}, {ParamId::kLoop, loop}};
      for (const char* src : {"u8 (37,64):(70,1)", "u8 (37,128):(64,1)", "f32 (37,64):(-64,1)@2304"}) {
        const Layout l = parse_layout(src);
        expect_exact("rows/units", to_string(contiguous(l.element, {l.modes[0].extent, l.modes[1].extent})), src, large,
                     13, 2);
      }
      if (loop == 3) continue;  // neither converts nor picks, nor takes parts of lines
      expect_exact("rows/units", "f32 (37,40)", "u8 (37,40):(41,1)", large);
      expect_exact("rows/units", "u8 (37,61)", "u8 (37,61):(64,-1)@60", large);
    }
  for (const std::int64_t loop : {0, 2, 4})
    expect_exact("rows/units", "u8 (37,61)", "u8 (37,61):(64,1)", {{ParamId::kLoop, loop}});
}

TEST(Rows, PicksShortRowsABatchAtATime) {
  for (const char* dtype : {"u8", "f16", "f32", "f64", "c128", "b12"}) {
    const std::string d(dtype);
    for (const int units : {2, 5, 16, 17, 31, 40}) {
      const std::string n = std::to_string(units);
      const std::string shape = d + " (70," + n + ")";
      expect_exact("rows", shape, shape + ":(" + n + ",-1)@" + std::to_string(units - 1), kStreamedNear, 13, 2);
      expect_exact("rows", shape + ":(" + std::to_string(units + 1) + ",1)",
                   shape + ":(" + n + ",-1)@" + std::to_string(units - 1));
      expect_exact("rows", shape, shape + ":(200,3)", kStreamed);
      expect_exact("rows", shape, shape + ":(1,0)", kStreamedNear);
    }
  }
  expect_exact("rows", "f32 (70,21)", "u8 (70,21):(21,-1)@20", kStreamed);
}

TEST(Rows, CutsLongRowsWhereTheyAreAskedFor) {
  for (const char* src :
       {"u8 (3,9001):(9001,1)", "u8 (3,9001):(9001,-1)@9000", "u8 (3,9001):(0,64)", "u8 (3,9001):(0,65)",
        "u8 (3,9001):(1,0)", "u8 (3,9001):(-9001,1)@18002", "u8 (9001):(-1)@9000", "u8 (9001)"}) {
    const Layout l = parse_layout(src);
    std::vector<std::int64_t> shape;
    for (const Mode& m : l.modes) shape.push_back(m.extent);
    expect_exact("rows", to_string(contiguous(l.element, shape)), src, kStreamedNear, 13, 2);
  }
  expect_exact("run/pieces", "u8 (9001)", "u8 (9001)", kStreamedNear, 13, 2);
  expect_exact("run/pieces", "f32 (9001)", "u8 (9001)", kStreamedNear, 13, 2);
  expect_exact("run/pieces", "u8 (9001)", "f64 (9001)", kStreamedNear);
}

TEST(Rows, WritesEachByteByOneTask) {
  test::expect_disjoint_tasks("rows", "u8 (700001)", "u8 (700001):(-1)@700000");
  test::expect_disjoint_tasks("rows", "f32 (3,100001)", "f32 (3,100001):(100005,1)");
}

}  // namespace
}  // namespace restride
