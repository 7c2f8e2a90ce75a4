// Random copies against the naive loop: every family that claims the layout, every instruction set of the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "src/api/plan_impl.h"
#include "tests/property/random_layout.h"
#include "tests/support/families.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/large_copy.h"

namespace restride::test {
namespace {

/// RESTRIDE_SEED replays one seed; RESTRIDE_CASES sets how many layouts a run draws.
std::uint64_t first_seed() {
  const char* text = std::getenv("RESTRIDE_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
}
int case_count() {
  const char* text = std::getenv("RESTRIDE_CASES");
  return text != nullptr ? std::atoi(text) : 100000;
}

struct Outcome {
  std::vector<std::uint8_t> expected;
  std::vector<std::uint8_t> before;
  std::vector<std::uint8_t> src;
};

void check_plan(const Plan::Impl& plan, Arena& src, Arena& dst, const Outcome& o, int threads) {
  dst.bytes() = o.before;
  // Below the public call, which takes no second thread for small work.
  api::run_plan(plan, dst.data(), src.data(), nullptr, threads, nullptr);
  ASSERT_EQ(dst.bytes() == o.expected, true) << "wrong bytes in or around dst";
  ASSERT_EQ(src.bytes() == o.src, true) << "src was changed";
}

/// The plan with the parameters of a large copy, on processors of either maker: stores past the caches, runs of another
/// length, flags that no bid sets, and tiles, bands and chunks small enough that a small copy has several of each. Null
/// where the planner's own limits refuse them.
std::shared_ptr<const Plan::Impl> as_for_large(const Plan::Impl& plan, Rng& rng) {
  plan::Decision decision = decided_for_large(plan, pick(rng, 0, 1) == 0);
  const std::int64_t unit = plan.canonical.dst_unit;
  const std::int64_t tile_rows = 64 / unit * pick(rng, 1, 2);
  const std::int64_t tile_cols = std::max<std::int64_t>(16 / unit, 1) * pick(rng, 1, 4);
  const bool small_tiles = pick(rng, 0, 2) != 0;
  const bool other_flags = pick(rng, 0, 3) == 0;
  for (plan::Param& p : decision.chosen.params) {
    for (const plan::ParamId flag : {plan::ParamId::kSource, plan::ParamId::kLate, plan::ParamId::kSideBySide,
                                     plan::ParamId::kOddAhead, plan::ParamId::kRecordWay, plan::ParamId::kAhead})
      if (p.id == flag && other_flags) p.value = pick(rng, 0, 1);
    if (p.id == plan::ParamId::kRecordWay && pick(rng, 0, 1) == 0) p.value = pick(rng, 0, 2);
    if (p.id == plan::ParamId::kLoop && pick(rng, 0, 3) == 0) p.value = pick(rng, 0, 4);
    if (p.id == plan::ParamId::kOrder && pick(rng, 0, 3) == 0) p.value = 2 * pick(rng, 0, 1);
    if (p.id == plan::ParamId::kRunBytes && pick(rng, 0, 1) == 0) p.value = std::int64_t{32} << pick(rng, 0, 5);
    if (!small_tiles) continue;
    if (p.id == plan::ParamId::kTileRows) p.value = tile_rows;
    if (p.id == plan::ParamId::kTileCols) p.value = tile_cols;
    if (p.id == plan::ParamId::kBandCols) p.value = tile_cols * pick(rng, 1, 4);
    if (p.id == plan::ParamId::kBlockUnits) p.value = tile_rows * pick(rng, 1, 3);
  }
  try {
    return api::with_decision(plan, decision);
  } catch (const ParseError&) {
    return nullptr;
  }
}

/// The plan as made, then as a large copy of its kind would run.
void check_family(const Case& c, Arena& src, Arena& dst, const Outcome& o, const Options& options, Rng& rng) {
  const Plan plan(c.dst, c.src, options);
  check_plan(plan.impl(), src, dst, o, options.threads);
  if (::testing::Test::HasFatalFailure() || c.dst.elements() == 0) return;
  const std::shared_ptr<const Plan::Impl> large = as_for_large(plan.impl(), rng);
  if (large == nullptr) return;
  SCOPED_TRACE("as for a large copy: " + Plan(large).serialize());
  check_plan(*large, src, dst, o, options.threads);
}

void check_every_family(const Case& c, Arena& src, Arena& dst, const Outcome& o, int threads, Rng& rng) {
  Options options;
  options.threads = threads;
  options.reshape = true;
  check_family(c, src, dst, o, options, rng);
  if (c.dst.elements() == 0) return;
  for (std::string_view family : families()) {
    if (::testing::Test::HasFatalFailure()) return;
    options.family = family;
    SCOPED_TRACE("family " + std::string(family));
    try {
      check_family(c, src, dst, o, options, rng);
    } catch (const ArgumentError&) {
      continue;  // does not claim this layout
    }
  }
}

void check_case(std::uint64_t seed, const Limits& limits) {
  Rng rng(seed);
  const Case c = random_case(rng, limits);
  SCOPED_TRACE("RESTRIDE_SEED=" + std::to_string(seed) + "  " + to_string(c.src) + " -> " + to_string(c.dst));
  Arena src(c.src, pick(rng, 0, 1) * pick(rng, 0, 63), seed);
  Arena dst(c.dst, pick(rng, 0, 1) * pick(rng, 0, 63), ~seed);
  Outcome o{{}, dst.bytes(), src.bytes()};
  naive_copy(c.dst, dst.data(), c.src, src.data());
  o.expected = dst.bytes();
  // A team is woken for each run of each family: too slow for all cases where cores are few and shared.
  const int threads = pick(rng, 0, 7) == 0 ? static_cast<int>(pick(rng, 2, 3)) : 1;
  for (const std::int64_t target : instruction_sets()) {
    const OnInstructionSet here(target);
    SCOPED_TRACE(std::string("instruction set ") + hwy::TargetName(target));
    check_every_family(c, src, dst, o, threads, rng);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(CopyProperty, EveryFamilyOnEveryInstructionSetMatchesTheNaiveLoop) {
  const std::uint64_t start = first_seed();
  const int cases = case_count();
  RecordProperty("seed", std::to_string(start));
  std::printf("first seed %llu, %d layouts, %zu instruction sets\n", static_cast<unsigned long long>(start), cases,
              instruction_sets().size());
  for (int i = 0; i < cases && !HasFatalFailure(); ++i) {
    Limits limits;
    limits.elements = i % 50 == 0 ? 60000 : 3000;
    check_case(start + static_cast<std::uint64_t>(i), limits);
  }
}

}  // namespace
}  // namespace restride::test
