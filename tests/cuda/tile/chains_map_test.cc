// Replays src/cuda/tile/chains_map.h, with the tile of src/cuda/tile/map.h that it is a part of, for every block,
// thread and step.
#include "src/cuda/tile/chains_map.h"

#include <algorithm>
#include <map>

#include "src/cuda/tile/chain_pairs.h"
#include "tests/cuda/replay.h"

namespace restride {
namespace {

using cuda_test::Copy;
using cuda_test::Written;

cuda::CudaMachine tiny() {
  cuda::CudaMachine machine;
  machine.sm_count = 0;  // nothing is small for it
  return machine;
}

/// Threads of the kernel's instance for a tile.
int threads_of(int unit, const cuda::TileArgs& a) {
#define RESTRIDE_X(bytes, d, s, threads, blocks) \
  if (unit == bytes && a.tile_d == d && a.tile_s == s) return threads;
  RESTRIDE_CHAIN_SHAPES(RESTRIDE_X)
#undef RESTRIDE_X
  ADD_FAILURE() << "no instance of " << a.tile_d << " x " << a.tile_s;
  return 1;
}

/// Moves all units as the kernel of this bid does: by the entries of the blocks' tables.
void replay_bid(const Copy& copy, const plan::Candidate& bid) {
  ASSERT_TRUE(bid.applies) << bid.reason;
  const auto args = cuda_test::args_of<cuda::ChainArgs>(copy.c, bid);
  const cuda::TileArgs& a = args.tile;
  const int unit = copy.c.dst_unit, units = 16 / unit, across = unit < 4 ? 4 / unit : 1;
  const int groups = a.tile_d / units, threads = threads_of(unit, a);
  const int steps = groups * a.tile_s / across / threads, log = cuda::tile_store_log(groups, groups);
  const int dst_words = a.tile_d + a.tile_s, src_words = dst_words + groups;
  EXPECT_EQ(args.breaks, args.dst_words.rank > 1 || args.src_words.rank > 1);
  Written written(copy);
  for (std::uint32_t tile = 0; tile < a.tiles; ++tile) {
    const cuda::TilePlace place = cuda::tile_place(a, tile);
    const cuda::Offsets batch = cuda::offsets(a.batch, place.batch);
    const auto entry = [&](int i) { return cuda::chain_entry(args, place, a.tile_d, a.tile_s, units, i); };
    if (!args.breaks) {  // the kernel leaves these out of the table
      ASSERT_EQ(entry(dst_words + 1), place.d / units + 1U);
      ASSERT_EQ(entry(src_words + 1), place.s / units + 1U);
    }
    std::map<std::int64_t, std::int64_t> stage;  // byte of shared memory -> source byte
    for (int row = 0; row < a.tile_d && place.d + row < a.d_extent; ++row)
      for (int word = 0; word < a.tile_s / units; ++word) {
        if (cuda::tile_units_left(a, place, word * units) <= 0) continue;
        const std::int64_t from =
            a.src_offset + batch.src + cuda::bytes_of(entry(src_words + word)) + cuda::bytes_of(entry(row));
        ASSERT_EQ(from % 16, 0) << "rows of src lie on words";
        for (int byte = 0; byte < 16; ++byte)
          stage[cuda::chain_stage_byte(row, word * 16 + byte, units, groups)] = from + byte;
      }
    for (int step = 0; step < steps; ++step)
      for (int thread = 0; thread < threads; ++thread) {
        const cuda::TileStore at = cuda::tile_line_store(step, thread, threads, log, a.tile_s / across);
        for (int i = 0; i < across; ++i) {
          const int s = at.s * across + i;
          if (place.s + s >= a.s_extent || place.d + at.word * units >= a.d_extent) continue;
          const std::int64_t to = a.dst_offset + batch.dst + cuda::bytes_of(entry(dst_words + at.word)) +
                                  cuda::bytes_of(entry(a.tile_d + s));
          ASSERT_EQ(to % 16, 0) << "rows of dst lie on words";
          for (int j = 0; j < units; ++j) {
            const std::int64_t byte = cuda::chain_stage_byte(at.word * units + j, s * unit, units, groups);
            ASSERT_TRUE(stage.count(byte)) << "reads shared memory that no load filled";
            written.unit(to + j * unit, stage[byte], unit);
            if (testing::Test::HasFatalFailure()) return;
          }
        }
      }
  }
  written.expect_complete();
}

/// True where rows of a chain of these modes are words, on words, on their side.
bool on_words(const layout::Canonical& c, std::uint64_t modes, std::int64_t layout::CopyMode::*stride) {
  const cuda::chains::Link link = cuda::chains::link_of(c, modes, stride, c.dst_unit);
  std::int64_t bits = link.run * c.dst_unit;
  const auto end_of_run = link.modes.begin() + static_cast<std::ptrdiff_t>(link.dense);
  for (std::size_t m = 0; m < c.modes.size(); ++m)
    if (std::find(link.modes.begin(), end_of_run, m) == end_of_run) bits |= c.modes[m].*stride;
  return bits % cuda::kWordBytes == 0;
}

/// By the pair that the planner chooses, and by all that share out all modes.
void replay(const std::string& dst, const std::string& src) {
  SCOPED_TRACE(dst + " from " + src);
  const Copy copy(dst, src, 128);
  plan::Candidate bid = cuda_test::bid_of("tile/chains", copy.c, tiny());
  replay_bid(copy, bid);
  const std::uint64_t all = (std::uint64_t{1} << copy.c.modes.size()) - 1;
  int shared = 0;
  for (std::uint64_t of_src = 1; of_src < all; ++of_src) {
    const std::uint64_t of_dst = all & ~of_src;
    if (!on_words(copy.c, of_dst, &layout::CopyMode::dst_stride) ||
        !on_words(copy.c, of_src, &layout::CopyMode::src_stride))
      continue;
    SCOPED_TRACE(of_src);
    for (plan::Param& p : bid.params) {
      if (p.id == plan::ParamId::kDstSet) p.value = static_cast<std::int64_t>(of_dst);
      if (p.id == plan::ParamId::kSrcSet) p.value = static_cast<std::int64_t>(of_src);
    }
    replay_bid(copy, bid);
    ++shared;
  }
  EXPECT_GT(shared, 0);
}

TEST(ChainMap, MovesReversalsOfManyModesOnce) {
  replay("u8 (8,6,12,14,16)", "u8 (8,6,12,14,16):(1,8,48,576,8064)");
  replay("f16 (10,12,6,20)", "f16 (10,12,6,20):(1,10,120,720)");
  replay("f32 (6,8,10,12)", "f32 (6,8,10,12):(1,6,48,480)");
  replay("f64 (6,8,5,4)", "f64 (6,8,5,4):(1,6,48,240)");
  replay("c128 (3,5,7,4)", "c128 (3,5,7,4):(1,3,15,105)");
}

TEST(ChainMap, FollowsOuterModesAndRowsOfSrcThatRunBackwards) {
  replay("f32 (3,8,12,4,20)", "f32 (3,8,12,4,20):(7680,1,8,1920,96)");
  replay("f32 (8,12,4,20)", "f32 (8,12,4,20):(1,8,-1920,96)@5760");
}

TEST(ChainMap, TilesGoOnWhereModesEnd) {
  // Every mode lies in one of both chains, and neither is dense: 12 x 8 x 20 of dst, broken off after 12.
  replay("f32 (6,20,8,5,12)", "f32 (6,20,8,5,12):(1,6,14400,120,1200)");
  replay("u8 (3,16,12,64)", "u8 (3,16,12,64):(12288,1,16,192)");
  replay("f64 (6,8,4,14)", "f64 (6,8,4,14):(1,84,672,6)");
  replay("c128 (5,3,4,7)", "c128 (5,3,4,7):(21,1,105,3)");
  replay("f32 (64,96)", "f32 (64,96):(1,64)");
  // A source with gaps, and a mode that runs backwards.
  replay("f32 (5,40,12)", "f32 (5,40,12):(600,1,48)");
  replay("f32 (5,40,12)", "f32 (5,40,12):(-600,1,48)@9600");
}

TEST(ChainMap, RefusesRowsOffWordsAndOneMode) {
  const auto reason = [](const char* dst, const char* src) {
    return cuda_test::bid_of("tile/chains", Copy(dst, src, 128).c, tiny()).reason;
  };
  EXPECT_EQ(reason("f32 (64)", "f32 (64)"), "chains of modes need two modes");
  EXPECT_EQ(reason("u8 (7,5,9)", "u8 (7,5,9):(1,7,35)"), "no chains of modes whose rows lie on words");
}

TEST(ChainPlan, ShortModesAreGatheredToWholeLines) {
  const plan::Decision decision =
      cuda::plan_cuda(cuda_test::canonical("u8 (26,12,22,20,16,14,18)",
                                           "u8 (26,12,22,20,16,14,18):(1,26,312,6864,137280,2196480,30750720)"),
                      {});
  EXPECT_EQ(decision.chosen.kernel.family, plan::Family::kTile);
  EXPECT_EQ(decision.chosen.kernel.text, "tile/chains");
  EXPECT_EQ(decision.chosen.get(plan::ParamId::kDstSet), 7) << "18 x 14 x 16 bytes start on 64";
}

TEST(ChainPlan, TheModeThatGoesOnWhereRowsOfDstEndIsNotInTheChainOfSrc) {
  // Both chains could go on with the mode of 59.
  const Copy copy("f32 (2320,59,384)", "f32 (2320,59,384):(1,2320,136880)", 128);
  EXPECT_EQ(cuda_test::bid_of("tile/chains", copy.c).get(plan::ParamId::kSrcSet), 4);
}

TEST(ChainPlan, AllModesAreSharedOutWhereDenseChainsFillNoTile) {
  // Rows of 16 bytes on both sides; with what follows them elsewhere, 128 and more.
  const Copy copy("f32 (14,16,8,12,4)", "f32 (14,16,8,12,4):(6144,384,1,32,8)", 128);
  const plan::Candidate bid = cuda_test::bid_of("tile/chains", copy.c, tiny());
  EXPECT_EQ(bid.get(plan::ParamId::kDstSet) | bid.get(plan::ParamId::kSrcSet), (1 << copy.c.modes.size()) - 1);
  EXPECT_TRUE(cuda_test::args_of<cuda::ChainArgs>(copy.c, bid).breaks);
}

TEST(ChainPlan, ChainsGrowUntilTheyFillTheirTiles) {
  const Copy copy("f32 (352,28,28,4,48)", "f32 (352,28,28,4,48):(1,352,9856,275968,1103872)", 128);
  const plan::Candidate bid = cuda_test::bid_of("tile/chains", copy.c);
  EXPECT_EQ(bid.get(plan::ParamId::kTileRows), 64);
  EXPECT_EQ(bid.get(plan::ParamId::kTileCols), 64);
  const auto a = cuda_test::args_of<cuda::ChainArgs>(copy.c, bid);
  EXPECT_EQ(a.tile.d_extent % 64, 0);
  EXPECT_GE(a.tile.s_extent, 352);
}

TEST(ChainMap, LinesAreReadWithoutBankConflictsOrTwoWaysWhereAWarpWrites256BytesOfARow) {
  struct Instance {
    int unit, d, s, threads;
  };
  for (const Instance& k : {
#define RESTRIDE_X(unit, d, s, threads, blocks) Instance{unit, d, s, threads},
           RESTRIDE_CHAIN_SHAPES(RESTRIDE_X)
#undef RESTRIDE_X
       }) {
    const int units = 16 / k.unit, across = k.unit < 4 ? 4 / k.unit : 1, groups = k.d / units;
    const int bytes = std::max(k.unit, 4), log = cuda::tile_store_log(groups, groups);
    const int most = log == 4 && k.unit < 16 ? 2 : 1;
    for (int first = 0; first < 32; first += 32 / (bytes / 4))  // 8 and 16 bytes a lane take two and four cycles
      for (int j = 0; j < units; ++j) {
        std::vector<std::uint32_t> addresses;
        for (int lane = first; lane < first + 32 / (bytes / 4); ++lane) {
          const cuda::TileStore at = cuda::tile_line_store(0, lane, k.threads, log, k.s / across);
          const auto byte = static_cast<std::uint32_t>(
              cuda::chain_stage_byte(at.word * units + j, at.s * across * k.unit, units, groups));
          for (int b = 0; b < bytes; b += 4) addresses.push_back(byte + static_cast<std::uint32_t>(b));
        }
        EXPECT_EQ(cuda_test::bank_cycles(addresses), most)
            << k.unit << " bytes, " << k.d << " x " << k.s << ", row " << j;
      }
  }
}

}  // namespace
}  // namespace restride
