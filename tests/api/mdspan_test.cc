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

// A view with the accessor and the element access of std::mdspan, which both say what a reference is.
template <class T, class Accessor>
struct SpanWithAccessor : Span<T, 1> {
  using accessor_type = Accessor;
  using reference = typename Accessor::reference;
  accessor_type accessor() const { return {}; }
  reference operator[](std::size_t i) const { return accessor().access(this->pointer, i); }
};

// A view that leaves what a reference is to its accessor.
template <class T, class Accessor>
struct SpanThatNamesItsAccessor : Span<T, 1> {
  using accessor_type = Accessor;
};

// std::default_accessor's members, and std::aligned_accessor's.
template <class T>
struct PlainAccessor {
  using element_type = T;
  using reference = T&;
  using data_handle_type = T*;
  static constexpr std::size_t byte_alignment = 64;
  reference access(T* p, std::size_t i) const { return p[i]; }
};

// std::linalg::scaled's: the handle is the pointer of the view beneath, the elements are computed.
template <class T>
struct ScaledAccessor {
  using element_type = const T;
  using reference = T;
  using data_handle_type = const T*;
  reference access(const T* p, std::size_t i) const { return 2 * p[i]; }
};

// An atomic accessor's: what it gives stands for an element.
template <class T>
struct ProxyAccessor {
  struct reference {
    T* p;
  };
  reference access(T* p, std::size_t i) const { return {p + i}; }
};

// Refers to elements, of another type than the handle's.
template <class T, class Other>
struct OtherAccessor {
  using reference = Other&;
};

template <class M>
concept BecomesATensor = requires(const M& m) {
  restride::tensor(m);
};

static_assert(BecomesATensor<Span<const float, 1>>);
static_assert(BecomesATensor<SpanWithAccessor<float, PlainAccessor<float>>>);
static_assert(BecomesATensor<SpanWithAccessor<const float, PlainAccessor<const float>>>);
static_assert(BecomesATensor<SpanThatNamesItsAccessor<float, PlainAccessor<float>>>);
static_assert(!restride::StridedView<SpanWithAccessor<const float, ScaledAccessor<float>>>);
static_assert(!restride::StridedView<SpanThatNamesItsAccessor<const float, ScaledAccessor<float>>>);
static_assert(!restride::StridedView<SpanWithAccessor<float, ProxyAccessor<float>>>);
static_assert(!restride::StridedView<SpanThatNamesItsAccessor<float, OtherAccessor<float, int>>>);
static_assert(!BecomesATensor<SpanWithAccessor<const float, ScaledAccessor<float>>>);

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

TEST(Mdspan, WithAPlainAccessorIsCopied) {
  const std::vector<float> in{1, 2, 3};
  std::vector<float> out(3);
  restride::copy(
      restride::tensor(SpanWithAccessor<float, PlainAccessor<float>>{{out.data(), {{3}}, {{1}}}}),
      restride::tensor(SpanWithAccessor<const float, PlainAccessor<const float>>{{in.data(), {{3}}, {{1}}}}));
  EXPECT_EQ(out, in);
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
