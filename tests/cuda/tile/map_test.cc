// Replays src/cuda/tile/map.h for every block, thread and step.
#include "src/cuda/tile/map.h"

#include <map>

#include "tests/cuda/replay.h"

namespace restride {
namespace {

using cuda_test::Copy;
using cuda_test::Written;

/// Fills shared memory as the kernel's loads do and collects dst as its stores do.
void replay(const Copy& copy, const plan::Candidate& tile) {
  const auto a = cuda_test::args_of<cuda::TileArgs>(copy.c, tile);
  const int unit = copy.c.dst_unit, units = 16 / unit;
  Written written(copy);
  for (std::uint32_t block = 0; block < a.tiles; ++block) {
    const cuda::TilePlace place = cuda::tile_place(a, block);
    const cuda::Offsets batch = cuda::offsets(a.batch, place.batch);
    const std::int64_t from =
        a.src_offset + batch.src + (place.d - a.halo) * a.src_pitch + std::int64_t{place.s} * unit;
    const std::int64_t low = from & 15;
    std::map<std::int64_t, std::int64_t> shared;  // byte of shared memory -> source byte
    const std::int64_t row_bytes = std::int64_t{std::min(a.tile_s, a.s_extent - place.s)} * unit;
    for (std::uint32_t item = 0; item < (a.halo + a.tile_d) * a.row_words.divisor; ++item) {
      const cuda::TileLoad at = cuda::tile_load(a, item);
      const int row_d = place.d - a.halo + at.row;
      if (row_d < 0 || row_d >= a.d_extent) continue;
      const std::int64_t row = from + at.row * a.src_pitch;
      const std::int64_t off = at.word * 16 - (row & 15);
      if (off >= row_bytes) continue;
      const std::int64_t to = low + cuda::tile_row_base(a, at.row, units) + off;
      ASSERT_EQ(to % 16, 0) << "an aligned word must land on an aligned word";
      ASSERT_LE(to + 16, cuda::tile_shared_bytes(a, units));
      for (int b = 0; b < 16; ++b) shared[to + b] = row + off + b;
    }
    for (int item = 0; item < a.tile_d / units * a.tile_s; ++item) {
      const cuda::TileStore at = cuda::tile_store(item, a.tile_d / units / 8, a.tile_s);
      if (place.s + at.s >= a.s_extent) continue;
      const std::int64_t row = a.dst_offset + batch.dst + (place.s + at.s) * a.dst_pitch;
      const int skew = static_cast<int>(row & a.skew_mask) / unit;
      for (int j = 0; j < units; ++j) {
        const int local = at.word * units - skew + a.halo + j;
        const int d = place.d + local - a.halo;
        if (d < 0 || d >= a.d_extent) continue;
        const std::int64_t byte = low + cuda::tile_row_base(a, local, units) + at.s * unit;
        ASSERT_TRUE(shared.count(byte)) << "reads shared memory that no load filled";
        written.unit(row + std::int64_t{d} * unit, shared[byte], unit);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
  written.expect_complete();
}

/// The tile as lines of shared memory: byte of the stage -> source byte.
using Stage = std::map<std::int64_t, std::int64_t>;

/// What tile_aligned's loads put there.
Stage staged_by_loads(const Copy& copy, const cuda::TileArgs& a, const cuda::TilePlace& place) {
  const int src_unit = copy.c.src_unit, units = 16 / copy.c.dst_unit, words = a.tile_s * src_unit / 16;
  const std::int64_t from =
      a.src_offset + cuda::offsets(a.batch, place.batch).src + place.d * a.src_pitch + std::int64_t{place.s} * src_unit;
  Stage stage;
  for (int item = 0; item < a.tile_d * words; ++item) {
    const int row = item / words, byte = item % words * 16;
    if (place.d + row >= a.d_extent) continue;
    for (int b = 0; b < 16; ++b)
      if (byte + b < (a.s_extent - place.s) * src_unit)
        stage[cuda::tile_stage_byte(row, byte, units, a.tile_d) + b] = from + row * a.src_pitch + byte + b;
  }
  return stage;
}

/// What the copy engine puts there: the boxes of the tensor, innermost mode first, with its own 128-byte swizzle.
Stage staged_by_bulk_copies(const Copy& copy, const cuda::TileArgs& a, const cuda::TilePlace& place) {
  const int src_unit = copy.c.src_unit, units = 16 / copy.c.dst_unit, groups = a.tile_d / units;
  const cuda::TileTensor tensor = cuda::tile_tensor(a, src_unit, units);
  Stage stage;
  for (int box = 0; box < a.tile_s * src_unit / cuda::kLineBytes; ++box) {
    const cuda::TileBox corner = cuda::tile_box(a, place, box, src_unit, units);
    for (int row = 0; row < units; ++row)
      for (int group = 0; group < groups; ++group)
        for (int byte = 0; byte < cuda::kLineBytes; ++byte) {
          const std::int64_t at[5] = {corner.at[0] + byte, corner.at[1] + group, corner.at[2] + row, corner.at[3],
                                      corner.at[4]};
          std::int64_t from = a.src_offset;
          bool inside = true;
          for (int m = 0; m < 5; ++m) {
            inside = inside && at[m] < tensor.extent[m];
            from += at[m] * tensor.stride_bytes[m];
          }
          const std::int64_t linear = (box * units * groups + row * groups + group) * cuda::kLineBytes + byte;
          if (inside) stage[linear ^ (linear / 128 % 8 * 16)] = from;
        }
  }
  return stage;
}

/// Collects dst from the lines as the kernels for rows on words do.
void replay_lines(const Copy& copy, const cuda::TileArgs& a,
                  Stage (*fill)(const Copy&, const cuda::TileArgs&, const cuda::TilePlace&)) {
  const int unit = copy.c.dst_unit, units = 16 / unit, across = unit < 4 ? 4 / unit : 1;
  const int steps = a.tile_d / units * a.tile_s / across / cuda::kTileThreads;
  Written written(copy);
  std::vector<int> moved(a.tiles, 0);
  for (std::uint32_t block = 0; block < a.blocks; ++block)
    for (std::uint32_t number = block; number < a.tiles; number += a.blocks) {
      ++moved[number];
      const cuda::TilePlace place = cuda::tile_place(a, number);
      Stage stage = fill(copy, a, place);
      const std::int64_t to = a.dst_offset + cuda::offsets(a.batch, place.batch).dst + place.s * a.dst_pitch;
      const int log = cuda::tile_store_log(a.tile_d / units, (a.d_extent - place.d + units - 1) / units);
      for (int step = 0; step < steps; ++step)
        for (int thread = 0; thread < cuda::kTileThreads; ++thread) {
          const cuda::TileStore at = cuda::tile_line_store(step, thread, cuda::kTileThreads, log, a.tile_s / across);
          for (int i = 0; i < across; ++i)
            for (int j = 0; j < units; ++j) {
              const int s = at.s * across + i, d = place.d + at.word * units + j;
              if (place.s + s >= a.s_extent || d >= a.d_extent) continue;
              const std::int64_t byte =
                  cuda::tile_stage_byte(at.word * units + j, at.s * across * unit, units, a.tile_d) + i * unit;
              ASSERT_TRUE(stage.count(byte)) << "reads shared memory that no load filled";
              written.unit(to + s * a.dst_pitch + std::int64_t{d} * unit, stage[byte], unit);
              if (testing::Test::HasFatalFailure()) return;
            }
        }
    }
  for (const int times : moved) ASSERT_EQ(times, 1) << "a tile is moved by one block";
  written.expect_complete();
}

/// Through every kernel that the copy allows.
void replay(const std::string& dst, const std::string& src, std::int64_t align = 128) {
  SCOPED_TRACE(dst + " from " + src);
  const Copy copy(dst, src, align);
  int kernels = 0;
  for (const char* kernel : {"tile/aligned", "tile/registers", "tile/unaligned"}) {
    SCOPED_TRACE(kernel);
    const plan::Candidate tile = cuda_test::bid_of(kernel, copy.c);
    if (!tile.applies) continue;
    ++kernels;
    if (kernel == std::string("tile/aligned"))
      replay_lines(copy, cuda_test::args_of<cuda::TileArgs>(copy.c, tile), staged_by_loads);
    else
      replay(copy, tile);
  }
  EXPECT_GT(kernels, 0);
}

/// The tile by ordinary loads that the planner offers, of whichever kernel.
plan::Candidate tile_of(const layout::Canonical& c) {
  const plan::Decision decision = cuda::plan_cuda(c, {});
  const auto ours = [](const plan::Candidate& k) {
    return k.applies &&
           (k.kernel.text == "tile/aligned" || k.kernel.text == "tile/registers" || k.kernel.text == "tile/unaligned");
  };
  plan::Candidate found = decision.chosen;
  for (const plan::Candidate& k : decision.others)
    if (!ours(found)) found = k;
  EXPECT_TRUE(ours(found));
  return found;
}

cuda::CudaMachine tiny() {
  cuda::CudaMachine machine;
  machine.sm_count = 0;  // nothing is small for it
  return machine;
}

void replay_bulk(const std::string& dst, const std::string& src, std::int64_t stages = 1) {
  SCOPED_TRACE(dst + " from " + src);
  const Copy copy(dst, src, 128);
  const plan::Candidate tile = cuda_test::bid_of("tile/bulk", copy.c, tiny());
  ASSERT_TRUE(tile.applies) << tile.reason;
  const auto a = cuda_test::args_of<cuda::BulkTileArgs>(copy.c, tile);
  EXPECT_EQ(a.stages, stages);
  replay_lines(copy, a.tile, staged_by_bulk_copies);
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

TEST(TileMap, BulkCopiesBringEveryElementWhereTheGatherLooksForIt) {
  replay_bulk("f32 (192,256)", "f32 (192,256):(1,192)");
  replay_bulk("f32 (100,72)", "f32 (100,72):(1,160)");
  replay_bulk("f16 (160,128)", "f16 (160,128):(1,160)");
  replay_bulk("u8 (160,272)", "u8 (160,272):(1,160)", 2);
  replay_bulk("u8 (160,288)", "u8 (160,288):(1,160)");
  replay_bulk("f64 (96,64)", "f64 (96,64):(1,96)");
  replay_bulk("c128 (40,36)", "c128 (40,36):(1,40)");
}

TEST(TileMap, BulkCopiesWalkTwoOuterModes) {
  replay_bulk("f32 (3,5,64,96)", "f32 (3,5,64,96):(30720,6144,1,64)");
  replay_bulk("f32 (64,5,96)", "f32 (64,5,96):(1,64,320)");
}

TEST(TileMap, ARingOfBulkCopiesMovesEveryTileOnce) {
  const Copy copy("f16 (264,200)", "f16 (264,200):(1,264)", 128);
  plan::Candidate tile = cuda_test::bid_of("tile/bulk", copy.c, tiny());
  ASSERT_TRUE(tile.applies) << tile.reason;
  EXPECT_EQ(tile.get(plan::ParamId::kStages), 2) << "rows of dst that start off a sector";
  for (auto& p : tile.params)
    if (p.id == plan::ParamId::kBlocks) p.value = 3;
  replay_lines(copy, cuda_test::args_of<cuda::BulkTileArgs>(copy.c, tile).tile, staged_by_bulk_copies);
}

TEST(TileMap, BulkCopiesRefuseWhatTheEngineCannotDescribe) {
  const auto reason = [](const char* dst, const char* src) {
    return cuda_test::bid_of("tile/bulk", Copy(dst, src, 128).c, tiny()).reason;
  };
  EXPECT_NE(reason("f32 (131,77)", "f32 (131,77):(1,131)"), "");     // rows off words
  EXPECT_NE(reason("f32 (64,96)", "f32 (64,96):(1,-64)@6080"), "");  // rows of src backwards
  EXPECT_NE(reason("f32 (64,98):(100,1)", "f32 (64,98):(1,64)"),
            "");  // a word of dst that no whole group of rows fills
  cuda::CudaMachine older;
  older.cc_major = 8;
  EXPECT_EQ(cuda_test::bid_of("tile/bulk", Copy("f32 (192,256)", "f32 (192,256):(1,192)", 128).c, older).reason,
            "bulk tensor copies need sm_90");
}

TEST(TileMap, FollowsTheNearOuterModesFirstWhereRowsAreWholeLines) {
  const Copy copy("f32 (64,5,96)", "f32 (64,5,96):(1,64,320)", 128);
  const plan::Candidate tile = tile_of(copy.c);
  EXPECT_EQ(tile.get(plan::ParamId::kOrder), 1);
  const auto a = cuda_test::args_of<cuda::TileArgs>(copy.c, tile);
  EXPECT_EQ(a.near_batches.divisor, 5u);
  for (std::uint32_t number = 0; number < 5; ++number) EXPECT_EQ(cuda::tile_place(a, number).batch, number);
  replay("f32 (64,5,96)", "f32 (64,5,96):(1,64,320)");
  replay("f32 (64,5,3,98)", "f32 (64,5,3,98):(1,64,94080,320)");
}

TEST(TileMap, FollowsRowsOfSrcFirstWhereTheNextRowOfTilesWouldComeLate) {
  const auto order_of = [](const char* kernel, const char* dst, const char* src) {
    return cuda_test::bid_of(kernel, Copy(dst, src, 128).c).get(plan::ParamId::kOrder);
  };
  EXPECT_EQ(order_of("tile/unaligned", "f32 (130,33001)", "f32 (130,33001):(1,131)"), 2);
  EXPECT_EQ(order_of("tile/pixels", "u8 (300,131073)", "u8 (300,131073):(1,301)"), 2);
  const Copy tall("f32 (130,33001)", "f32 (130,33001):(1,131)", 128);
  const auto a = cuda_test::args_of<cuda::TileArgs>(tall.c, tile_of(tall.c));
  ASSERT_GT(a.tiles_s.divisor, 1u);
  for (std::uint32_t number = 0; number < a.tiles_s.divisor; ++number)
    EXPECT_EQ(cuda::tile_place(a, number).s, static_cast<std::int32_t>(number) * a.tile_s);
  EXPECT_EQ(cuda::tile_place(a, a.tiles_s.divisor).d, a.tile_d);
  replay("u8 (3,66000)", "u8 (3,66000):(1,5)");
  replay("f64 (65,16500)", "f64 (65,16500):(1,67)");
}

TEST(TileMap, TilesKeepToSectorsWhereRowsOfDstStartOnWordsButThoseOfSrcDoNot) {
  const Copy copy("f16 (131,104)", "f16 (131,104):(1,131)", 128);
  EXPECT_EQ(tile_of(copy.c).get(plan::ParamId::kBoundaryBytes), 32);
  const Copy words("f16 (136,104)", "f16 (136,104):(1,136)", 128);
  EXPECT_EQ(tile_of(words.c).get(plan::ParamId::kBoundaryBytes), 0);
  const Copy wide("c128 (131,97)", "c64 (131,97):(1,131)", 128);
  EXPECT_EQ(tile_of(wide.c).get(plan::ParamId::kBoundaryBytes), 0) << "units of dst are words";
  replay("f16 (131,104)", "f16 (131,104):(1,131)");
  replay("f32 (77,132)", "f32 (77,132):(1,77)");
  replay("u8 (151,272)", "u8 (151,272):(1,151)");
  replay("f64 (67,46)", "f64 (67,46):(1,67)");
}

TEST(TileMap, LinesAreReadWithoutBankConflictsOrTwoWaysWhereAWarpWrites256BytesOfARow) {
  for (const auto& [unit, d, s] : std::initializer_list<std::tuple<int, int, int>>{
#define RESTRIDE_X(unit, d, s) {unit, d, s},
           RESTRIDE_TILE_SHAPES(RESTRIDE_X)
#undef RESTRIDE_X
       }) {
    const int units = 16 / unit, across = unit < 4 ? 4 / unit : 1, bytes = std::max(unit, 4);
    const int log = cuda::tile_store_log(d / units, d / units), most = log == 4 && unit < 16 ? 2 : 1;
    for (int first = 0; first < 32; first += 32 / (bytes / 4))  // 8 and 16 bytes a lane take two and four cycles
      for (int j = 0; j < units; ++j) {
        std::vector<std::uint32_t> addresses;
        for (int lane = first; lane < first + 32 / (bytes / 4); ++lane) {
          const cuda::TileStore at = cuda::tile_line_store(0, lane, cuda::kTileThreads, log, s / across);
          const auto byte =
              static_cast<std::uint32_t>(cuda::tile_stage_byte(at.word * units + j, at.s * across * unit, units, d));
          for (int b = 0; b < bytes; b += 4) addresses.push_back(byte + static_cast<std::uint32_t>(b));
        }
        EXPECT_EQ(cuda_test::bank_cycles(addresses), most) << unit << " bytes, " << d << " x " << s << ", row " << j;
      }
  }
}

TEST(TileMap, CollectsWithoutBankConflicts) {
  for (const char* dtype : {"u8", "f16", "f32"})
    for (const int rows : {256, 257}) {
      const std::string n = std::to_string(rows);
      const Copy copy(std::string(dtype) + " (" + n + "," + n + ")",
                      std::string(dtype) + " (" + n + "," + n + "):(1," + n + ")");
      const auto a = cuda_test::args_of<cuda::TileArgs>("tile/unaligned", copy.c);
      const int unit = copy.c.dst_unit, units = 16 / unit;
      for (int j = 0; j < units; ++j) {
        std::vector<std::uint32_t> addresses;
        std::vector<std::int64_t> stores;
        for (int lane = 0; lane < 32; ++lane) {
          const cuda::TileStore at = cuda::tile_store(lane, a.tile_d / units / 8, a.tile_s);
          addresses.push_back(
              static_cast<std::uint32_t>(cuda::tile_row_base(a, at.word * units + a.halo + j, units) + at.s * unit));
          stores.push_back(at.s * 100000 * 32 + at.word * 16);
        }
        EXPECT_EQ(cuda_test::bank_cycles(addresses), 1) << dtype << " " << rows << " unit " << j;
        EXPECT_EQ(cuda_test::sectors_touched(stores, 16), 16) << "a warp writes 512 bytes as whole sectors";
      }
    }
}

TEST(TileMap, CollectsInUpToFourTurnsWhereRowsOfDstStartUnlike) {
  // Extents of dst's rows and of src's, and the turns of a warp's read.
  for (const auto& [d, s, turns] : {std::tuple{256, 257, 1}, {257, 256, 1}, {257, 255, 2}, {257, 257, 4}}) {
    const std::string shape = "f32 (" + std::to_string(s) + "," + std::to_string(d) + ")";
    const Copy copy(shape, shape + ":(1," + std::to_string(s) + ")");
    const auto a = cuda_test::args_of<cuda::TileArgs>("tile/unaligned", copy.c);
    std::vector<std::uint32_t> addresses;
    for (int lane = 0; lane < 32; ++lane) {
      const cuda::TileStore at = cuda::tile_store(lane, a.tile_d / 4 / 8, a.tile_s);
      const auto skew = static_cast<int>(at.s * a.dst_pitch & a.skew_mask) / 4;
      addresses.push_back(
          static_cast<std::uint32_t>(cuda::tile_row_base(a, at.word * 4 - skew + a.halo, 4) + at.s * 4));
    }
    EXPECT_EQ(cuda_test::bank_cycles(addresses), turns) << shape;
  }
}

}  // namespace
}  // namespace restride
