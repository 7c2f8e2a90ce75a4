#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "tests/distributed/random_exchange.h"
#include "tests/distributed/thread_ranks.h"

namespace restride::distributed {
namespace {

using test::on_threads;

/// RESTRIDE_SEED replays one case; RESTRIDE_CASES draws as many in all.
std::int64_t from_environment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoll(text) : otherwise;
}

class RandomExchanges : public testing::TestWithParam<int> {};

TEST_P(RandomExchanges, BringEveryElementAndTouchNothingElse) {
  const int ranks = GetParam();
  constexpr std::int64_t kAll = 21'000, kPrograms = 12;
  const std::int64_t cases = std::max<std::int64_t>(1, from_environment("RESTRIDE_CASES", kAll) / kPrograms);
  const std::int64_t first = from_environment("RESTRIDE_SEED", ranks * 1'000'000);
  const bool one = std::getenv("RESTRIDE_SEED") != nullptr;
  Threads world(ranks);
  for (const std::string& wrong : on_threads(world, [&](Comm& comm) {
         for (std::int64_t i = 0; i < (one ? 1 : cases); ++i)
           if (std::string wrong =
                   test::run_case(comm, static_cast<std::uint64_t>(first + i), {Method::kDirect, Method::kMessages});
               !wrong.empty()) {
             comm.abort(wrong);
             return wrong;
           }
         return std::string();
       }))
    EXPECT_EQ(wrong, "") << "RESTRIDE_SEED replays it";
}

INSTANTIATE_TEST_SUITE_P(Ranks, RandomExchanges, testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16));

Side side(const char* text, Element element = DType::kI32) { return {parse_distribution(text), element, {}}; }

TEST(Threads, RowsBecomeColumns) {
  Threads world(3);
  const std::vector<std::string> said = on_threads(world, [](Comm& comm) {
    std::vector<std::int32_t> rows(2 * 6), columns(6 * 2);
    std::iota(rows.begin(), rows.end(), comm.rank() * 12);
    Plan p = plan(side("(6,6) as (block[0],*) over (3)"), side("(6,6) as (*,block[0]) over (3)"), comm);
    p.run(columns.data(), rows.data());
    std::string out;
    for (std::int32_t v : columns) out += std::to_string(v) + ' ';
    return out;
  });
  EXPECT_EQ(said[0], "0 1 6 7 12 13 18 19 24 25 30 31 ");
  EXPECT_EQ(said[2], "4 5 10 11 16 17 22 23 28 29 34 35 ");
}

TEST(Threads, BigMessagesAreTheirOwnMemoryWhereTheyAreRuns) {
  Threads world(2);
  for (const std::string& wrong : on_threads(world, [](Comm& comm) -> std::string {
         ExchangeOptions options;
         options.method = Method::kMessages;
         Plan p = plan(side("(6,6) as (block[0],*) over (2)"), side("(6,6) as (*,*) over (2)"), comm, options);
         if (p.workspace_bytes() != 0) return "workspace " + std::to_string(p.workspace_bytes());
         if (p.sent_bytes() != 72 || p.received_bytes() != 72) return "bytes";
         std::vector<std::int32_t> half(18), all(36), wanted(36);
         std::iota(half.begin(), half.end(), 18 * comm.rank());
         std::iota(wanted.begin(), wanted.end(), 0);
         p.run(all.data(), half.data());
         if (p.explain().find("1 of 1 messages leave and 1 of 1 arrive where they lie") == std::string::npos)
           return p.explain();
         return all == wanted ? "" : "wrong elements";
       }))
    EXPECT_EQ(wrong, "");
}

TEST(Threads, AWorkspaceMayBeBounded) {
  Threads world(3);
  for (const std::int64_t most : {16, 100, 1000, 1'000'000})
    for (const std::string& wrong : on_threads(world, [most](Comm& comm) -> std::string {
           ExchangeOptions options;
           options.method = Method::kMessages;
           options.most_workspace_bytes = most;
           options.check_pairs = true;
           // Nothing lies as it travels: rank r has rows of its own, and wants columns, cast.
           Plan p = plan(side("(30,33) as (cyclic[0],*) over (3)"),
                         side("(30,33) as (*,cyclic:2[0]) over (3)", DType::kI16), comm, options);
           if (p.workspace_bytes() > most || p.workspace_bytes() == 0) return std::to_string(p.workspace_bytes());
           std::vector<std::int32_t> rows(10 * 33);
           for (int i = 0; i < 10 * 33; ++i)
             rows[static_cast<std::size_t>(i)] = (i / 33 * 3 + comm.rank()) * 33 + i % 33;
           std::vector<std::int16_t> columns(30 * 12, -1);
           p.run(columns.data(), rows.data());
           const std::vector<Layout> mine = local_layouts(p.exchange(0).dst(), comm.rank(), DType::kI16);
           const std::int64_t wide = mine[0].modes[1].extent;
           for (std::int64_t i = 0; i < 30 * wide; ++i)
             if (columns[static_cast<std::size_t>(i)] !=
                 i / wide * 33 + i % wide / 2 * 6 + comm.rank() * 2 + i % wide % 2)
               return "wrong element " + std::to_string(i);
           return "";
         }))
      EXPECT_EQ(wrong, "") << most;
}

TEST(Threads, StartLeavesTheCallerFreeUntilWait) {
  Threads world(4);
  for (Method method : {Method::kDirect, Method::kMessages})
    for (const std::string& wrong : on_threads(world, [method](Comm& comm) -> std::string {
           ExchangeOptions options;
           options.method = method;
           Plan a = plan(side("(8,8) as (block[0],*) over (4)"), side("(8,8) as (*,block[0]) over (4)"), comm, options);
           std::vector<std::int32_t> rows(16), columns(16), again(16);
           std::iota(rows.begin(), rows.end(), 16 * comm.rank());
           for (int i = 0; i < 20; ++i) {
             void* dst = columns.data();
             const void* src = rows.data();
             a.start(dst, src);
             a.wait();
           }
           Plan b = plan(side("(8,8) as (*,block[0]) over (4)"), side("(8,8) as (block[0],*) over (4)"), comm, options);
           b.run(again.data(), columns.data());
           return again == rows ? "" : "wrong elements";
         }))
      EXPECT_EQ(wrong, "") << name(method);
}

TEST(Threads, NothingAtAllIsExchangedToo) {
  Threads world(3);
  for (Method method : {Method::kDirect, Method::kMessages})
    for (const std::string& wrong : on_threads(world, [method](Comm& comm) -> std::string {
           ExchangeOptions options;
           options.method = method;
           plan(side("(0,5) as (block[0],*) over (3)"), side("(0,5) as (*,cyclic[0]) over (3)"), comm, options)
               .run(nullptr, nullptr);
           plan(side("(5) boxes"), side("(5) boxes"), comm, options).run(nullptr, nullptr);
           std::int32_t mine = comm.rank() == 0 ? 7 : 0;  // no axes: one element, on rank 0, wanted by rank 2
           std::int32_t got = 0;
           plan(side("() boxes 0[]"), side("() boxes 2[]"), comm, options).run(&got, &mine);
           return got == (comm.rank() == 2 ? 7 : 0) ? "" : "wrong element";
         }))
      EXPECT_EQ(wrong, "") << name(method);
}

TEST(Threads, ACommunicatorTakesSeveralPlansAtATime) {
  Threads world(2);
  for (const std::string& wrong : on_threads(world, [](Comm& comm) -> std::string {
         ExchangeOptions options;
         options.method = Method::kMessages;
         Plan a = plan(side("(4,4) as (block[0],*) over (2)"), side("(4,4) as (*,block[0]) over (2)"), comm, options);
         Plan b = plan(side("(6) as (block[0]) over (2)"), side("(6) as (cyclic[0]) over (2)"), comm, options);
         std::vector<std::int32_t> rows(8), columns(8), half(3), every_second(3);
         std::iota(rows.begin(), rows.end(), 8 * comm.rank());
         std::iota(half.begin(), half.end(), 3 * comm.rank());
         void *to_a = columns.data(), *to_b = every_second.data();
         const void *from_a = rows.data(), *from_b = half.data();
         a.start(to_a, from_a);
         b.start(to_b, from_b);
         a.wait();  // in any order
         b.wait();
         const int r = comm.rank();
         return every_second == std::vector<std::int32_t>{r, r + 2, r + 4} && columns[0] == 2 * r ? ""
                                                                                                  : "wrong elements";
       }))
    EXPECT_EQ(wrong, "");
}

TEST(Threads, RefusesImpossibleNumbersOfRanks) {
  EXPECT_THROW(Threads(0), ArgumentError);
  EXPECT_THROW(Threads(5000), ArgumentError);
  Threads world(2);
  EXPECT_THROW(world.comm(2), ArgumentError);
}

}  // namespace
}  // namespace restride::distributed
