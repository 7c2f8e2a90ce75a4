#include "src/cpu/share.h"

#include <algorithm>

#include "src/base/checked.h"

namespace restride::cpu {
namespace {

/// 63 bits may not hold it.
double bytes_of(const layout::Canonical& c) noexcept {
  return static_cast<double>(c.dst_bytes()) + static_cast<double>(c.src_bytes());
}

}  // namespace

Pieces pieces_of(const CommonArgs& a, std::int64_t wanted) noexcept {
  Pieces p{a.tasks, a.align_tasks, ceil_div(a.tasks, a.align_tasks)};
  p.count = static_cast<int>(std::clamp<std::int64_t>(p.groups, 1, std::max<std::int64_t>(wanted, 1)));
  return p;
}

int threads_that_pay(const layout::Canonical& c, int allowed) noexcept { return work_of(c, 1, allowed).threads; }

Work work_of(const layout::Canonical& c, double copies, int allowed) noexcept {
  const double bytes = bytes_of(c) * copies;
  Work w;
  w.threads = static_cast<int>(std::clamp(bytes / kBytesPerThread, 1.0, std::max(1.0, static_cast<double>(allowed))));
  w.pieces = w.threads;
  if (w.threads > 1)
    w.pieces *= static_cast<std::int64_t>(
        std::clamp(bytes / kBytesPerPiece / w.threads, 1.0, static_cast<double>(kPiecesEach)));
  return w;
}

}  // namespace restride::cpu
