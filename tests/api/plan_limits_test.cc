// Sizes no memory has: planning and replay must stay within 64 bits.
#include <restride/restride.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace restride {
namespace {

std::string with(std::string json, const std::string& key, const std::string& value) {
  const std::size_t at = json.find('"' + key + "\":");
  EXPECT_NE(at, std::string::npos) << json;
  const std::size_t from = at + key.size() + 3;
  return json.replace(from, json.find_first_of(",}", from) - from, value);
}

TEST(PlanLimits, ExabytesArePredictedInPositiveTime) {
  const std::string text =
      Plan(parse_layout("u8 (1152921504606846976)"), parse_layout("u8 (1152921504606846976)")).explain();
  EXPECT_NE(text.find("chosen     run"), std::string::npos) << text;
  EXPECT_EQ(text.find(" -"), std::string::npos) << text;
}

TEST(PlanLimits, ExabytesOfSectorsAreCountedInFull) {
  Options options;
  options.device = DeviceKind::kCuda;
  options.cuda_device = kModelDevice;
  const std::string text =
      Plan(parse_layout("u8 (288230376151711744,3)"), parse_layout("u8 (288230376151711744,3):(0,-1)@2"), options)
          .explain();
  EXPECT_NE(text.find("chosen     gather"), std::string::npos) << text;
  EXPECT_EQ(text.find(" 1 + "), std::string::npos) << text;
}

TEST(PlanLimits, EmptyLayoutsMayHaveExtentsWhoseProductDoesNotFit) {
  const std::int64_t big = std::int64_t{1} << 40;
  const std::vector<std::int64_t> extents{big, big, 0}, strides{1, 1, 1};
  EXPECT_EQ(strided(DType::kU8, extents, strides).elements(), 0);
}

TEST(PlanLimits, ReplayTakesMoreRowsAChunkThanThereAre) {
  const Layout src = permute(contiguous(DType::kF32, {64, 32}), {1, 0});
  Options options;
  options.family = "tile";
  const Plan plan(contiguous(DType::kF32, {32, 64}), src, options);
  const Plan replayed = Plan::deserialize(with(plan.serialize(), "block_units", "9223372036854775807"));
  std::vector<float> from(64 * 32), once(from.size()), again(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i + 1);
  plan.run(once.data(), from.data());
  replayed.run(again.data(), from.data());
  EXPECT_EQ(once, again);
}

TEST(PlanLimits, ReplayRefusesSizesThatNoTileHas) {
  const Layout src = permute(contiguous(DType::kF32, {64, 32}), {1, 0});
  Options options;
  options.family = "tile";
  const Plan tile(contiguous(DType::kF32, {32, 64}), src, options);
  for (const char* value : {"0", "-1", "1152921504606846976", "9223372036854775807"})
    EXPECT_THROW(Plan::deserialize(with(tile.serialize(), "tile_cols", value)), ParseError) << value;
  options.family = "packed";
  const Plan packed(contiguous(DType::kF32, {32, 64}), src, options);
  for (const char* value : {"0", "-1", "9223372036854775807"})
    EXPECT_THROW(Plan::deserialize(with(packed.serialize(), "run_bytes", value)), ParseError) << value;
}

}  // namespace
}  // namespace restride
