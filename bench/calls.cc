// What a call costs beside its kernel, on the CPU: many pairs by one plan (Plan::run_many), a cached copy, a copy of a
// slice that moves. Prints JSON; the least of many turns, because other work only adds to them.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include <restride/restride.hpp>

using namespace restride;

namespace {

double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The least mean time of `calls` calls, over `turns` turns of all in turn.
template <class... Works>
std::vector<double> least_ns(int turns, int calls, const Works&... works) {
  std::vector<double> least(sizeof...(works), 1e18);
  for (int turn = 0; turn < turns; ++turn) {
    std::size_t i = 0;
    const auto time = [&](const auto& work) {
      work(0);
      const double begin = now_ns();
      for (int call = 0; call < calls; ++call) work(call);
      least[i] = std::min(least[i], (now_ns() - begin) / calls);
      ++i;
    };
    (time(works), ...);
  }
  return least;
}

Options threads(int n) {
  Options options;
  options.device = DeviceKind::kCpu;
  options.threads = n;
  return options;
}

/// 1,000 pairs of 4 KiB in any order against one copy of their bytes.
void many(int n) {
  constexpr std::size_t kPairs = 1000, kBytes = 4096;
  std::vector<char> from(kPairs * kBytes, 1), to(kPairs * kBytes);
  std::vector<void*> dst;
  std::vector<const void*> src;
  for (std::size_t i = 0; i < kPairs; ++i) {
    dst.push_back(to.data() + i * kBytes);
    src.push_back(from.data() + i * kBytes);
  }
  std::mt19937 random(7);
  std::shuffle(dst.begin(), dst.end(), random);
  std::shuffle(src.begin(), src.end(), random);
  const Layout piece = contiguous(DType::kF32, {1024}), all = contiguous(DType::kF32, {1024 * 1000});
  const Plan one(piece, piece, threads(n)), whole(all, all, threads(n));
  const auto ns = least_ns(
      600, 1, [&](int) { one.run_many(dst, src); }, [&](int) { whole.run(to.data(), from.data()); },
      [&](int) { std::memcpy(to.data(), from.data(), from.size()); });
  std::printf(
      " \"run_many of 1000 pairs of 4 KiB, %d thread%s\": {\"ns\": %.0f, \"one_copy_ns\": %.0f, \"memcpy_ns\": %.0f, "
      "\"ratio_to_one_copy\": %.3f},\n",
      n, n == 1 ? "" : "s", ns[0], ns[1], ns[2], ns[1] / ns[0]);
}

void cached_copy() {
  std::vector<float> from(256, 1), to(256);
  const Layout dst = contiguous(DType::kF32, {16, 16}), src = permute(dst, {1, 0});
  const Plan plan(dst, src, threads(1));
  const Options options = threads(1);
  const auto ns = least_ns(
      60, 20000, [&](int) { plan.run(to.data(), from.data()); },
      [&](int) {
        copy({to.data(), dst}, ConstTensor{from.data(), src}, options);
      });
  std::printf(" \"16 x 16 f32 transposed\": {\"plan_ns\": %.1f, \"cached_copy_ns\": %.1f, \"above_ns\": %.1f},\n",
              ns[0], ns[1], ns[1] - ns[0]);
}

/// A cache that grows by a token: 8 heads of 64 elements f16 into (8, 4096, 64) at every token.
void moving_slice() {
  std::vector<char> cache(8 * 4096 * 64 * 2), token(8 * 64 * 2, 1);
  const Layout all = contiguous(DType::kF16, {8, 4096, 64}), one = contiguous(DType::kF16, {8, 1, 64});
  const Options options = threads(1);
  std::vector<Layout> slices;
  for (std::int64_t t = 0; t < 4096; ++t) slices.push_back(slice(all, 1, t, t + 1));
  const Plan plan(slices[0], one, options);
  const auto ns = least_ns(
      60, 4096,
      [&](int t) {
        copy({cache.data(), slices[static_cast<std::size_t>(t)]}, ConstTensor{token.data(), one}, options);
      },
      [&](int t) { plan.run(cache.data() + t * 128, token.data()); });
  std::printf(" \"a slice of 8 x 64 f16 that moves\": {\"copy_ns\": %.1f, \"plan_ns\": %.1f}}\n", ns[0], ns[1]);
}

}  // namespace

int main() {
  std::printf("{\"command\": \"bench/calls.cc\",\n");
  many(1);
  many(2);
  cached_copy();
  moving_slice();
}
