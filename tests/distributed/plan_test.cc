#include <gtest/gtest.h>

#include <numeric>

#include "tests/distributed/thread_ranks.h"

namespace restride::distributed {
namespace {

using test::on_threads;

Side side(const char* text, Element element = DType::kI32, std::vector<Layout> local = {}) {
  return {parse_distribution(text), element, std::move(local)};
}

/// What planning alone throws on one rank.
std::string refused(const Side& src, const Side& dst, const ExchangeOptions& options = {}) {
  Threads world(1);
  try {
    plan(src, dst, world.comm(0), options);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(ExchangePlan, PermutesByTheLayoutsStrides) {
  // The rank's memory has the axes the other way round on the target's side: a local transpose on the way.
  Threads world(1);
  std::vector<std::int32_t> from(6), to(6);
  std::iota(from.begin(), from.end(), 0);
  const Layout transposed = permute(contiguous(DType::kI32, {3, 2}), {1, 0});
  plan(side("(2,3) as (*,*) over (1)"), side("(2,3) as (*,*) over (1)", DType::kI32, {transposed}), world.comm(0))
      .run(to.data(), from.data());
  EXPECT_EQ(to, (std::vector<std::int32_t>{0, 3, 1, 4, 2, 5}));
}

TEST(ExchangePlan, CastsOnTheWay) {
  Threads world(2);
  for (Method method : {Method::kDirect, Method::kMessages})
    for (const std::string& wrong : on_threads(world, [method](Comm& comm) -> std::string {
           ExchangeOptions options;
           options.method = method;
           Plan p = plan(side("(4) as (block[0]) over (2)", DType::kF32),
                         side("(4) as (cyclic[0]) over (2)", DType::kI16), comm, options);
           if (p.sent_bytes() != 2) return "the smaller element crosses";
           const std::vector<float> from{comm.rank() * 2 + 0.75F, comm.rank() * 2 + 1.75F};
           std::vector<std::int16_t> to(2);
           p.run(to.data(), from.data());
           const auto r = static_cast<std::int16_t>(comm.rank());
           return to == std::vector<std::int16_t>{r, static_cast<std::int16_t>(r + 2)} ? "" : "wrong elements";
         }))
      EXPECT_EQ(wrong, "") << name(method);
}

TEST(ExchangePlan, TakesSeveralTensorsInOneExchange) {
  Threads world(2);
  for (const std::string& wrong : on_threads(world, [](Comm& comm) -> std::string {
         const std::vector<Transfer> both{
             {side("(4) as (block[0]) over (2)"), side("(4) as (cyclic[0]) over (2)")},
             {side("(2,2) as (block[0],*) over (2)", DType::kU8), side("(2,2) as (*,block[0]) over (2)", DType::kU8)}};
         ExchangeOptions options;
         options.method = Method::kMessages;
         Plan p = plan(both, comm, options);
         const std::int32_t r = comm.rank();
         const std::vector<std::int32_t> a{2 * r, 2 * r + 1};
         const std::vector<std::uint8_t> b{static_cast<std::uint8_t>(2 * r), static_cast<std::uint8_t>(2 * r + 1)};
         std::vector<std::int32_t> to_a(2);
         std::vector<std::uint8_t> to_b(2);
         void* dst[] = {to_a.data(), to_b.data()};
         const void* src[] = {a.data(), b.data()};
         p.run_all(dst, src);
         if (p.tensors() != 2 || p.exchange(1).wire_element() != Element(DType::kU8)) return "tensors";
         return to_a[1] == r + 2 && to_b[1] == r + 2 ? "" : "wrong elements";
       }))
    EXPECT_EQ(wrong, "");
}

TEST(ExchangePlan, RefusesWhatDoesNotFitBeforeAnythingIsSent) {
  const char* whole = "(2,3) as (*,*) over (1)";
  EXPECT_NE(refused(side(whole),
                    side(whole, DType::kI32,
                         {strided(DType::kI32, std::vector<std::int64_t>{2, 3}, std::vector<std::int64_t>{4, 4})}))
                .find("twice"),
            std::string::npos);
  EXPECT_NE(refused(side(whole), side(whole, DType::kI32, {contiguous(DType::kI32, {6})})).find("one mode an axis"),
            std::string::npos);
  EXPECT_NE(refused(side(whole), side(whole, DType::kI32, {contiguous(DType::kF32, {2, 3})})).find("use one element"),
            std::string::npos);
  EXPECT_NE(
      refused(side(whole), side(whole, DType::kI32, {contiguous(DType::kI32, {2, 3}), contiguous(DType::kI32, {2, 3})}))
          .find("1 regions"),
      std::string::npos);
  ExchangeOptions options;
  options.deadline = std::chrono::milliseconds(0);
  EXPECT_NE(refused(side(whole), side(whole), options).find("deadline"), std::string::npos);
  options = {};
  options.threads = -1;
  EXPECT_NE(refused(side(whole), side(whole), options).find("threads"), std::string::npos);
  options = {};
  options.most_workspace_bytes = -1;
  EXPECT_NE(refused(side(whole), side(whole), options).find("or 0 for no bound"), std::string::npos);
  options.most_workspace_bytes = 15;
  options.method = Method::kMessages;
  EXPECT_NE(refused(side(whole), side(whole), options).find("no room for four elements of i32"), std::string::npos);
  options = {};
  options.method = Method::kAlltoallv;
  EXPECT_NE(refused(side(whole), side(whole), options).find("threads has no method alltoallv"), std::string::npos);
  Threads world(1);
  EXPECT_THROW(plan(std::vector<Transfer>{}, world.comm(0)), ArgumentError);
  Plan p = plan(side(whole), side(whole), world.comm(0));
  EXPECT_THROW(p.wait(), ArgumentError);
  EXPECT_THROW(p.run_all({}, {}), ArgumentError);
  EXPECT_THROW(p.exchange(1), ArgumentError);
}

TEST(ExchangePlan, ExplainsWhatThisRankDoes) {
  Threads world(1);
  const Plan p = plan(side("(2,3) as (*,*) over (1)"), side("(2,3) as (*,*) over (1)"), world.comm(0));
  EXPECT_NE(p.explain().find("engine     direct of 1 by threads\n"), std::string::npos) << p.explain();
  EXPECT_NE(p.explain().find("here       rank 0 sends 0 bytes, gets 0, has 0 bytes of workspace and 1 copy plans\n"),
            std::string::npos);
}

}  // namespace
}  // namespace restride::distributed
