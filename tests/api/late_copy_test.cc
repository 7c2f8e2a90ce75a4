#include <restride/restride.hpp>

#include <gtest/gtest.h>

#include <array>
#include <thread>

namespace restride {
namespace {

std::array<float, 6> transposed() {
  const std::array<float, 6> src{0, 1, 2, 3, 4, 5};
  std::array<float, 6> dst{};
  copy({dst.data(), contiguous(DType::kF32, {3, 2})}, {src.data(), permute(contiguous(DType::kF32, {2, 3}), {1, 0})});
  return dst;
}

/// Copies when its thread has already let go of what was made after it.
struct CopiesWhenDestroyed {
  std::array<float, 6>* out = nullptr;
  ~CopiesWhenDestroyed() {
    if (out == nullptr) return;
    for (int i = 0; i < 3; ++i) *out = transposed();
  }
};

TEST(LateCopy, WorksInDestructorsThatRunBehindTheCache) {
  std::array<float, 6> late{};
  std::thread([&] {
    static thread_local CopiesWhenDestroyed last;  // made before the thread's first copy, so destroyed after its plans
    last.out = &late;
    (void)transposed();
  }).join();
  EXPECT_EQ(late, (std::array<float, 6>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(transposed(), late);  // the process's plan is still whole
}

}  // namespace
}  // namespace restride
