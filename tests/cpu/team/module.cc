#include "tests/cpu/team/module.h"

#include <cstdint>
#include <vector>

#include <restride/restride.hpp>

int restride_test_copies_on(int threads) {
  using namespace restride;
  constexpr std::int64_t kSide = 1024;
  std::vector<std::int64_t> src(kSide * kSide), dst(src.size());
  for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<std::int64_t>(i);
  const Layout layout = contiguous(DType::kI64, {kSide, kSide});
  Options options;
  options.threads = threads;
  for (int i = 0; i < 10; ++i) copy({dst.data(), layout}, {src.data(), permute(layout, {1, 0})}, options);
  for (std::int64_t r = 0; r < kSide; ++r)
    for (std::int64_t c = 0; c < kSide; ++c)
      if (dst[static_cast<std::size_t>(r * kSide + c)] != c * kSide + r) return 1;
  return 0;
}
