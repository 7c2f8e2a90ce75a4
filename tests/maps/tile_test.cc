// Replays src/maps/tile.h for every block, thread and step.
#include "src/maps/tile.h"

#include <map>

#include "tests/maps/replay.h"

namespace restride {
namespace {

using maps_test::Copy;
using maps_test::Written;

/// Fills shared memory as the kernel's loads do and collects dst as its stores do.
void replay(const Copy& copy, const plan::Candidate& tile) {
  const maps::TileArgs a = plan::tile_args(copy.c, tile);
  const int unit = copy.c.dst_unit, units = 16 / unit;
  Written written(copy);
  for (std::uint32_t block = 0; block < a.tiles; ++block) {
    const maps::TilePlace place = maps::tile_place(a, block);
    const maps::Offsets batch = maps::offsets(a.batch, place.batch);
    const std::int64_t from = a.src_offset + batch.src + (place.d - a.halo) * a.src_pitch + std::int64_t{place.s} * unit;
    const std::int64_t low = from & 15;
    std::map<std::int64_t, std::int64_t> shared;  // byte of shared memory -> source byte
    const std::int64_t row_bytes = std::int64_t{std::min(a.tile_s, a.s_extent - place.s)} * unit;
    for (std::uint32_t item = 0; item < (a.halo + a.tile_d) * a.row_words.divisor; ++item) {
      const maps::TileLoad at = maps::tile_load(a, item);
      const int row_d = place.d - a.halo + at.row;
      if (row_d < 0 || row_d >= a.d_extent) continue;
      const std::int64_t row = from + at.row * a.src_pitch;
      const std::int64_t off = at.word * 16 - (row & 15);
      if (off >= row_bytes) continue;
      const std::int64_t to = low + maps::tile_row_base(a, at.row, units) + off;
      ASSERT_EQ(to % 16, 0) << "an aligned word must land on an aligned word";
      ASSERT_LE(to + 16, maps::tile_shared_bytes(a, units));
      for (int b = 0; b < 16; ++b) shared[to + b] = row + off + b;
    }
    for (int item = 0; item < a.tile_d / units * a.tile_s; ++item) {
      const maps::TileStore at = maps::tile_store(item, a.tile_d / units / 8, a.tile_s);
      if (place.s + at.s >= a.s_extent) continue;
      const std::int64_t row = a.dst_offset + batch.dst + (place.s + at.s) * a.dst_pitch;
      const int skew = static_cast<int>(row & a.skew_mask) / unit;
      for (int j = 0; j < units; ++j) {
        const int local = at.word * units - skew + a.halo + j;
        const int d = place.d + local - a.halo;
        if (d < 0 || d >= a.d_extent) continue;
        const std::int64_t byte = low + maps::tile_row_base(a, local, units) + at.s * unit;
        ASSERT_TRUE(shared.count(byte)) << "reads shared memory that no load filled";
        written.unit(row + std::int64_t{d} * unit, shared[byte], unit);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
  written.expect_complete();
}

void replay(const std::string& dst, const std::string& src, std::int64_t align = 128) {
  SCOPED_TRACE(dst + " from " + src);
  const Copy copy(dst, src, align);
  const plan::Candidate tile = plan::bid_tile(copy.c, {});
  ASSERT_TRUE(tile.applies) << tile.reason;
  replay(copy, tile);
}

TEST(TileMap, MovesEveryElementOnceWhenRowsAreAligned) {
  replay("f32 (192,256)", "f32 (192,256):(1,192)");
  replay("f16 (160,128)", "f16 (160,128):(1,160)");
  replay("u8 (144,272)", "u8 (144,272):(1,144)");
  replay("f64 (96,64)", "f64 (96,64):(1,96)");
  replay("c128 (40,36)", "c128 (40,36):(1,40)");
}

TEST(TileMap, MovesEveryElementOnceWhenExtentsAreOdd) {
  replay("f32 (131,77)", "f32 (131,77):(1,131)");
  replay("f16 (131,141)", "f16 (131,141):(1,131)");
  replay("u8 (257,151)", "u8 (257,151):(1,257)");
  replay("f64 (45,67)", "f64 (45,67):(1,45)");
}

TEST(TileMap, FollowsPitchesAndBatchesAndPointersOffTheirWords) {
  replay("f32 (3,70,90)", "f32 (3,70,90):(6400,1,70)");
  replay("u8 (2,100,130)", "u8 (2,100,130):(20000,1,151)", 1);
  replay("f16 (100,130):(140,1)@3", "f16 (100,130):(1,103)@5", 2);
}

TEST(TileMap, WalksBackwardsOnEitherMode) {
  replay("f32 (64,96)", "f32 (64,96):(-1,64)@63");
  replay("f32 (65,96)", "f32 (65,96):(1,-65)@6175");
}

TEST(TileMap, CollectsWithoutBankConflicts) {
  for (const char* dtype : {"u8", "f16", "f32"})
    for (const int rows : {256, 257}) {
      const std::string n = std::to_string(rows);
      const Copy copy(std::string(dtype) + " (" + n + "," + n + ")", std::string(dtype) + " (" + n + "," + n + "):(1," + n + ")");
      const maps::TileArgs a = plan::tile_args(copy.c, plan::bid_tile(copy.c, {}));
      const int unit = copy.c.dst_unit, units = 16 / unit;
      for (int j = 0; j < units; ++j) {
        std::vector<std::uint32_t> addresses;
        std::vector<std::int64_t> stores;
        for (int lane = 0; lane < 32; ++lane) {
          const maps::TileStore at = maps::tile_store(lane, a.tile_d / units / 8, a.tile_s);
          addresses.push_back(static_cast<std::uint32_t>(maps::tile_row_base(a, at.word * units + a.halo + j, units) + at.s * unit));
          stores.push_back(at.s * 100000 * 32 + at.word * 16);
        }
        EXPECT_EQ(maps_test::bank_cycles(addresses), 1) << dtype << " " << rows << " unit " << j;
        EXPECT_EQ(maps_test::sectors_touched(stores, 16), 16) << "a warp writes 512 bytes as whole sectors";
      }
    }
}

}  // namespace
}  // namespace restride
