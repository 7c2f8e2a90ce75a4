#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <restride/mdspan.hpp>

namespace {

// The members of std::mdspan that restride looks at, and no more; as there, a mapping of rank 0 has no strides.
template <std::size_t R>
struct Mapping {
  std::array<std::ptrdiff_t, R> strides;
  std::ptrdiff_t stride(std::size_t r) const requires(R > 0) { return strides[r]; }
};

template <class T, std::size_t R>
struct Span {
  struct Extents {
    std::array<int, R> values;
    int extent(std::size_t r) const { return values[r]; }
  };
  T* pointer;
  Extents extents_;
  Mapping<R> mapping;

  static constexpr std::size_t rank() { return R; }
  T* data_handle() const { return pointer; }
  const Extents& extents() const { return extents_; }
  std::ptrdiff_t stride(std::size_t r) const { return mapping.stride(r); }
};

template <class T, std::size_t R>
struct SpanThatMayNotBeStrided : Span<T, R> {
  bool strided = true;
  bool is_strided() const { return strided; }
};

struct Record {
  float x, y, z;
};

static_assert(restride::StridedView<Span<float, 2>>);
static_assert(!restride::StridedView<std::vector<float>>);
static_assert(!restride::StridedView<int>);
static_assert(restride::element_of<unsigned short> == restride::DType::kU16);
static_assert(restride::element_of<long long> == restride::DType::kI64);
static_assert(restride::element_of<std::complex<double>> == restride::DType::kC128);
static_assert(restride::element_of<std::byte> == restride::Element::bytes(1));
static_assert(restride::element_of<Record> == restride::Element::bytes(12));

TEST(Mdspan, BecomesATensorWithItsStridesInBytes) {
  std::vector<double> data(12);
  const restride::Tensor t = restride::tensor(Span<double, 2>{data.data(), {{3, 4}}, {1, 3}});
  EXPECT_EQ(t.data, data.data());
  EXPECT_EQ(restride::to_string(t.layout), "f64 (3,4):(1,3)");
}

TEST(Mdspan, OfConstElementsBecomesASource) {
  const std::vector<float> data(4);
  const auto t = restride::tensor(Span<const float, 1>{data.data(), {{4}}, {1}});
  static_assert(std::is_same_v<decltype(t), const restride::ConstTensor>);
  EXPECT_EQ(restride::to_string(t.layout), "f32 (4):(1)");
}

TEST(Mdspan, IsCopied) {
  const std::vector<Record> in{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 10, 11}, {12, 13, 14}, {15, 16, 17}};
  std::vector<Record> out(6);
  restride::copy(restride::tensor(Span<Record, 2>{out.data(), {{2, 3}}, {1, 2}}),
                 restride::tensor(Span<const Record, 2>{in.data(), {{2, 3}}, {3, 1}}));
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(out[j * 2 + i].y, in[i * 3 + j].y);
}

TEST(Mdspan, OfRankZeroIsOneElement) {
  float in = 2.5f, out = 0;
  restride::copy(restride::tensor(Span<float, 0>{&out, {}, {}}), restride::tensor(Span<float, 0>{&in, {}, {}}));
  EXPECT_EQ(out, 2.5f);
}

TEST(Mdspan, ThatIsNotStridedIsRefused) {
  float x = 0;
  SpanThatMayNotBeStrided<float, 1> m{{&x, {{1}}, {1}}, false};
  EXPECT_THROW(restride::tensor(m), restride::ArgumentError);
  m.strided = true;
  EXPECT_EQ(restride::tensor(m).data, &x);
}

TEST(Mdspan, WithStridesBeyondTheRangeIsRefused) {
  double x = 0;
  EXPECT_THROW(restride::tensor(Span<double, 1>{&x, {{2}}, {PTRDIFF_MAX / 4}}), restride::RangeError);
}

}  // namespace
