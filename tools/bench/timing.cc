#include "tools/bench/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace restride::bench {
namespace {

double quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(std::floor(position));
  const auto high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (position - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

}  // namespace

Timing summarize(std::vector<double> samples_ns) {
  if (samples_ns.empty()) return {};
  std::sort(samples_ns.begin(), samples_ns.end());
  Timing out;
  out.median_ns = quantile(samples_ns, 0.5);
  out.p95_ns = quantile(samples_ns, 0.95);
  if (out.median_ns > 0) out.noise = (quantile(samples_ns, 0.75) - quantile(samples_ns, 0.25)) / out.median_ns;
  return out;
}

double now_ns() noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace restride::bench
