#include "src/cpu/rows/records.h"

#include <sstream>

#include "tests/cpu/family.h"

namespace restride {
namespace {

using test::expect_exact;
using test::kStreamed;

/// Rows of `pixels` records of `bytes`, `cell` bytes apart in src (downwards if negative), with a pitch of 7 more.
void expect_rows(std::int64_t rows, std::int64_t pixels, std::int64_t bytes, std::int64_t cell, bool reversed) {
  const std::int64_t pitch = pixels * std::abs(cell) + 7;
  std::ostringstream dst;
  dst << "u8 (" << rows << ',' << pixels << ',' << bytes << ')';
  std::ostringstream src;
  src << dst.str() << ":(" << pitch << ',' << cell << (reversed ? ",-1)@" : ",1)@")
      << (reversed ? bytes - 1 : 0) + (cell < 0 ? (pixels - 1) * -cell : 0);
  expect_exact("rows", dst.str(), src.str());
  expect_exact("rows", dst.str(), src.str(), kStreamed);
}

TEST(RowsRecords, LeaveOutChannels) {
  for (const std::int64_t bytes : {1, 2, 3, 4, 7, 8, 15, 16})
    for (const std::int64_t gap : {1, 2, 5, 48}) expect_rows(5, 333, bytes, bytes + gap, false);
}

TEST(RowsRecords, TurnPixelsRound) {
  for (const std::int64_t bytes : {2, 3, 4, 5, 9, 16})
    for (const std::int64_t gap : {0, 1, 11}) expect_rows(5, 333, bytes, bytes + gap, true);
}

TEST(RowsRecords, MirrorRows) {
  for (const std::int64_t bytes : {1, 3, 5, 12, 16})
    for (const std::int64_t gap : {0, 1, 11})
      if (bytes + gap > 1)
        for (const bool reversed : {false, true}) expect_rows(5, 333, bytes, -bytes - gap, reversed && bytes > 1);
}

TEST(RowsRecords, ReadUpwardsWhatIsMirrored) {
  const test::Edits upwards = {{plan::ParamId::kStream, 1}, {plan::ParamId::kNear, 1}, {plan::ParamId::kOrder, 2}};
  for (const char* src :
       {"u8 (3,1920,3):(5760,-3,1)@5757", "u8 (3,1921,3):(-5763,-3,-1)@17288", "u8 (3,1921,4):(7684,-4,1)@7680"}) {
    const Layout l = parse_layout(src);
    const std::string shape = to_string(contiguous(l.element, {3, l.modes[1].extent, l.modes[2].extent}));
    expect_exact("rows", shape, src, upwards);
    expect_exact("rows", shape, src, upwards, 0, 3);
  }
  expect_exact("rows", "u8 (3,1920,3):(7680,4,1)", "u8 (3,1920,3):(5760,-3,1)@5757", upwards);
}

TEST(RowsRecords, LeaveGapsOfTheDestinationAlone) {
  for (const std::int64_t bytes : {1, 2, 3, 4, 6, 8, 13, 16})
    for (const std::int64_t gap : {1, 3, 48}) {
      std::ostringstream shape;
      shape << "u8 (5,333," << bytes << ')';
      std::ostringstream dst;
      dst << shape.str() << ":(" << 333 * (bytes + gap) + 5 << ',' << bytes + gap << ",1)";
      for (const char* src : {"", "reversed", "gaps"}) {
        std::ostringstream from;
        from << shape.str();
        if (src[0] == 'r') from << ":(" << 333 * bytes << ',' << bytes << ",-1)@" << bytes - 1;
        if (src[0] == 'g') from << ":(" << 340 * (bytes + 2) << ',' << -bytes - 2 << ",1)@" << 332 * (bytes + 2);
        expect_exact("rows", dst.str(), from.str());
        expect_exact("rows", dst.str(), from.str(), kStreamed, 13, 3);
      }
    }
  expect_exact("rows", "f32 (5,700):(1400,2)", "f32 (5,700)", kStreamed);
  expect_exact("rows", "c128 (5,70):(140,2)", "c128 (5,70):(210,3)");
}

TEST(RowsRecords, MayBeShorterThanAVector) {
  for (std::int64_t pixels = 2; pixels < 70; pixels += 3)
    for (const std::int64_t cell : {3, 4, 23, -3, -4}) expect_rows(9, pixels, 3, cell, pixels % 2 == 0);
}

TEST(RowsRecords, KeepWiderUnitsWhole) {
  for (const char* dtype : {"f16", "f32", "f64", "c128"}) {
    const std::string d(dtype);
    expect_exact("rows", d + " (5,700)", d + " (5,700):(1400,2)", kStreamed);
    expect_exact("rows", d + " (5,700)", d + " (5,700):(1400,-2)@1398", kStreamed);
  }
  expect_exact("rows/records", "f16 (5,700,3)", "f16 (5,700,3):(2800,4,-1)@2", kStreamed);
  expect_exact("rows/records", "f32 (5,700,3)", "f32 (5,700,3):(2100,-3,1)@2097", kStreamed);
}

TEST(RowsRecords, AreSharedByThreadsInPieces) {
  for (const std::int64_t ahead : {0, 1}) {
    const test::Edits edits = {{plan::ParamId::kStream, 1}, {plan::ParamId::kAhead, ahead}};
    expect_exact("rows/records", "u8 (100000,3)", "u8 (100000,3):(4,-1)@2", edits, 13, 3);
    expect_exact("rows/records", "u8 (10000,3):(4,1)", "u8 (10000,3):(3,-1)@2", edits);
  }
  for (const test::Edits& edits : {test::Edits{}, test::Edits(kStreamed)}) {
    expect_exact("rows/records", "u8 (100000,3)", "u8 (100000,3):(-4,1)@399996", edits, 13, 3);
    expect_exact("rows/records", "u8 (100000,3)", "u8 (100000,3):(-3,1)@299997", edits, 13, 3);
    expect_exact("rows/records", "u8 (3,40001,3)", "u8 (3,40001,3):(-120005,-3,1)@360010", edits, 13, 3);
  }
}

}  // namespace
}  // namespace restride
