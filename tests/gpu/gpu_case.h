// One copy checked on the GPU: known bytes around and inside dst, every candidate of the planner, bit by bit.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "tests/gpu/device_memory.h"
#include "tests/property/random_layout.h"

namespace restride::test {

inline constexpr std::array<std::string_view, 5> kFamilies = {"run", "rows", "tile", "packed", "gather"};

/// Runs copies between two device arenas that are kept, so that a case costs transfers and launches only.
class GpuBench {
 public:
  GpuBench();

  /// Copies as planned by default and through every other candidate and every kernel that claims the layouts.
  /// Fails the test on the first byte that differs from the naive loop's, in dst or around it, and when src changes.
  /// `dst_skew`, `src_skew`: the data pointers' addresses modulo 128.
  void check(const Case& c, std::int64_t dst_skew, std::int64_t src_skew, std::uint64_t seed);

  /// Runs one plan, made for data pointers with these skews, and checks the same.
  void check_plan(const Case& c, const Plan& plan, std::int64_t dst_skew, std::int64_t src_skew, std::uint64_t seed);

  std::int64_t copies() const noexcept { return copies_; }
  /// "run 812, rows 4011, ..." copies a family made.
  std::string claims() const;

 private:
  struct Job;
  template <class Run>
  void check_runs(const Case& c, std::int64_t dst_skew, std::int64_t src_skew, std::uint64_t seed, Run run);
  void run_candidates(Job& job);
  void run_one(Job& job, const Plan& plan, const std::string& what);

  Stream stream_;
  DeviceBuffer src_, dst_;
  std::int64_t copies_ = 0;
  std::array<std::int64_t, 5> made_{};
};

}  // namespace restride::test
