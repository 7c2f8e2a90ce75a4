// One plan, many copies: a batch of matrices is transposed frame after frame, from two threads at once.
#include <cstdio>
#include <thread>
#include <vector>

#include <restride/restride.hpp>

int main() {
  using namespace restride;
  const Layout src = contiguous(DType::kF32, {16, 64, 48});
  const Layout dst = contiguous(DType::kF32, {16, 48, 64});
  const Layout src_transposed = permute(src, {0, 2, 1});

  // Planning, and every error, happens here. A plan is immutable; running it neither allocates nor throws.
  Options one_thread;
  one_thread.threads = 1;  // the two threads below are ours
  const Plan plan(dst, src_transposed, one_thread);
  std::printf("family %s, %lld bytes a frame\n", std::string(plan.family()).c_str(),
              static_cast<long long>(src.bytes()));

  constexpr int kFrames = 8;
  const auto count = static_cast<std::size_t>(src.elements());
  std::vector<std::vector<float>> in(kFrames, std::vector<float>(count)), out = in;
  for (int f = 0; f < kFrames; ++f)
    for (std::size_t i = 0; i < count; ++i) in[f][i] = static_cast<float>(f * 1000 + static_cast<int>(i % 997));

  const auto work = [&](int first) {
    for (int f = first; f < kFrames; f += 2) plan.run(out[f].data(), in[f].data());
  };
  std::thread other(work, 1);
  work(0);
  other.join();

  for (int f = 0; f < kFrames; ++f)
    for (int b = 0; b < 16; ++b)
      for (int r = 0; r < 48; ++r)
        for (int c = 0; c < 64; ++c)
          if (out[f][(b * 48 + r) * 64 + c] != in[f][(b * 64 + c) * 48 + r]) return 1;
  return 0;
}
