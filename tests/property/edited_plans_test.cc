// Plans come from files, and files get edited: whatever parameters a plan claims, it is refused in words, or it copies
// right. Parameters of random plans are changed to hostile and to plausible values.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/cpu/family.h"
#include "tests/property/random_layout.h"
#include "tests/support/families.h"

namespace restride::test {
namespace {

std::int64_t edited(Rng& rng, std::int64_t value) {
  static const std::int64_t kValues[] = {
      -7, -1, 0, 1, 2, 3, 5, 6, 7, 8, 13, 16, 31, 32, 64, 96, 128, 1000, 8192, std::int64_t{1} << 40, INT64_MAX};
  switch (pick(rng, 0, 3)) {
    case 0: return value > INT64_MAX - 3 || value < INT64_MIN + 3 ? 0 : value + pick(rng, -3, 3);
    case 1: return value > INT64_MAX / 2 || value < INT64_MIN / 2 ? 1 : value * 2;
    default: return kValues[pick(rng, 0, static_cast<std::int64_t>(std::size(kValues)) - 1)];
  }
}

/// A plan of this family for the case, with up to three parameters edited; null when it does not apply or is refused.
std::shared_ptr<const Plan::Impl> edited_plan(Rng& rng, const Case& c, std::string_view family) {
  Options options;
  options.family = family;
  options.reshape = true;
  try {
    const Plan plan(c.dst, c.src, options);
    plan::Decision decision = plan.impl().decision;
    plan::Params& params = decision.chosen.params;
    if (pick(rng, 0, 2) == 0 && !params.full()) {  // one that the family does not offer here
      const auto any = static_cast<plan::ParamId>(pick(rng, 0, plan::kParamCount - 1));
      const bool near = pick(rng, 0, 2) == 0;
      params.push_back({near ? plan::ParamId::kNear : any, pick(rng, 0, 1) == 0 ? 1 : edited(rng, 1)});
      if (pick(rng, 0, 1) == 0) return api::with_decision(plan.impl(), decision);
    }
    if (params.empty()) return nullptr;
    for (std::int64_t n = pick(rng, 1, 3); n > 0; --n) {
      plan::Param& p = params[static_cast<std::size_t>(pick(rng, 0, static_cast<std::int64_t>(params.size()) - 1))];
      p.value = edited(rng, p.value);
    }
    return api::with_decision(plan.impl(), decision);
  } catch (const Error&) {
    return nullptr;
  }
}

TEST(EditedPlans, AreRefusedOrCopyRight) {
  std::int64_t ran = 0;
  for (std::uint64_t seed = 1; seed <= 4000 && !HasFailure(); ++seed) {
    Rng rng(seed);
    Limits limits;
    limits.elements = 3000;
    const Case c = random_case(rng, limits);
    for (const std::string_view family : families()) {
      const auto plan = edited_plan(rng, c, family);
      if (plan == nullptr) continue;
      ++ran;
      SCOPED_TRACE("seed " + std::to_string(seed) + ": " + Plan(plan).serialize());
      expect_like_naive(*plan, 13, false, 1);
    }
  }
  EXPECT_GT(ran, 500) << "too few edits leave a plan that runs to tell much";
}

}  // namespace
}  // namespace restride::test
