// Replays src/cuda/packed/records_map.h for every block, warp and lane.
#include "src/cuda/packed/records_map.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda/replay.h"

namespace restride {
namespace {

using cuda_test::canonical;
using cuda_test::Copy;
using cuda_test::Written;

TEST(RecordsMap, EveryByteOfRecordsIsOneByteOfPlanes) {
  const auto check = [](int unit, int fields, int word) {
    for (int byte = 0; byte < word * fields; ++byte) {
      const int plane = cuda::records_plane_byte(byte, unit, fields, word);
      EXPECT_EQ(cuda::records_record_byte(plane, unit, fields, word), byte);
      EXPECT_EQ(plane / word, byte / unit % fields) << "field";
    }
  };
  for (const int unit : {1, 2, 4, 8})
    for (int fields = 2; fields <= cuda::kMostFields; ++fields) check(unit, fields, 16);
  for (const int word : {4, 8})
    for (int fields = 2; fields <= cuda::kMostByteFields; ++fields) check(1, fields, word);
}

/// Records of bytes by words of less than 16 bytes, warp by warp and lane by lane.
void replay_bytes(const std::string& dst, const std::string& src, int word, std::int64_t align = 128) {
  SCOPED_TRACE(dst + " from " + src);
  const Copy copy(dst, src, align);
  const plan::Candidate bid = cuda_test::bid_of("packed/records", copy.c);
  ASSERT_TRUE(bid.applies) << bid.reason;
  ASSERT_EQ(bid.get(plan::ParamId::kVectorBytes), word);
  const auto a = cuda_test::args_of<cuda::RecordsArgs>(copy.c, bid);
  Written written(copy);
  for (std::uint32_t warp = 0; warp < a.warps; ++warp) {
    const auto [at, first] = cuda::records_place(a, warp);
    for (std::uint32_t lane = first; lane < std::min(first + 32, a.plane_words); ++lane)
      for (int byte = 0; byte < word * a.fields; ++byte) {
        const int place = cuda::records_plane_byte(byte, 1, a.fields, word);
        const std::int64_t plane = place / word * a.plane_stride + std::int64_t{lane} * word + place % word;
        const std::int64_t record = std::int64_t{lane} * word * a.fields + byte;
        written.unit(a.dst_offset + at.dst + (a.to_planes ? plane : record),
                     a.src_offset + at.src + (a.to_planes ? record : plane), 1);
        if (testing::Test::HasFatalFailure()) return;
      }
  }
  written.expect_complete();
}

TEST(RecordsMap, RecordsOfBytesByNarrowerWordsAreMovedOnce) {
  for (int fields = 2; fields <= cuda::kMostByteFields; ++fields) {
    const std::string n = std::to_string(fields);
    if (fields > 2) replay_bytes("u8 (1604," + n + ")", "u8 (1604," + n + "):(1,1604)", 4);
    if (fields > cuda::kMostFields) replay_bytes("u8 (" + n + ",1608)", "u8 (" + n + ",1608):(1," + n + ")", 8);
  }
  replay_bytes("u8 (3,12,1040)", "u8 (3,12,1040):(12480,1,12)", 8, 8);
  replay_bytes("u8 (3,1044,11)", "u8 (3,1044,11):(11484,1,1044)", 4, 4);
  replay_bytes("u8 (10,1608)", "u8 (10,1608):(-1,10)@9", 8);
  replay_bytes("u8 (1604,4)", "u8 (1604,4):(1,-1604)@4812", 4);
  const auto reason = [](const char* dst, const char* src) {
    return cuda_test::bid_of("packed/records", canonical(dst, src)).reason;
  };
  EXPECT_EQ(reason("u8 (10,1604)", "u8 (10,1604):(1,10)"), "planes or records do not start on 8 bytes");
  EXPECT_EQ(reason("u8 (1604,2)", "u8 (1604,2):(1,1604)"), "planes do not start on 16 bytes");
  EXPECT_EQ(reason("u8 (9,1608)", "u8 (9,1608):(1,9)"), "planes do not start on 16 bytes");
  EXPECT_EQ(reason("u8 (1602,3)", "u8 (1602,3):(1,1602)"), "planes or records do not start on 4 bytes");
  EXPECT_EQ(reason("u16 (1604,3)", "u16 (1604,3):(1,1604)"), "planes do not start on 16 bytes");
  EXPECT_EQ(reason("u8 (11,1608)", "u8 (11,1608):(1,12)"), "no records of 2 to 9 fields, or of 2 to 16 bytes")
      << "a field is left out";
  EXPECT_EQ(reason("u16 (10,1608)", "u16 (10,1608):(1,10)"), "no records of 2 to 9 fields, or of 2 to 16 bytes");
  EXPECT_EQ(reason("u8 (7,100,3)", "u8 (7,100,3):(300,1,100)"), "planes are too short or too long")
      << "a batch of small matrices";
}

TEST(RecordsMap, WarpsTakeEveryWordOfEveryPlaneOnce) {
  // Five rows of 1600 structures, with room between the rows of src.
  const layout::Canonical c = canonical("f32 (5,3,1600)", "f32 (5,3,1600):(6000,1,3)");
  const auto a = cuda_test::args_of<cuda::RecordsArgs>(c, cuda::plan_cuda(c, {}, "packed").chosen);
  std::set<std::pair<std::int64_t, std::uint32_t>> words;
  for (std::uint32_t warp = 0; warp < a.warps; ++warp) {
    const auto [at, first] = cuda::records_place(a, warp);
    for (std::uint32_t word = first; word < std::min(first + 32, a.plane_words); ++word)
      EXPECT_TRUE(words.insert({at.dst, word}).second) << warp;
  }
  EXPECT_EQ(a.plane_words, 400u);
  EXPECT_EQ(words.size(), 5u * 400);
}

/// Records on their way into planes that start anywhere, tile by tile.
void replay_planes(const std::string& dst, const std::string& src, std::int64_t align = 128) {
  SCOPED_TRACE(dst + " from " + src);
  const Copy copy(dst, src, align);
  const plan::Candidate bid = cuda_test::bid_of("packed/planes", copy.c);
  ASSERT_TRUE(bid.applies) << bid.reason;
  ASSERT_EQ(bid.get(plan::ParamId::kBoundaryBytes), cuda::kPlaneBoundary);
  const auto a = cuda_test::args_of<cuda::RecordsArgs>(copy.c, bid);
  const int unit = copy.c.dst_unit, units = 16 / unit;
  Written written(copy);
  for (std::uint32_t block = 0; block < a.blocks; ++block) {
    const cuda::RecordsTile tile = cuda::records_tile(a, block, unit);
    const std::int64_t from = a.src_offset + tile.at.src + std::int64_t{tile.from} * a.fields * unit;
    ASSERT_LE((from & (cuda::kRecordsLine - 1)) + (tile.to - tile.from) * a.fields * unit, a.shared_bytes);
    for (int field = a.first; field < a.last; ++field) {
      const std::int64_t plane = a.dst_offset + tile.at.dst + field * a.plane_stride;
      const auto skew = static_cast<int>(plane & (cuda::kPlaneBoundary - 1)) / unit;
      for (int thread = 0; thread < cuda::kRecordsThreads; ++thread)
        for (int i = 0; i < units; ++i) {
          const int record = tile.first - skew + thread * units + i;
          if (record < 0 || record >= a.plane_units) continue;
          ASSERT_TRUE(record >= tile.from && record < tile.to) << "a record that was not loaded";
          written.unit(plane + std::int64_t{record} * unit,
                       a.src_offset + tile.at.src + (std::int64_t{record} * a.fields + field) * unit, unit);
          if (testing::Test::HasFatalFailure()) return;
        }
    }
  }
  written.expect_complete();
}

TEST(RecordsMap, PlanesThatStartAnywhereAreMovedOnce) {
  replay_planes("f32 (3,5001)", "f32 (3,5001):(1,3)");
  replay_planes("f32 (7,1001)", "f32 (7,1001):(1,7)");
  replay_planes("f64 (5,2049)", "f64 (5,2049):(1,5)", 8);
  replay_planes("f32 (4,3,1001)", "f32 (4,3,1001):(3100,1,3)", 4);
  replay_planes("f32 (3,5001)", "f32 (3,5001):(-1,3)@2");
  replay_planes("f32 (2,5001)", "f32 (2,5001):(1,4)@1");
}

TEST(RecordsMap, LanesCollectRecordsInFewBanks) {
  for (int fields = 2; fields <= cuda::kMostFields; ++fields) {
    const std::string count = std::to_string(fields);
    const layout::Canonical c = canonical("f32 (" + count + ",5001)", "f32 (" + count + ",5001):(1," + count + ")");
    const auto a = cuda_test::args_of<cuda::RecordsArgs>("packed/planes", c);
    for (int i = 0; i < 4; ++i) {
      std::vector<std::uint32_t> addresses;
      for (int lane = 0; lane < 32; ++lane)
        addresses.push_back(
            static_cast<std::uint32_t>((lane * 4 + ((i + cuda::records_rotation(a, lane, 4)) & 3)) * fields * 4));
      EXPECT_LE(cuda_test::bank_cycles(addresses), fields & -fields) << fields;
    }
  }
}

TEST(RecordsMap, LanesMeetTheirRecordsWithoutBankConflicts) {
  // A warp's access is as many of 128 bytes as a word has 4.
  const auto check = [](int fields, int word) {
    const int together = 128 / word;
    for (int i = 0; i < fields; ++i)
      for (int begin = 0; begin < 32; begin += together) {
        std::set<int> groups;
        for (int lane = begin; lane < begin + together; ++lane) {
          const int slot = cuda::records_slot(lane * fields + i, fields);
          groups.insert(slot % together);
          EXPECT_LT(slot, cuda::records_warp_words(fields));
        }
        EXPECT_EQ(groups.size(), static_cast<std::size_t>(together)) << fields << " fields, word " << i;
      }
  };
  for (int fields = 2; fields <= cuda::kMostFields; ++fields) check(fields, 16);
  for (const int word : {4, 8})
    for (int fields = 2; fields <= cuda::kMostByteFields; ++fields) check(fields, word);
}

TEST(RecordsMap, PartsOfTheWiderSideAreEveryNarrowByteOnce) {
  for (const int ratio : {2, 4})
    for (const int fields : {3, 4}) {
      std::set<int> bytes;
      for (int wide = 0; wide < 32 * fields * ratio; ++wide) {
        const cuda::RecordsPart at = cuda::records_part(wide, ratio);
        for (int b = 0; b < 16 / ratio; ++b) EXPECT_TRUE(bytes.insert(at.word * 16 + at.byte + b).second);
      }
      EXPECT_EQ(bytes.size(), 32u * 16 * static_cast<unsigned>(fields));
      EXPECT_EQ(*bytes.rbegin(), 32 * 16 * fields - 1);
    }
}

TEST(RecordsMap, PixelsAreConvertedOnTheirWayIntoPlanesAndBack) {
  const auto kernel = [](const char* dst, const char* src) {
    return cuda::plan_cuda(canonical(dst, src), {}).chosen.kernel.text;
  };
  EXPECT_EQ(kernel("f32 (64,3,224,224)", "u8 (64,3,224,224):(150528,1,672,3)"), "packed/records_cast");
  EXPECT_EQ(kernel("u8 (64,224,224,4)", "f16 (64,224,224,4):(200704,224,1,50176)"), "packed/records_cast");
  EXPECT_EQ(kernel("f16 (64,3,224,224)", "f32 (64,3,224,224):(150528,-1,672,3)@2"), "packed/records_cast")
      << "BGR to planes of R, G, B";
  EXPECT_NE(kernel("f32 (64,3,224,224)", "u8 (64,3,224,224):(200704,1,896,4)"), "packed/records_cast")
      << "a field is left out";
  EXPECT_NE(kernel("f32 (64,3,225,225)", "u8 (64,3,225,225):(151875,1,675,3)"), "packed/records_cast")
      << "planes are no whole words";
}

TEST(RecordsMap, PlanesMayHaveManyGibibytes) {
  const auto reason = [](const char* kernel, const char* dst, const char* src) {
    return cuda_test::bid_of(kernel, canonical(dst, src)).reason;
  };
  EXPECT_EQ(reason("packed/records", "u8 (3,5000000000)", "u8 (3,5000000000):(1,3)"), "");
  EXPECT_EQ(reason("packed/records", "u8 (3,20000000000)", "u8 (3,20000000000):(1,3)"),
            "planes are too short or too long");
  EXPECT_EQ(reason("packed/planes", "f32 (3,1000000001)", "f32 (3,1000000001):(1,3)"), "")
      << "planes that start anywhere";
  EXPECT_EQ(reason("packed/planes", "f32 (3,1200000001)", "f32 (3,1200000001):(1,3)"),
            "planes are too short or too long");
}

}  // namespace
}  // namespace restride
