// An image with interleaved channels (height, width, channel) becomes one with a plane a channel, as floats.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <restride/restride.hpp>

int main() {
  using namespace restride;
  const std::vector<std::uint8_t> image(480 * 640 * 3, 7);
  std::vector<float> planes(3 * 480 * 640);

  const Layout hwc = contiguous(DType::kU8, {480, 640, 3});
  const Layout chw = contiguous(DType::kF32, {3, 480, 640});
  copy({planes.data(), chw}, {image.data(), permute(hwc, {2, 0, 1})});

  std::printf("%s", Plan(chw, permute(hwc, {2, 0, 1})).explain().c_str());
  return planes.front() == 7.0f && planes.back() == 7.0f ? 0 : 1;
}
