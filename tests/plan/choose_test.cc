#include "src/plan/choose.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/throws.h"

namespace restride::plan {
namespace {

Candidate bid(Family family, std::string_view kernel, double time_ns) {
  Candidate k;
  k.kernel = {family, kernel};
  k.applies = true;
  k.predicted.time_ns = time_ns;
  return k;
}

Candidate refusal(Family family, std::string_view kernel, std::string_view reason) {
  Candidate k;
  k.kernel = {family, kernel};
  k.reason = reason;
  return k;
}

Decision chosen_of(const std::vector<Candidate>& bids, std::string_view forced = {}) {
  std::vector<const Candidate*> all;
  for (const Candidate& k : bids) all.push_back(&k);
  return choose(DeviceKind::kCpu, "a machine", all, {}, forced);
}

std::vector<std::string_view> order_of(const Decision& d) {
  std::vector<std::string_view> names{d.chosen.kernel.text};
  for (const Candidate& k : d.others) names.push_back(k.kernel.text);
  return names;
}

const std::vector<Candidate> kBids = {refusal(Family::kRun, "run/a", "it is no run"),
                                      bid(Family::kRows, "rows/a", 30),
                                      bid(Family::kTile, "tile/a", 20),
                                      bid(Family::kTile, "tile/b", 10),
                                      refusal(Family::kPacked, "packed/a", "it is not short"),
                                      bid(Family::kGather, "gather/a", 20)};

TEST(Choose, TakesTheCheapestAndOrdersTheOthersWithRefusalsLast) {
  const Decision d = chosen_of(kBids);
  EXPECT_EQ(order_of(d),
            (std::vector<std::string_view>{"tile/b", "tile/a", "gather/a", "rows/a", "run/a", "packed/a"}));
  EXPECT_EQ(d.device, DeviceKind::kCpu);
}

TEST(Choose, TakesTheFirstOfTheRegistryWhereBidsAreEqual) {
  const Decision d = chosen_of({bid(Family::kRows, "rows/a", 5), bid(Family::kTile, "tile/a", 5)});
  EXPECT_EQ(d.chosen.kernel.text, "rows/a");
}

TEST(Choose, ForcesAFamilysCheapestKernelOrTheKernelItself) {
  EXPECT_EQ(chosen_of(kBids, "tile").chosen.kernel.text, "tile/b");
  EXPECT_EQ(chosen_of(kBids, "tile/a").chosen.kernel.text, "tile/a");
  EXPECT_EQ(order_of(chosen_of(kBids, "gather"))[1], "tile/b");
}

TEST(Choose, RefusesANameThatTheEngineDoesNotHaveAndListsItsOwn) {
  const auto message = [](std::string_view forced) {
    return test::message_of<ArgumentError>([&] { chosen_of(kBids, forced); });
  };
  EXPECT_TRUE(test::holds(message("magic"), "the CPU has no family 'magic'",
                          "use one of run, rows, tile, packed, gather", "tile/a, tile/b"));
  EXPECT_TRUE(test::holds(message("tile/magic"), "the CPU has no kernel 'tile/magic'", "tile/a, tile/b"));
  EXPECT_FALSE(test::holds(message("buffered"), "use one of run, rows, tile, packed, buffered"));
}

TEST(Choose, SaysWhyAForcedKernelDoesNotApply) {
  const auto message = [](std::string_view forced) {
    return test::message_of<ArgumentError>([&] { chosen_of(kBids, forced); });
  };
  EXPECT_TRUE(test::holds(message("packed"), "family 'packed' does not apply", "packed/a: it is not short",
                          "leave the choice to the planner"));
  EXPECT_TRUE(test::holds(message("run/a"), "kernel 'run/a' does not apply", "it is no run"));
}

TEST(Choose, HasADecisionForACopyOfNothing) {
  const Decision d = nothing_to_do(DeviceKind::kCuda, "a machine");
  EXPECT_EQ(d.device, DeviceKind::kCuda);
  EXPECT_EQ(d.chosen.kernel, KernelName{});
  EXPECT_TRUE(d.chosen.applies);
  EXPECT_TRUE(d.others.empty());
}

}  // namespace
}  // namespace restride::plan
