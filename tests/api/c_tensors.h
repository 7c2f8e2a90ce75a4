// Tensors of the C ABI for its tests.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <restride/restride.h>

namespace restride::test {

using Ints = std::vector<std::int64_t>;

inline restride_tensor f32_tensor(void* data, const Ints& extents, const Ints* strides_bytes = nullptr) {
  restride_tensor t = RESTRIDE_TENSOR_INIT;
  t.data = data;
  t.rank = static_cast<std::int32_t>(extents.size());
  t.extents = extents.data();
  t.strides_bytes = strides_bytes == nullptr ? nullptr : strides_bytes->data();
  return t;
}

inline std::string printed(const restride_tensor& t) {
  std::size_t length = 0;
  EXPECT_EQ(restride_layout_print(&t, nullptr, 0, &length), RESTRIDE_OK) << restride_last_error();
  std::string text(length + 1, '?');
  EXPECT_EQ(restride_layout_print(&t, text.data(), text.size(), nullptr), RESTRIDE_OK);
  text.resize(length);
  return text;
}

// (3,4) transposed into (4,3), both contiguous memory.
struct Transpose {
  std::vector<float> in = std::vector<float>(12), out = std::vector<float>(12, -1.0f);
  Ints extents{4, 3}, src_strides{4, 16};
  restride_tensor src, dst;

  Transpose() {
    for (int i = 0; i < 12; ++i) in[static_cast<std::size_t>(i)] = static_cast<float>(i);
    src = f32_tensor(in.data(), extents, &src_strides);
    dst = f32_tensor(out.data(), extents);
  }
  void expect_done() const {
    for (std::size_t r = 0; r < 4; ++r)
      for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(out[r * 3 + c], in[c * 4 + r]) << r << "," << c;
  }
};

}  // namespace restride::test
