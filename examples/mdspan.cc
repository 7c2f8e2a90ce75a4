// mdspan: restride takes anything with mdspan's members, so it needs neither <mdspan> nor a certain version of it.
#include <array>
#include <cstddef>
#include <cstdio>
#include <vector>

#include <restride/restride.hpp>

#if defined(__has_include)
#if __has_include(<mdspan>)
#include <mdspan>
#endif
#endif

#ifdef __cpp_lib_mdspan
using Matrix = std::mdspan<float, std::dextents<std::size_t, 2>, std::layout_stride>;
Matrix matrix(float* data, std::size_t rows, std::size_t cols, std::size_t row_stride, std::size_t col_stride) {
  return {data, {std::dextents<std::size_t, 2>(rows, cols), std::array{row_stride, col_stride}}};
}
#else
// A view of your own does as well: these members are all that is asked.
struct Matrix {
  struct Extents {
    std::array<std::size_t, 2> values;
    std::size_t extent(std::size_t r) const { return values[r]; }
  };
  float* data;
  Extents shape;
  std::array<std::size_t, 2> strides;

  static constexpr std::size_t rank() { return 2; }
  float* data_handle() const { return data; }
  const Extents& extents() const { return shape; }
  std::size_t stride(std::size_t r) const { return strides[r]; }
};
Matrix matrix(float* data, std::size_t rows, std::size_t cols, std::size_t row_stride, std::size_t col_stride) {
  return {data, {{rows, cols}}, {row_stride, col_stride}};
}
#endif

int main() {
  std::vector<float> in(6 * 4), out(6 * 4);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);

  const Matrix row_major = matrix(in.data(), 6, 4, 4, 1);
  const Matrix col_major = matrix(out.data(), 6, 4, 1, 6);
  restride::copy(restride::tensor(col_major), restride::tensor(row_major));

  std::printf("%s -> %s\n", restride::to_string(restride::layout_of(row_major)).c_str(),
              restride::to_string(restride::layout_of(col_major)).c_str());
  for (std::size_t r = 0; r < 6; ++r)
    for (std::size_t c = 0; c < 4; ++c)
      if (out[c * 6 + r] != in[r * 4 + c]) return 1;
  return 0;
}
