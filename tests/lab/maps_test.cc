// Every rung's map, replayed on the CPU: each element once, in bounds, to the right place, on any size.
#include <gtest/gtest.h>

#include <vector>

#include "lab/maps/batched.h"
#include "lab/maps/bulk.h"
#include "lab/maps/copy.h"
#include "lab/maps/direct.h"
#include "lab/maps/strided.h"
#include "lab/maps/tile.h"
#include "lab/maps/vector.h"
#include "lab/replay.h"

namespace restride::lab {
namespace {

const Matrix kAnySize[] = {{1, 1},   {1, 77},   {77, 1},   {31, 33},   {32, 32},
                           {33, 31}, {64, 128}, {65, 129}, {130, 190}, {257, 100}};
const Matrix kWideSizes[] = {{16, 16}, {64, 64}, {48, 16}, {16, 144}, {80, 112}, {128, 256}, {272, 208}};

// dst[b][col][row] must have received src[b][row][col].
template <class Map>
void expect_transposes(const Map& map, const Matrix& m) {
  SCOPED_TRACE(testing::Message() << "rows " << m.rows << " cols " << m.cols << " batch " << m.batch << " bytes "
                                  << Map::kElementBytes);
  std::vector<std::int64_t> got;
  ASSERT_NO_THROW(got = replay(map, m.elements() * Map::kElementBytes, m.elements()));
  std::int64_t wrong = 0, at = 0;
  for (std::int64_t b = 0; b < m.batch; ++b)
    for (std::int64_t col = 0; col < m.cols; ++col)
      for (std::int64_t row = 0; row < m.rows; ++row)
        wrong += got[at++] != ((b * m.rows + row) * m.cols + col) * Map::kElementBytes;
  EXPECT_EQ(wrong, 0);
}

template <class Map>
void expect_copies(const Map& map, const Matrix& m) {
  SCOPED_TRACE(testing::Message() << "rows " << m.rows << " cols " << m.cols << " bytes " << Map::kElementBytes);
  std::vector<std::int64_t> got;
  ASSERT_NO_THROW(got = replay(map, m.elements() * Map::kElementBytes, m.elements()));
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < m.elements(); ++i) wrong += got[i] != i * Map::kElementBytes;
  EXPECT_EQ(wrong, 0);
}

template <template <int> class Map>
void expect_transposes_any_size() {
  for (const Matrix& m : kAnySize) {
    expect_transposes(Map<1>(m), m);
    expect_transposes(Map<2>(m), m);
    expect_transposes(Map<4>(m), m);
  }
}

template <template <int> class Map>
void expect_copies_any_size() {
  for (const Matrix& m : kAnySize) {
    expect_copies(Map<1>(m), m);
    expect_copies(Map<2>(m), m);
    expect_copies(Map<4>(m), m);
  }
}

template <int kBytes>
using Strided = CopyStrided<kBytes>;

TEST(CopyMaps, MoveEachElementOnceOnAnySize) {
  expect_copies_any_size<CopyElement>();
  expect_copies_any_size<CopyTile>();
  expect_copies_any_size<CopyThroughStage>();
}

TEST(DirectMaps, TransposeAnySize) {
  expect_transposes_any_size<Naive>();
  expect_transposes_any_size<BlockMap>();
}

TEST(TileMaps, TransposeAnySizeWithEveryStage) {
  expect_transposes_any_size<Shared>();
  expect_transposes_any_size<Padded>();
  expect_transposes_any_size<Swizzle>();
}

TEST(TileMaps, DiagonalOrderVisitsEveryTileOfAGridThatIsNotSquare) {
  expect_transposes_any_size<Diagonal>();
  expect_transposes(Diagonal<4>({96, 320}), {96, 320});
  expect_transposes(Diagonal<4>({320, 96}), {320, 96});
}

TEST(TileMaps, DestinationOrderStaysInOneColumnOfTilesUntilItsEnd) {
  expect_transposes_any_size<AlongDst>();
  const TileGrid<32, 32> grid(Matrix{96, 64});
  EXPECT_EQ(DestinationOrder::corner(grid, 2).row, 64);
  EXPECT_EQ(DestinationOrder::corner(grid, 2).col, 0);
  EXPECT_EQ(DestinationOrder::corner(grid, 3).row, 0);
  EXPECT_EQ(DestinationOrder::corner(grid, 3).col, 32);
}

TEST(VectorMap, TransposesEverySizeOfAlignedRows) {
  for (const Matrix& m : kWideSizes) {
    expect_transposes(Vector<1>(m), m);
    expect_transposes(Vector<2>(m), m);
    expect_transposes(Vector<4>(m), m);
  }
  expect_transposes(Vector<4>({4, 4}), {4, 4});
  expect_transposes(Vector<2>({8, 264}), {8, 264});
}

TEST(VectorMap, FitsOnlyRowsOfWholeVectorsOnBothSides) {
  EXPECT_TRUE(Vector<4>::fits({4, 8}));
  EXPECT_FALSE(Vector<4>::fits({4, 9}));
  EXPECT_FALSE(Vector<4>::fits({5, 8}));
  EXPECT_FALSE(Vector<1>::fits({16, 8}));
}

TEST(BulkMap, TransposesEverySizeOfAlignedRows) {
  for (const Matrix& m : kWideSizes) {
    expect_transposes(Bulk<1>(m), m);
    expect_transposes(Bulk<2>(m), m);
    expect_transposes(Bulk<4>(m), m);
  }
}

TEST(StridedMap, TransposesAnySize) { expect_transposes_any_size<Strided>(); }

TEST(StridedMap, CastsIntoHalfTheBytes) {
  const Matrix m{33, 70};
  const std::vector<std::int64_t> got = replay(CopyStrided<4, 2>(m), m.elements() * 4, m.elements());
  for (int col = 0; col < m.cols; ++col)
    for (int row = 0; row < m.rows; ++row) ASSERT_EQ(got[col * m.rows + row], (row * m.cols + col) * 4);
}

// The seed's example: sizes 128, 16, 13 with byte strides 4, 6656, 512 into a contiguous 2048, 13.
TEST(StridedMap, GathersTheSeedsThreeModesIntoTwo) {
  const StridedSide src{{128, 16, 13, 1}, {4, 6656, 512, 0}};
  const StridedSide dst{{2048, 13, 1, 1}, {4, 8192, 0, 0}};
  const std::vector<std::int64_t> got = replay(CopyStrided<4>(src, dst), 128 * 16 * 13 * 4, 128 * 16 * 13);
  std::int64_t at = 0;
  for (int k = 0; k < 13; ++k)
    for (int j = 0; j < 16; ++j)
      for (int i = 0; i < 128; ++i) ASSERT_EQ(got[at++], i * 4 + j * 6656 + k * 512);
}

TEST(BatchedMap, TransposesBatchesThatDoNotFillTheirLastBlock) {
  for (const int batch : {1, 7, 8, 9, 17})
    for (const Matrix& m : {Matrix{1, 1, batch}, Matrix{33, 65, batch}, Matrix{32, 64, batch}, Matrix{6, 6, batch}}) {
      expect_transposes(TransposeBatched<1>(m), m);
      expect_transposes(TransposeBatched<2>(m), m);
      expect_transposes(TransposeBatched<4>(m), m);
    }
}

// A map with a fault, so that the replay is seen to find it: the tile's last column goes nowhere and the
// one before it twice.
template <int kBytes>
struct FaultyPut : Padded<kBytes> {
  using Padded<kBytes>::Padded;
  constexpr int put(int thread, int step) const {
    return Padded<kBytes>::put(thread % 32 == 31 ? thread - 1 : thread, step);
  }
};

TEST(Replay, FindsAnElementThatNobodyLoaded) {
  const Matrix m{32, 32};
  EXPECT_THROW(replay(FaultyPut<4>(m), m.elements() * 4, m.elements()), std::runtime_error);
}

TEST(Replay, FindsALoadOutOfBounds) {
  const Matrix m{33, 32};
  EXPECT_THROW(replay(Padded<4>(m), m.elements() * 4 - 4, m.elements()), std::runtime_error);
}

TEST(Replay, FindsAnElementWrittenTwice) {
  const StridedSide src{{8, 4, 1, 1}, {4, 32, 0, 0}}, dst{{8, 4, 1, 1}, {4, 28, 0, 0}};
  EXPECT_THROW(replay(CopyStrided<4>(src, dst), 128, 32), std::runtime_error);
}

}  // namespace
}  // namespace restride::lab
