// Running one family on literal layouts, on every instruction set of the host, against the naive loop.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/api/plan_impl.h"
#include "tests/property/random_layout.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/large_copy.h"

namespace restride::test {

/// Parameters to put in place of the planner's, such as those of a large copy, on a small one.
using Edits = std::initializer_list<std::pair<plan::ParamId, std::int64_t>>;

inline const Edits kStreamed = {{plan::ParamId::kStream, 1}};
inline const Edits kStreamedNear = {{plan::ParamId::kStream, 1}, {plan::ParamId::kNear, 1}};

/// The decision for a copy like `plan`, of the size that edits of `stream` and `near` say: the planner chooses other
/// parameters by it.
inline plan::Decision decided_for(const Plan::Impl& plan, const Edits& edits) {
  const auto sets = [&](plan::ParamId flag) {
    return std::any_of(edits.begin(), edits.end(), [&](const auto& e) { return e.first == flag && e.second != 0; });
  };
  return sets(plan::ParamId::kStream) ? decided_for_large(plan, sets(plan::ParamId::kNear)) : plan.decision;
}

inline void edit(const Edits& edits, plan::Params* params) {
  for (const auto& [id, value] : edits) {
    const auto at =
        std::find_if(params->begin(), params->end(), [wanted = id](const plan::Param& p) { return p.id == wanted; });
    ASSERT_NE(at, params->end()) << "no parameter " << plan::name(id);
    at->value = value;
  }
}

/// A run of `plan` against the naive loop: the bytes of dst, those around it, and those of src.
inline void expect_like_naive(const Plan::Impl& plan, std::int64_t dst_skew, bool dst_on_line, int threads) {
  Arena src(plan.src, 5, 1);
  Arena dst(plan.dst, dst_skew, 2);
  auto* to = static_cast<std::byte*>(dst.data());
  if (dst_on_line)  // back into the margin
    to -= (reinterpret_cast<std::uintptr_t>(to) + static_cast<std::uintptr_t>(plan.dst.offset_bytes)) % 64;
  const std::vector<std::uint8_t> before = dst.bytes();
  const std::vector<std::uint8_t> src_before = src.bytes();
  naive_copy(plan.dst, to, plan.src, src.data());
  const std::vector<std::uint8_t> expected = dst.bytes();
  dst.bytes() = before;  // of the same size, so `to` stays good
  api::run_plan(plan, to, src.data(), nullptr, threads, nullptr);
  EXPECT_TRUE(dst.bytes() == expected) << "wrong bytes in or around dst";
  EXPECT_TRUE(src.bytes() == src_before) << "src was changed";
}

/// Forces `family`, or a kernel, with `edits` on every instruction set. dst starts at `dst_skew` and, once more, on a
/// line.
inline void expect_exact(std::string_view family, std::string_view dst, std::string_view src, Edits edits = {},
                         std::int64_t dst_skew = 13, int threads = 1) {
  Options options;
  options.family = family;
  options.reshape = true;
  for (const std::int64_t target : instruction_sets()) {
    const OnInstructionSet here(target);
    const Plan planned(parse_layout(dst), parse_layout(src), options);
    plan::Decision decision = decided_for(planned.impl(), edits);
    edit(edits, &decision.chosen.params);
    const auto plan = api::with_decision(planned.impl(), decision);
    for (const bool on_line : {false, true}) {
      SCOPED_TRACE(std::string(hwy::TargetName(target)) + (on_line ? ", on a line: " : ": ") + Plan(plan).serialize());
      expect_like_naive(*plan, dst_skew, on_line, threads);
    }
  }
}

/// Runs the tasks of a copy into a dense dst one by one: together they write each byte once.
inline void expect_disjoint_tasks(std::string_view family, std::string_view dst, std::string_view src) {
  Options options;
  options.family = family;
  options.reshape = true;
  const Plan planned(parse_layout(dst), parse_layout(src), options);
  const Plan::Impl& plan = planned.impl();
  const std::vector<std::byte> from(static_cast<std::size_t>(byte_range(plan.src).second), std::byte{0xff});
  std::vector<std::byte> to(static_cast<std::size_t>(plan.dst.bytes()));
  const cpu::CommonArgs& a = plan.cpu.common();
  const auto* src_base = from.data() + plan.canonical.src_offset + a.src_shift;
  std::int64_t written = 0;
  for (std::int64_t task = 0; task < a.tasks; task += a.align_tasks) {
    std::fill(to.begin(), to.end(), std::byte{0});
    plan.cpu.run(to.data() + plan.canonical.dst_offset + a.dst_shift, src_base, task,
                 std::min(task + a.align_tasks, a.tasks));
    written += std::count(to.begin(), to.end(), std::byte{0xff});
  }
  EXPECT_GT(a.tasks, a.align_tasks) << planned.explain();
  EXPECT_EQ(written, plan.dst.bytes()) << planned.explain();
}

}  // namespace restride::test
