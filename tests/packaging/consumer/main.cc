#include <vector>

#include <restride/restride.hpp>

int main() {
  using namespace restride;
  const std::vector<float> in{0, 1, 2, 3, 4, 5};
  std::vector<float> out(6);
  copy({out.data(), contiguous(DType::kF32, {3, 2})}, {in.data(), permute(contiguous(DType::kF32, {2, 3}), {1, 0})});
  if (out != std::vector<float>{0, 3, 1, 4, 2, 5}) return 1;
  // Exceptions are caught by type across the library's boundary.
  try {
    copy({out.data(), contiguous(DType::kF32, {5})}, {in.data(), contiguous(DType::kF32, {6})});
  } catch (const ShapeError&) {
    return 0;
  }
  return 2;
}
