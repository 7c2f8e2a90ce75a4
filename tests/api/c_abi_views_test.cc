#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <restride/restride.h>
#include <restride/restride.hpp>

#include "tests/api/c_tensors.h"

namespace {

using restride::test::f32_tensor;
using restride::test::Ints;
using restride::test::printed;
using restride::test::Transpose;

struct View {
  restride_view v = RESTRIDE_VIEW_INIT;
  std::string text() const { return printed(v.tensor); }
};

TEST(CAbiViews, MakesDenseTensorsOfEitherOrderFromConstMemory) {
  const std::vector<float> data(24);
  const Ints extents{2, 3, 4}, strides{4, 8, 24};
  View v;
  ASSERT_EQ(restride_dense(&v.v, data.data(), RESTRIDE_F32, 0, 3, extents.data(), RESTRIDE_ROW_MAJOR), RESTRIDE_OK);
  EXPECT_EQ(v.text(), "f32 (2,3,4):(12,4,1)");
  EXPECT_EQ(v.v.tensor.data, data.data());
  ASSERT_EQ(restride_dense(&v.v, data.data(), RESTRIDE_F32, 0, 3, extents.data(), RESTRIDE_COLUMN_MAJOR), RESTRIDE_OK);
  EXPECT_EQ(v.text(), "f32 (2,3,4):(1,2,6)");
  ASSERT_EQ(restride_strided(&v.v, data.data(), RESTRIDE_BYTES, 4, 3, extents.data(), strides.data()), RESTRIDE_OK);
  EXPECT_EQ(v.text(), "b4 (2,3,4):(1,2,6)");
  EXPECT_EQ(restride_dense(&v.v, data.data(), RESTRIDE_F32, 0, 3, extents.data(), 2), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_dense(&v.v, data.data(), 18, 0, 3, extents.data(), 0), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_dense(&v.v, data.data(), RESTRIDE_F32, 0, 65, extents.data(), 1), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_dense(&v.v, data.data(), RESTRIDE_F32, 0, -1, extents.data(), 1), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_dense(&v.v, data.data(), RESTRIDE_F32, 0, 3, nullptr, 1), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_strided(&v.v, data.data(), RESTRIDE_F32, 0, 3, extents.data(), nullptr),
            RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(v.text(), "b4 (2,3,4):(1,2,6)") << "a failure leaves it as it is";
}

TEST(CAbiViews, SeesTensorsAnew) {
  const std::vector<float> data(24);
  const Ints extents{4, 6}, axes{1, 0}, shape{8, -1}, wide{5, 4, 6};
  View t, v;
  ASSERT_EQ(restride_dense(&t.v, data.data(), RESTRIDE_F32, 0, 2, extents.data(), RESTRIDE_ROW_MAJOR), RESTRIDE_OK);
  t.v.tensor.align_bytes = 16;
  const restride_tensor* in = &t.v.tensor;
  ASSERT_EQ(restride_permute(&v.v, in, axes.data(), 2), RESTRIDE_OK) << restride_last_error();
  EXPECT_EQ(v.text(), "f32 (6,4):(1,6)");
  EXPECT_EQ(v.v.tensor.data, data.data());
  EXPECT_EQ(v.v.tensor.align_bytes, 16);
  ASSERT_EQ(restride_permute(&v.v, in, nullptr, 0), RESTRIDE_OK) << restride_last_error();
  EXPECT_EQ(v.text(), "f32 (6,4):(1,6)");
  ASSERT_EQ(restride_slice(&v.v, in, "1:3, ::-1"), RESTRIDE_OK) << restride_last_error();
  EXPECT_EQ(v.text(), "f32 (2,6):(6,-1)@11");
  ASSERT_EQ(restride_slice(&v.v, in, "-1"), RESTRIDE_OK) << restride_last_error();
  EXPECT_EQ(v.text(), "f32 (6):(1)@18");
  ASSERT_EQ(restride_slice(&v.v, in, ""), RESTRIDE_OK) << restride_last_error();
  EXPECT_EQ(v.text(), "f32 (4,6):(6,1)");
  ASSERT_EQ(restride_flip(&v.v, in, -1), RESTRIDE_OK) << restride_last_error();
  EXPECT_EQ(v.text(), "f32 (4,6):(6,-1)@5");
  ASSERT_EQ(restride_reshape(&v.v, in, shape.data(), 2), RESTRIDE_OK) << restride_last_error();
  EXPECT_EQ(v.text(), "f32 (8,3):(3,1)");
  ASSERT_EQ(restride_broadcast(&v.v, in, wide.data(), 3), RESTRIDE_OK) << restride_last_error();
  EXPECT_EQ(v.text(), "f32 (5,4,6):(0,6,1)");
  // In place, one view after the other.
  ASSERT_EQ(restride_permute(&t.v, in, axes.data(), 2), RESTRIDE_OK) << restride_last_error();
  ASSERT_EQ(restride_flip(&t.v, in, 0), RESTRIDE_OK) << restride_last_error();
  EXPECT_EQ(t.text(), "f32 (6,4):(-1,6)@5");
}

TEST(CAbiViews, RearrangesIntoWhatCopyTakes) {
  std::vector<std::uint8_t> in(24);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint8_t>(i);
  std::vector<float> out(24, -1.0f);
  const Ints extents{4, 6};
  View t, source, result, merged;
  ASSERT_EQ(restride_dense(&t.v, in.data(), RESTRIDE_U8, 0, 2, extents.data(), RESTRIDE_ROW_MAJOR), RESTRIDE_OK);
  ASSERT_EQ(restride_rearrange(&source.v, &result.v, &merged.v, &t.v.tensor, "(h s) w -> h (w s)", " s=2 "),
            RESTRIDE_OK)
      << restride_last_error();
  EXPECT_EQ(source.text(), "u8 (2,6,2):(12,1,6)");
  result.v.tensor.data = out.data();
  result.v.tensor.dtype = merged.v.tensor.dtype = RESTRIDE_F32;
  EXPECT_EQ(result.text(), "f32 (2,6,2):(12,2,1)");
  EXPECT_EQ(merged.text(), "f32 (2,12):(12,1)");
  ASSERT_EQ(restride_copy(&result.v.tensor, &source.v.tensor, nullptr), RESTRIDE_OK) << restride_last_error();
  EXPECT_EQ(out[1], 6.0f);
  EXPECT_EQ(out[12], 12.0f);
  EXPECT_EQ(restride_rearrange(&source.v, nullptr, nullptr, &t.v.tensor, "(h s) (w t) -> h w s t", "s=2,t=3"),
            RESTRIDE_OK);
  for (const char* bad : {"s", "s=", "=2", "s=2,", "s=x", "s=2;t=3", "s=99999999999999999999", "s= "})
    EXPECT_EQ(restride_rearrange(&source.v, nullptr, nullptr, &t.v.tensor, "(h s) w -> h w s", bad), RESTRIDE_PARSE)
        << bad;
}

TEST(CAbiViews, AnswersViewsOfNothingUsefulWithAStatus) {
  const Ints extents{4, 6}, twice{0, 0};
  float data[24] = {};
  View t, v;
  ASSERT_EQ(restride_dense(&t.v, data, RESTRIDE_F32, 0, 2, extents.data(), RESTRIDE_ROW_MAJOR), RESTRIDE_OK);
  const restride_tensor* in = &t.v.tensor;
  EXPECT_EQ(restride_permute(nullptr, in, nullptr, 0), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_permute(&v.v, nullptr, nullptr, 0), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_permute(&v.v, in, twice.data(), 2), RESTRIDE_SHAPE);
  EXPECT_EQ(restride_permute(&v.v, in, nullptr, 2), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_permute(&v.v, in, twice.data(), -1), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_reshape(&v.v, in, extents.data(), 65), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_slice(&v.v, in, nullptr), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_slice(&v.v, in, "1:2,,"), RESTRIDE_SHAPE);
  EXPECT_EQ(restride_slice(&v.v, in, "x"), RESTRIDE_PARSE);
  EXPECT_EQ(restride_flip(&v.v, in, 2), RESTRIDE_SHAPE);
  EXPECT_EQ(restride_flip(&v.v, in, INT32_MIN), RESTRIDE_SHAPE);
  EXPECT_EQ(restride_rearrange(nullptr, nullptr, nullptr, in, "a b -> b a", nullptr), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_rearrange(&v.v, nullptr, nullptr, in, nullptr, nullptr), RESTRIDE_INVALID_ARGUMENT);
  v.v.struct_size = 8;
  EXPECT_EQ(restride_flip(&v.v, in, 0), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_NE(std::string(restride_last_error()).find("RESTRIDE_VIEW_INIT"), std::string::npos);
}

TEST(CAbiViews, CountsTheModesOfColumnMajorMemoryAsTheCallerDoes) {
  const Ints negative{-3, 4};
  View v;
  EXPECT_EQ(restride_dense(&v.v, nullptr, RESTRIDE_F32, 0, 2, negative.data(), RESTRIDE_COLUMN_MAJOR),
            RESTRIDE_INVALID_ARGUMENT);
  EXPECT_STREQ(restride_last_error(), "out: mode 0 has extent -3; extents are 0 or more");
}

TEST(CAbiViews, RefusesOneViewForTwoResults) {
  const Ints extents{4, 6};
  View t, v, w;
  ASSERT_EQ(restride_dense(&t.v, nullptr, RESTRIDE_F32, 0, 2, extents.data(), RESTRIDE_ROW_MAJOR), RESTRIDE_OK);
  restride_view* const twice[][3] = {{&v.v, &v.v, nullptr}, {&v.v, nullptr, &v.v}, {&v.v, &w.v, &w.v}};
  for (const auto& [source, result, merged] : twice) {
    EXPECT_EQ(restride_rearrange(source, result, merged, &t.v.tensor, "a b -> b a", nullptr),
              RESTRIDE_INVALID_ARGUMENT);
    EXPECT_NE(std::string(restride_last_error()).find("a view of its own"), std::string::npos);
  }
  EXPECT_EQ(restride_rearrange(&t.v, &v.v, &w.v, &t.v.tensor, "a b -> b a", nullptr), RESTRIDE_OK);
}

TEST(CAbiViews, ReadsAndNamesDtypes) {
  std::int32_t dtype = -1;
  std::int64_t bytes = -1;
  EXPECT_EQ(restride_dtype_parse("torch.bfloat16", &dtype, &bytes), RESTRIDE_OK);
  EXPECT_EQ(dtype, RESTRIDE_BF16);
  EXPECT_EQ(bytes, 2);
  EXPECT_EQ(restride_dtype_parse("|V12", &dtype, &bytes), RESTRIDE_OK);
  EXPECT_EQ(dtype, RESTRIDE_BYTES);
  EXPECT_EQ(bytes, 12);
  EXPECT_EQ(restride_dtype_parse("<f4", &dtype, nullptr), RESTRIDE_OK);
  EXPECT_EQ(dtype, RESTRIDE_F32);
  EXPECT_EQ(restride_dtype_parse("flaot32", &dtype, &bytes), RESTRIDE_PARSE);
  EXPECT_NE(std::string(restride_last_error()).find("did you mean float32?"), std::string::npos);
  EXPECT_EQ(restride_dtype_parse(nullptr, &dtype, &bytes), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_STREQ(restride_dtype_name(RESTRIDE_F8E4M3), "f8e4m3");
  EXPECT_STREQ(restride_dtype_name(RESTRIDE_BYTES), "b");
  EXPECT_STREQ(restride_dtype_name(18), "?");
  EXPECT_STREQ(restride_dtype_name(-1), "?");
}

TEST(CAbiViews, PrintsAndParsesLayouts) {
  Transpose t;
  EXPECT_EQ(printed(t.src), "f32 (4,3):(1,4)");
  std::int64_t extents[64], strides[64];
  restride_tensor parsed = RESTRIDE_TENSOR_INIT;
  ASSERT_EQ(restride_layout_parse("b12 (2,3):(5,-1)@2", &parsed, extents, strides, 64), RESTRIDE_OK)
      << restride_last_error();
  EXPECT_EQ(parsed.element_bytes, 12);
  EXPECT_EQ(printed(parsed), "b12 (2,3):(5,-1)@2");
  EXPECT_EQ(restride_layout_parse("f32 (2,3", &parsed, extents, strides, 64), RESTRIDE_PARSE);
  EXPECT_EQ(restride_layout_parse("f32 (2,3)", &parsed, extents, strides, 1), RESTRIDE_SHAPE);
  EXPECT_EQ(restride_layout_parse("f32 ()", &parsed, nullptr, nullptr, 0), RESTRIDE_OK) << restride_last_error();
}

TEST(CAbiViews, CutsTextAsSnprintfDoes) {
  Transpose t;
  char small[5] = "????";
  std::size_t length = 0;
  ASSERT_EQ(restride_layout_print(&t.src, small, sizeof small, &length), RESTRIDE_OK);
  EXPECT_STREQ(small, "f32 ");
  EXPECT_EQ(length, std::strlen("f32 (4,3):(1,4)"));
}

TEST(CAbiViews, SaysWhichBytesATensorOccupies) {
  const Ints extents{3}, strides{-8};
  const restride_tensor t = f32_tensor(nullptr, extents, &strides);
  std::int64_t first = 1, last = 1;
  ASSERT_EQ(restride_byte_range(&t, &first, &last), RESTRIDE_OK);
  EXPECT_EQ(first, -16);
  EXPECT_EQ(last, 4);
}

}  // namespace
