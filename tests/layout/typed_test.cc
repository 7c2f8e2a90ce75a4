#include <restride/typed.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/support/throws.h"

namespace restride {
namespace {

using test::holds;
using test::message_of;

struct Pixel {
  std::uint8_t r, g, b;
};

TEST(TypedTensor, HasTheDtypeOfItsMemory) {
  std::vector<float> planes(12);
  const std::vector<std::uint8_t> image(12);
  const Tensor to = tensor(planes, {3, 4});
  EXPECT_EQ(to.data, planes.data());
  EXPECT_EQ(to_string(to.layout), "f32 (3,4):(4,1)");
  const auto from = tensor(image, {3, 4});
  static_assert(std::is_same_v<decltype(from), const ConstTensor>);
  EXPECT_EQ(to_string(from.layout), "u8 (3,4):(4,1)");
  EXPECT_EQ(to_string(tensor(image).layout), "u8 (12):(1)");
  std::array<Pixel, 6> pixels{};
  EXPECT_EQ(to_string(tensor(pixels, {2, 3}).layout), "b3 (2,3):(3,1)");
  std::int16_t plain[4] = {};
  EXPECT_EQ(to_string(tensor(plain).layout), "i16 (4):(1)");
  EXPECT_EQ(to_string(tensor(std::span(planes).first(6), {2, 3}).layout), "f32 (2,3):(3,1)");
  const std::vector<std::int64_t> shape{2, 6};
  EXPECT_EQ(to_string(tensor(planes, shape).layout), "f32 (2,6):(6,1)");
}

template <class R>
concept Taken = requires(R&& r) {
  tensor(std::forward<R>(r));
};
static_assert(Taken<std::vector<float>&> && Taken<const std::vector<float>&> && Taken<std::span<float>>);
static_assert(!Taken<std::vector<float>> && !Taken<std::vector<bool>&>, "what is gone, or is no memory");

TEST(TypedTensor, CopiesAsItReads) {
  std::vector<std::uint8_t> image(24);
  std::iota(image.begin(), image.end(), std::uint8_t{0});
  std::vector<float> planes(24);
  const Tensor hwc = tensor(image, {2, 4, 3});
  copy(tensor(planes, {3, 2, 4}), {hwc.data, permute(hwc.layout, {2, 0, 1})});
  EXPECT_EQ(planes[1], 3.0f);
  EXPECT_EQ(planes[8], 1.0f);
}

TEST(TypedTensor, TakesStridesInElements) {
  std::vector<std::int32_t> data(20);
  EXPECT_EQ(to_string(tensor(data, {4, 3}, {5, 1}).layout), "i32 (4,3):(5,1)");
  EXPECT_EQ(to_string(tensor(data, {20}, {-1}, 19).layout), "i32 (20):(-1)@19");
  EXPECT_EQ(to_string(tensor(data, {7, 20}, {0, 1}).layout), "i32 (7,20):(0,1)");
}

TEST(TypedTensor, RefusesElementsThatTheMemoryHasNot) {
  std::vector<float> data(12);
  const auto message = [](auto make) { return message_of<ShapeError>(make); };
  EXPECT_TRUE(holds(message([&] { tensor(data, {3, 5}); }), "f32 (3,5)", "15 elements", "memory 12", "product equal"));
  EXPECT_TRUE(holds(message([&] { tensor(data, {3, 3}); }), "9 elements", "span.first(n)"));
  EXPECT_TRUE(holds(message([&] { tensor(data, {3, 4}, {5, 1}); }), "elements 0 to 13", "holds 12"));
  EXPECT_TRUE(holds(message([&] { tensor(data, {12}, {-1}); }), "elements -11 to 0"));
  EXPECT_TRUE(holds(message([&] { tensor(data, {3, 4}, {1}); }), "2 extents but 1 stride"));
  EXPECT_THROW(tensor(data, {2}, {INT64_MAX}), RangeError);
  EXPECT_THROW(tensor(data, {-12}), ArgumentError);
  const std::vector<std::int64_t> many(65, 1);
  EXPECT_THROW(tensor(data, many, many), ArgumentError);
  EXPECT_NO_THROW(tensor(data, {0, 100}, {100, 1}));
}

TEST(TypedTensor, HasTheViewsOfItsLayoutOverTheSameMemory) {
  std::vector<float> data(24);
  const Tensor t = tensor(data, {4, 6});
  const Layout& l = t.layout;
  const auto same = [&](const Tensor& view, const Layout& layout) {
    EXPECT_EQ(view.data, data.data());
    EXPECT_EQ(view.layout, layout);
  };
  same(permute(t, {1, 0}), permute(l, {1, 0}));
  same(slice(t, 1, 1, std::nullopt, 2), slice(l, 1, 1, std::nullopt, 2));
  same(slice(t, {"0:2", "::-1"}), slice(l, {"0:2", "::-1"}));
  same(flip(t, 0), flip(l, 0));
  same(broadcast_to(t, {2, 4, 6}), broadcast_to(l, {2, 4, 6}));
  same(reshape(t, {8, -1}), reshape(l, {8, -1}));
  same(split(t, 1, {2, 3}), split(l, 1, {2, 3}));
  same(merge(t, 0, 2), merge(l, 0, 2));
  same(unsqueeze(t, 1), unsqueeze(l, 1));
  same(squeeze(unsqueeze(t, 1), 1), l);
  same(reinterpret(t, DType::kI32), reinterpret(l, DType::kI32));
  EXPECT_THROW(permute(t, {0, 0}), ShapeError);

  const ConstTensor source = permute(tensor(std::as_const(data), {4, 6}), {1, 0});
  EXPECT_EQ(source.data, data.data());
}

TEST(Lists, AreTakenInBracesByEveryFunction) {
  const Layout l = contiguous(DType::kF32, {4, 6});
  EXPECT_EQ(to_string(strided(DType::kU8, {2, 3}, {8, 2}, 1)), "u8 (2,3):(8,2)@1");
  EXPECT_EQ(to_string(permute(l, {1, 0})), "f32 (6,4):(1,6)");
  EXPECT_EQ(to_string(reshape(l, {8, -1})), "f32 (8,3):(3,1)");
  EXPECT_EQ(to_string(split(l, 1, {2, 3})), "f32 (4,2,3):(6,3,1)");
  EXPECT_EQ(to_string(broadcast_to(l, {2, 4, 6})), "f32 (2,4,6):(0,6,1)");
  EXPECT_EQ(to_string(slice(l, {"0:2", ":"})), "f32 (2,6):(6,1)");
  EXPECT_EQ(to_string(slice(l, {"1"})), "f32 (6):(1)@6");
  EXPECT_EQ(to_string(rearrange(l, "(h s) w -> h w s", {{"s", 2}}).source), "f32 (2,6,2):(12,1,6)");
  EXPECT_EQ(to_string(rearrange(l, "(h s) (w t) -> h w s t", {{"s", 2}, {"t", 3}}).source), "f32 (2,2,2,3):(12,3,6,1)");
  EXPECT_EQ(to_string(contiguous(DType::kF32, {})), "f32 ():()");
  const std::int64_t rows = 2, columns = 12;
  EXPECT_EQ(to_string(reshape(l, {rows, columns})), "f32 (2,12):(12,1)");
  const std::array<std::int64_t, 2> axes{1, 0};
  EXPECT_EQ(permute(l, axes), permute(l, {1, 0}));
  EXPECT_EQ(permute(l, std::span<const std::int64_t>(axes)), permute(l, {1, 0}));
  std::vector<std::int64_t> written{1, 0};
  EXPECT_EQ(permute(l, std::span<std::int64_t>(written)), permute(l, {1, 0}));
}

}  // namespace
}  // namespace restride
