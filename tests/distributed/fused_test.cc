// What the engine for GPUs does before a GPU is needed; tests/gpu/exchange_test.cc runs it.
#include <gtest/gtest.h>

#include <restride/device.hpp>

#include "src/distributed/fused.h"
#include "src/distributed/program.h"
#include "tests/distributed/random_exchange.h"
#include "tests/distributed/thread_ranks.h"

namespace restride::distributed {
namespace {

using test::on_threads;
using test::pick;
using test::random_distribution;
using test::random_shape;
using test::Rng;
using Said = std::vector<std::string>;

const char* const kRows = "(6,6) as (block[0],*) over (3)";
const char* const kColumns = "(6,6) as (*,block[0]) over (3)";

Side side(const char* text, Element element = DType::kI32) { return {parse_distribution(text), element, {}}; }

ExchangeOptions on_model() {
  ExchangeOptions options;
  options.device = DeviceKind::kCuda;
  options.cuda_device = kModelDevice;
  return options;
}

std::vector<Layout> laid(Rng& rng, const Distribution& d, int rank, Element element) {
  return pick(rng, 0, 1) == 0 ? local_layouts(d, rank, element) : test::random_layouts(rng, d, rank, element);
}

/// Every rank's copies into the others' memory, planned for a GPU, and done here by their plans' layouts.
std::string stored(std::uint64_t seed) {
  Rng rng(seed);
  const int ranks = static_cast<int>(pick(rng, 1, 8));
  const std::vector<std::int64_t> shape = random_shape(rng, 5, 400);
  const Distribution src = random_distribution(rng, shape, ranks), dst = random_distribution(rng, shape, ranks, false);
  constexpr std::int64_t kSizes[] = {1, 2, 3, 4, 8, 12, 16};
  const Element element = Element::bytes(kSizes[pick(rng, 0, 6)]);
  std::vector<test::Memory> from, to, expected;
  for (int r = 0; r < ranks; ++r) {
    from.emplace_back(laid(rng, src, r, element), 0xa5).fill(src, r, seed, false);
    expected.push_back(to.emplace_back(laid(rng, dst, r, element), 0x5a));
    expected.back().fill(dst, r, seed, false);
  }
  const Exchange exchange(src, element, dst, element);
  restride::Options model;
  model.device = DeviceKind::kCuda;
  model.cuda_device = kModelDevice;
  for (int r = 0; r < ranks; ++r) {
    const auto mine = static_cast<std::size_t>(r);
    PlanStore plans(model);
    StepMaker make(exchange.impl(), 0, plans);
    for (const PairParts& pair : exchange.impl().sends(r)) {
      const auto peer = static_cast<std::size_t>(pair.peer);
      std::vector<CopyStep> steps;
      make.straight(pair, from[mine].layouts(), to[peer].layouts(), steps);
      for (const CopyStep& s : steps) {
        const restride::Plan& p = plans.plan(s.plan);
        if (p.device() != DeviceKind::kCuda) return "a plan for the host";
        copy({static_cast<std::byte*>(to[peer].data()) + s.dst_offset, p.dst()},
             {static_cast<const std::byte*>(from[mine].data()) + s.src_offset, p.src()});
      }
    }
  }
  for (std::size_t r = 0; r < to.size(); ++r)
    if (to[r].bytes() != expected[r].bytes())
      return "seed " + std::to_string(seed) + ", rank " + std::to_string(r) + ": " + to_string(src) + " -> " +
             to_string(dst);
  return {};
}

TEST(Fused, RanksStoreEveryElementIntoTheOthersMemoryAndNothingElse) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) ASSERT_EQ(stored(seed), "");
}

TEST(Fused, APlanForAModelIsExplainedWithoutAGpuAndRunsNothing) {
  Threads world(3);
  for (const std::string& wrong : on_threads(world, [](Comm& comm) -> std::string {
         Plan p = plan(side(kRows), side(kColumns), comm, on_model());
         if (p.method() != Method::kDirect || p.workspace_bytes() != 0) return "method or workspace";
         if (p.sent_bytes() != 32 || p.received_bytes() != 32) return "bytes";
         const std::string text = p.explain();
         if (text.find("engine     fused of 3 by threads: planned for a model of a GPU\n") == std::string::npos)
           return text;
         std::vector<std::int32_t> from(12), to(12, 7);
         try {
           p.run(to.data(), from.data());
         } catch (const DeviceError& e) {
           return to == std::vector<std::int32_t>(12, 7) ? "" : "written";
         }
         return "no error";
       }))
    EXPECT_EQ(wrong, "");
}

TEST(Fused, HostAndDeviceOnUnlikeRanksIsAnErrorOnAll) {
  Threads world(3);
  const Said said = on_threads(world, [](Comm& comm) -> std::string {
    plan(side(kRows), side(kColumns), comm, comm.rank() == 1 ? ExchangeOptions() : on_model());
    return "no error";
  });
  EXPECT_EQ(said, Said(3,
                       "AgreementError: rank 1 has another method, kind of device, or other checks, than rank 0; plan "
                       "with the same on all ranks"));
}

TEST(Fused, ARankWithoutAGpuIsNamedOnTheOthers) {
  if (!cuda_status().devices.empty()) GTEST_SKIP() << "there is a GPU";
  Threads world(2);
  const Said said = on_threads(world, [](Comm& comm) -> std::string {
    ExchangeOptions options = on_model();
    if (comm.rank() == 1) options.cuda_device = 0;
    try {
      plan(side("(4) as (block[0]) over (2)"), side("(4) as (cyclic[0]) over (2)"), comm, options);
    } catch (const DeviceError& e) {
      return "DeviceError: " + std::string(e.what()).substr(0, 8);
    }
    return "no error";
  });
  EXPECT_EQ(said, (Said{"AgreementError: rank 1 could not plan: see the error there; dst is as it was",
                        "DeviceError: no GPU: "}));
}

TEST(Fused, AStreamIsRefusedForMemoryOfTheHost) {
  Threads world(1);
  Plan p = plan(side("(2) as (*) over (1)"), side("(2) as (*) over (1)"), world.comm(0));
  std::int32_t from[2] = {1, 2}, to[2] = {};
  EXPECT_THROW(p.run(to, from, from), ArgumentError);
  EXPECT_EQ(to[0], 0);
  p.run(to, from);
  EXPECT_EQ(to[1], 2);
}

/// One rank, as of an engine whose ranks are processes.
struct Alone final : Comm {
  int rank() const noexcept override { return 0; }
  int size() const noexcept override { return 1; }
  std::string_view engine() const noexcept override { return "alone"; }
  void allgather(const void* mine, void* all, std::int64_t bytes, std::string_view, Deadline) override {
    std::copy_n(static_cast<const std::byte*>(mine), bytes, static_cast<std::byte*>(all));
  }
  std::unique_ptr<Posted> post(std::span<const Message>, std::int64_t, std::string_view) override { return nullptr; }
  void abort(const std::string&) override {}
};

TEST(Fused, TakesAnyCommAndNoOtherMethod) {
  Alone comm;
  ExchangeOptions options = on_model();
  Plan p = plan(side("(2) as (*) over (1)"), side("(2) as (*) over (1)"), comm, options);
  EXPECT_NE(p.explain().find("engine     fused of 1 by alone"), std::string::npos) << p.explain();
  options.method = Method::kMessages;
  EXPECT_THROW(plan(side("(2) as (*) over (1)"), side("(2) as (*) over (1)"), comm, options), ArgumentError);
}

}  // namespace
}  // namespace restride::distributed
