#include "tools/io/box.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace restride::io {
namespace {

std::uint64_t elements(const Box& box) {
  std::uint64_t n = 1;
  for (const std::int64_t e : box.extent) n *= static_cast<std::uint64_t>(e);
  return n;
}

TEST(Box, PartsOfADenseLayoutAreConsecutiveByteRanges) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int64_t> extents(1 + random() % 5);
    for (auto& e : extents) e = 1 + static_cast<std::int64_t>(random() % 9);
    std::vector<std::int64_t> axes(extents.size());
    for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
    std::shuffle(axes.begin(), axes.end(), random);
    const Layout dense = permute(contiguous(DType::kF32, extents), axes);
    const std::uint64_t limit = 1 + random() % 200;
    std::int64_t next = 0;
    split_box(whole(dense), slowest_first(dense), elements, limit, [&](const Box& part) {
      EXPECT_LE(elements(part), limit);
      const Layout piece = restrict_to(dense, part);
      EXPECT_EQ(byte_range(piece).first, next);
      EXPECT_EQ(span_bytes(piece), static_cast<std::uint64_t>(piece.bytes())) << "the part has holes";
      next = byte_range(piece).second;
    });
    EXPECT_EQ(next, dense.bytes()) << to_string(dense) << " cut at " << limit;
  }
}

TEST(Box, CutsWholeMultiplesOfAGrainWhereThereIsRoom) {
  const Layout rows = contiguous(DType::kU8, {1000, 10});
  std::vector<std::int64_t> cuts;
  split_box(whole(rows), slowest_first(rows), elements, 2000, [&](const Box& part) { cuts.push_back(part.extent[0]); });
  EXPECT_EQ(cuts, (std::vector<std::int64_t>{192, 192, 192, 192, 192, 40}));
}

TEST(Box, VisitsASingleElementThatExceedsTheLimit) {
  const Layout records = contiguous(Element::bytes(1 << 20), {3});
  int visits = 0;
  split_box(
      whole(records), slowest_first(records), [](const Box& b) { return elements(b) << 20; }, 4096,
      [&](const Box&) { ++visits; });
  EXPECT_EQ(visits, 3);
}

TEST(Box, PagedBytesCountOnlyPagesThatAreTouched) {
  EXPECT_LE(paged_bytes(contiguous(DType::kF32, {1024, 1024})), (4u << 20) + 8192);
  // One column of 1000 rows, 1 MiB apart: a page or two each, not a gigabyte.
  const Layout column = strided(DType::kF32, std::vector<std::int64_t>{1000, 4}, std::vector<std::int64_t>{1 << 20, 4});
  EXPECT_GE(paged_bytes(column), 1000u * 4096);
  EXPECT_LE(paged_bytes(column), 1000u * 8192);
  EXPECT_EQ(span_bytes(column), 999u * (1 << 20) + 16);
}

}  // namespace
}  // namespace restride::io
