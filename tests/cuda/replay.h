// Replays a map over memory on the CPU: every source byte carries its own number, so a wrong address shows.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "src/cuda/kernels.h"
#include "src/cuda/planner.h"
#include "src/layout/canonical.h"

namespace restride::cuda_test {

/// The canonical form of a copy whose pointers are aligned as an allocator's are.
inline layout::Canonical canonical(const std::string& dst, const std::string& src) {
  return layout::canonicalize(parse_layout(dst), parse_layout(src), 256, 256);
}

/// What a kernel bids when the caller names it: also where it would leave the copy to another one of its family.
inline plan::Candidate bid_of(std::string_view kernel, const layout::Canonical& c,
                              const cuda::CudaMachine& machine = {}) {
  const std::span<const cuda::Kernel> rows = cuda::kernels();
  const auto at = static_cast<std::size_t>(cuda::find_kernel(kernel) - rows.data());
  std::size_t first = at, last = at;
  while (first > 0 && rows[first - 1].bid == rows[at].bid) --first;
  while (last < rows.size() && rows[last].bid == rows[at].bid) ++last;
  std::vector<plan::Candidate> bids(last - first);
  rows[at].bid({c, machine, kernel}, bids);
  bids[at - first].kernel = rows[at].name;
  return bids[at - first];
}

/// The arguments that a bid's kernel gets.
inline cuda::CudaArgs prepared(const layout::Canonical& c, const plan::Candidate& bid) {
  plan::Decision decision;
  decision.chosen = bid;
  return cuda::prepare_cuda(c, decision);
}
template <class Args>
Args args_of(const layout::Canonical& c, const plan::Candidate& bid) {
  return std::get<Args>(prepared(c, bid).args);
}
template <class Args>
Args args_of(std::string_view kernel, const layout::Canonical& c) {
  return args_of<Args>(c, bid_of(kernel, c));
}

/// The layouts of one copy, its canonical form, and which source offset belongs into which destination offset.
struct Copy {
  layout::Canonical c;
  std::int64_t dst_first = 0, dst_last = 0, src_first = 0, src_last = 0;
  /// By dst byte - dst_first; -1: not written. Where units become wider, the first of src's unit, for all of dst's.
  std::vector<std::int64_t> source_of;

  Copy(const std::string& dst, const std::string& src, std::int64_t align = 128)
      : c(layout::canonicalize(parse_layout(dst), parse_layout(src), align, align)) {
    const auto d = byte_range(parse_layout(dst));
    const auto s = byte_range(parse_layout(src));
    dst_first = d.first, dst_last = d.second, src_first = s.first, src_last = s.second;
    source_of.assign(static_cast<std::size_t>(dst_last - dst_first), -1);
    for (std::int64_t unit = 0; unit < c.units; ++unit) {
      std::int64_t n = unit, to = c.dst_offset, from = c.src_offset;
      for (const auto& m : c.modes) {
        to += n % m.extent * m.dst_stride;
        from += n % m.extent * m.src_stride;
        n /= m.extent;
      }
      for (int b = 0; b < c.dst_unit; ++b)
        source_of[static_cast<std::size_t>(to + b - dst_first)] = from + (c.src_unit < c.dst_unit ? 0 : b);
    }
  }
};

/// What a replayed map wrote: each byte exactly once, from the right source byte, inside bounds.
class Written {
 public:
  explicit Written(const Copy& copy) : copy_(copy), count_(copy.source_of.size()) {}

  void unit(std::int64_t dst, std::int64_t src, int bytes) {
    for (int b = 0; b < bytes && !testing::Test::HasFatalFailure(); ++b) byte(dst + b, src + b);
  }

  void byte(std::int64_t dst, std::int64_t src) {
    const std::int64_t at = dst - copy_.dst_first;
    ASSERT_TRUE(at >= 0 && at < static_cast<std::int64_t>(count_.size())) << "writes outside dst at byte " << dst;
    ASSERT_TRUE(src >= copy_.src_first && src < copy_.src_last) << "reads outside src at byte " << src;
    ASSERT_EQ(copy_.source_of[static_cast<std::size_t>(at)], src) << "dst byte " << dst;
    ASSERT_EQ(++count_[static_cast<std::size_t>(at)], 1) << "dst byte " << dst << " is written again";
  }

  void expect_complete() const {
    for (std::size_t i = 0; i < count_.size(); ++i)
      ASSERT_EQ(count_[i], copy_.source_of[i] >= 0 ? 1 : 0)
          << "dst byte " << static_cast<std::int64_t>(i) + copy_.dst_first;
  }

 private:
  const Copy& copy_;
  std::vector<int> count_;
};

/// Cycles that one access of shared memory takes a warp: 1 is free of conflicts. Addresses in bytes, 4-byte accesses.
inline int bank_cycles(std::span<const std::uint32_t> addresses) {
  std::vector<std::set<std::uint32_t>> words(32);
  std::size_t worst = 0;
  for (const std::uint32_t address : addresses) {
    auto& bank = words[address / 4 % 32];
    bank.insert(address / 4);
    worst = std::max(worst, bank.size());
  }
  return static_cast<int>(worst);
}

/// 32-byte sectors that a warp's accesses of `bytes` each touch.
inline int sectors_touched(std::span<const std::int64_t> addresses, int bytes) {
  std::set<std::int64_t> sectors;
  for (const std::int64_t a : addresses)
    for (std::int64_t s = a / 32; s <= (a + bytes - 1) / 32; ++s) sectors.insert(s);
  return static_cast<int>(sectors.size());
}

}  // namespace restride::cuda_test
