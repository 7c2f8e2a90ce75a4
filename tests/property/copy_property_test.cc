// Random copies against the naive loop: every family that claims the layout, every instruction set of the host.
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cstdlib>
#include <cstring>

#include "src/api/plan_impl.h"
#include "tests/property/random_layout.h"

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
};

void check_family(const Case& c, Arena& src, Arena& dst, const Outcome& o, const Options& options) {
  dst.bytes() = o.before;
  const std::vector<std::uint8_t> src_before = src.bytes();
  // Below the public call, which takes no second thread for small work.
  const Plan plan(c.dst, c.src, options);
  api::run_plan(plan.impl(), dst.data(), src.data(), nullptr, options.threads, nullptr);
  ASSERT_EQ(dst.bytes() == o.expected, true) << "wrong bytes in or around dst";
  ASSERT_EQ(src.bytes() == src_before, true) << "src was changed";
}

void check_case(std::uint64_t seed, const Limits& limits) {
  Rng rng(seed);
  const Case c = random_case(rng, limits);
  SCOPED_TRACE("RESTRIDE_SEED=" + std::to_string(seed) + "  " + to_string(c.src) + " -> " + to_string(c.dst));
  Arena src(c.src, pick(rng, 0, 1) * pick(rng, 0, 63), seed);
  Arena dst(c.dst, pick(rng, 0, 1) * pick(rng, 0, 63), ~seed);
  Outcome o{dst.bytes(), dst.bytes()};
  {
    Arena reference(c.dst, 0, 0);
    std::vector<std::uint8_t> saved = dst.bytes();
    naive_copy(c.dst, dst.data(), c.src, src.data());
    o.expected = dst.bytes();
    dst.bytes() = saved;
  }
  Options options;
  options.threads = static_cast<int>(pick(rng, 1, 3));
  check_family(c, src, dst, o, options);
  if (::testing::Test::HasFatalFailure()) return;
  if (c.dst.elements() == 0) return;
  for (std::string_view family : {"run", "rows", "tile", "packed", "gather"}) {
    options.family = family;
    try {
      Plan(c.dst, c.src, options);
    } catch (const ArgumentError&) {
      continue;  // does not claim this layout
    }
    SCOPED_TRACE("family " + std::string(family));
    check_family(c, src, dst, o, options);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(CopyProperty, EveryFamilyOnEveryInstructionSetMatchesTheNaiveLoop) {
  const std::uint64_t start = first_seed();
  const std::int64_t targets = hwy::SupportedTargets();
  std::vector<std::int64_t> each;
  for (std::int64_t rest = targets; rest != 0; rest &= rest - 1) each.push_back(rest & -rest);
  const int cases = case_count();
  RecordProperty("seed", std::to_string(start));
  std::printf("first seed %llu, %d layouts, %zu instruction sets\n", static_cast<unsigned long long>(start), cases, each.size());
  for (int i = 0; i < cases; ++i) {
    const std::int64_t target = each[static_cast<std::size_t>(i) % each.size()];
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    Limits limits;
    limits.elements = i % 50 == 0 ? 60000 : 3000;
    SCOPED_TRACE(std::string("instruction set ") + hwy::TargetName(target));
    check_case(start + static_cast<std::uint64_t>(i), limits);
    if (HasFatalFailure()) break;
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
}

}  // namespace
}  // namespace restride::test
