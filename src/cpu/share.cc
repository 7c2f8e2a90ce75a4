#include "src/cpu/share.h"

#include <algorithm>

#include "src/base/checked.h"

namespace restride::cpu {

int threads_that_pay(const layout::Canonical& c, int allowed) noexcept {
  const double bytes =
      static_cast<double>(c.dst_bytes()) + static_cast<double>(c.src_bytes());  // 63 bits may not hold it
  return static_cast<int>(std::clamp(bytes / kBytesPerThread, 1.0, static_cast<double>(allowed)));
}

Shares shares_of(const CommonArgs& a, int threads) noexcept {
  const std::int64_t groups = ceil_div(a.tasks, a.align_tasks);
  const std::int64_t count = std::clamp<std::int64_t>(groups, 1, std::max(threads, 1));
  return {count, ceil_div(groups, count) * a.align_tasks};
}

}  // namespace restride::cpu
