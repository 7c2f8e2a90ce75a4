// A cache of keys: the heads of each new token go into their place in (batch, head, position, d), and what has come so
// far is read back as (batch, position, head, d) in float.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <restride/restride.hpp>

int main() {
  using namespace restride;
  constexpr std::int64_t kBatch = 2, kHeads = 4, kPositions = 32, kDepth = 64, kTokens = 5;
  const Layout cache = contiguous(DType::kF16, {kBatch, kHeads, kPositions, kDepth});
  const Layout token = contiguous(DType::kF32, {kBatch, 1, kHeads, kDepth});  // as a projection writes it
  std::vector<std::uint16_t> keys(static_cast<std::size_t>(cache.elements()));
  std::vector<float> fresh(static_cast<std::size_t>(token.elements()));

  for (std::int64_t t = 0; t < kTokens; ++t) {
    for (std::size_t i = 0; i < fresh.size(); ++i) fresh[i] = static_cast<float>(t * 100 + static_cast<int>(i % 100));
    // The plan is found in a cache wherever the slice lies, so this costs one look-up a token.
    copy({keys.data(), slice(cache, 2, t, t + 1)}, {fresh.data(), permute(token, {0, 2, 1, 3})});
  }

  const Layout seen = permute(slice(cache, 2, 0, kTokens), {0, 2, 1, 3});
  std::vector<float> out(static_cast<std::size_t>(seen.elements()));
  copy({out.data(), contiguous(DType::kF32, {kBatch, kTokens, kHeads, kDepth})}, {keys.data(), seen});
  for (std::int64_t b = 0, at = 0; b < kBatch; ++b)
    for (std::int64_t t = 0; t < kTokens; ++t)
      for (std::int64_t i = 0; i < kHeads * kDepth; ++i, ++at)
        if (out[static_cast<std::size_t>(at)] != static_cast<float>(t * 100 + (b * kHeads * kDepth + i) % 100))
          return 1;
  std::printf("%lld tokens of %lld heads came back\n", static_cast<long long>(kTokens), static_cast<long long>(kHeads));
  return 0;
}
