// What repeated timings say: the middle, and how far they scatter.
#pragma once

#include <vector>

namespace restride::bench {

struct Timing {
  double median_ns = 0;
  double p95_ns = 0;  ///< the 95th percentile
  double noise = 0;   ///< interquartile range over the median; 0 for fewer than two samples
};

/// Median and relative interquartile range (quartiles interpolated linearly). An empty list gives zeros.
Timing summarize(std::vector<double> samples_ns);

/// Nanoseconds on a clock that only goes forward.
double now_ns() noexcept;

}  // namespace restride::bench
