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

int threads_that_pay(const layout::Canonical& c, int allowed) noexcept {
  return static_cast<int>(std::clamp(bytes_of(c) / kBytesPerThread, 1.0, static_cast<double>(allowed)));
}

Pieces pieces_of(const CommonArgs& a, const layout::Canonical& c, int threads) noexcept {
  Pieces p{a.tasks, a.align_tasks, ceil_div(a.tasks, a.align_tasks)};
  p.threads = static_cast<int>(std::clamp<std::int64_t>(p.groups, 1, std::max(threads, 1)));
  const double each = std::clamp(bytes_of(c) / kBytesPerPiece / p.threads, 1.0, static_cast<double>(kPiecesEach));
  p.count = static_cast<int>(std::clamp<std::int64_t>(p.groups, 1, p.threads * static_cast<std::int64_t>(each)));
  return p;
}

}  // namespace restride::cpu
