#include <cstdint>
#include <cstdio>
#include <vector>

#include <restride/restride.hpp>
using namespace restride;

int main() {  // pixels, as cameras and files have them, become one plane of floats a channel
  const Layout hwc = contiguous(DType::kU8, {480, 640, 3}), chw = contiguous(DType::kF32, {3, 480, 640});
  const std::vector<std::uint8_t> image(480 * 640 * 3, 7);
  std::vector<float> planes(image.size());
  copy({planes.data(), chw}, {image.data(), permute(hwc, {2, 0, 1})});  // device memory is copied on its GPU

  const Plan plan(chw, permute(hwc, {2, 0, 1}));  // or decide once, then run from any thread: it allocates nothing
  plan.run(planes.data(), image.data());
  std::printf("%s", plan.explain().c_str());  // which kernel runs, and what the others would cost
  return planes.back() == 7 ? 0 : 1;
}
