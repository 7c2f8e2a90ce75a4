// The module for NCCL and the staged engine on an NCCL of threads (fake_nccl.cc) and memory of the host, whose streams
// are threads (host_device.h). tests/gpu/nccl_real.cc has GPUs, and NCCL itself.
#include "src/distributed/nccl/module.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <tuple>

#include "tests/distributed/fake_nccl.h"
#include "tests/distributed/host_device.h"
#include "tests/distributed/nccl_ranks.h"
#include "tests/distributed/random_exchange.h"

namespace restride::distributed {
namespace {

using test::HostDevice;
using test::Hosts;
using test::NcclRank;
using test::on_nccl;
using Said = std::vector<std::string>;

[[maybe_unused]] const int kModules = setenv("RESTRIDE_MODULES", RESTRIDE_TEST_MODULES, 1);

/// Memory of the host behind streams of its own.
class OnStreams final : public test::Runner {
 public:
  explicit OnStreams(HostDevice& device, std::uint64_t seed) : device_(device), rng_(seed) {}
  void choose(ExchangeOptions& options) override {
    if (options.most_workspace_bytes > 0) options.most_workspace_bytes += 4 * 16 * 256;
  }
  void run(Plan& plan, std::vector<test::Memory>& to, std::vector<test::Memory>& from) override {
    void* stream = test::pick(rng_, 0, 1) == 0 ? nullptr : stream_;
    std::vector<void*> dst;
    std::vector<const void*> src;
    for (test::Memory& m : to) dst.push_back(m.data());
    for (test::Memory& m : from) src.push_back(m.data());
    plan.run_all(dst, src, stream);
    device_.synchronize(stream);
  }
  ~OnStreams() override { device_.destroy_stream(stream_); }

 private:
  HostDevice& device_;
  test::Rng rng_;
  void* stream_ = device_.make_stream();
};

class NcclExchanges : public testing::TestWithParam<std::tuple<int, Hosts>> {};

TEST_P(NcclExchanges, BringEveryElementAndTouchNothingElse) {
  const int ranks = std::get<0>(GetParam());
  const Hosts hosts = std::get<1>(GetParam());
  std::vector<Method> methods = {Method::kAuto, Method::kMessages};
  if (hosts == Hosts::kOne) methods.push_back(Method::kDirect);
  for (const std::string& wrong : on_nccl(
           ranks,
           [&](NcclRank& r) {
             OnStreams runner(r.host(), static_cast<std::uint64_t>(ranks * 100 + r.comm().rank()));
             for (int i = 0; i < 60; ++i)
               if (std::string wrong =
                       test::run_case(r.comm(), static_cast<std::uint64_t>(ranks * 1'000'000 + i), methods, runner);
                   !wrong.empty())
                 return wrong;
             return std::string();
           },
           200, hosts))
    EXPECT_EQ(wrong, "");
}

INSTANTIATE_TEST_SUITE_P(Ranks, NcclExchanges,
                         testing::Values(std::tuple(1, Hosts::kOne), std::tuple(2, Hosts::kOne),
                                         std::tuple(3, Hosts::kOne), std::tuple(4, Hosts::kOne),
                                         std::tuple(7, Hosts::kOne), std::tuple(3, Hosts::kEachItsOwn),
                                         std::tuple(4, Hosts::kEachItsOwn)));

constexpr std::int32_t kSide = 48;
const char* const kRows = "(48,48) as (block[0],*) over (3)";
const char* const kColumns = "(48,48) as (*,block[0]) over (3)";
constexpr std::int32_t kPart = kSide / 3, kElements = kSide * kPart;

Side side(const char* text, Element element = DType::kI32) { return {parse_distribution(text), element, {}}; }

ExchangeOptions quick(int ms = 1000, Method method = Method::kMessages) {
  ExchangeOptions options;
  options.method = method;
  options.deadline = std::chrono::milliseconds(ms);
  return options;
}

std::vector<std::int32_t> rows_of(int rank) {
  std::vector<std::int32_t> v(kElements);
  std::iota(v.begin(), v.end(), rank * kElements);
  return v;
}

std::vector<std::int32_t> columns_of(int rank) {
  std::vector<std::int32_t> v;
  for (std::int32_t i = 0; i < kSide; ++i)
    for (std::int32_t j = 0; j < kPart; ++j) v.push_back(i * kSide + rank * kPart + j);
  return v;
}

std::string works(NcclRank& r, const ExchangeOptions& options = quick(10000)) {
  const std::vector<std::int32_t> from = rows_of(r.comm().rank());
  std::vector<std::int32_t> to(kElements);
  Plan p = plan(side(kRows), side(kColumns), r.comm(), options);
  p.run(to.data(), from.data());
  r.host().synchronize(nullptr);
  return to == columns_of(r.comm().rank()) ? "works" : "wrong elements";
}

TEST(Nccl, ExactlyTheMinimumIsSentAndTheWorkspaceIsTwoChunks) {
  std::atomic<long long> sent{0};
  const Said said = on_nccl(3, [&](NcclRank& r) -> std::string {
    ExchangeOptions options = quick(10000);
    options.most_workspace_bytes = 8192;
    Plan p = plan(side(kRows), side(kColumns), r.comm(), options);
    if (p.method() != Method::kMessages) return "method";
    if (p.sent_bytes() != 2 * 16 * 16 * 4) return "bytes";
    if (p.workspace_bytes() > 8192 || p.workspace_bytes() == 0) return std::to_string(p.workspace_bytes());
    if (p.explain().find("engine     staged of 3 by nccl: ") == std::string::npos) return p.explain();
    const auto meet = [&] {  // all have come before one goes on
      std::uint8_t mine = 0, all[3];
      r.comm().allgather(&mine, all, 1, "the test", std::chrono::steady_clock::now() + std::chrono::seconds(10));
    };
    const std::vector<std::int32_t> from = rows_of(r.comm().rank());
    std::vector<std::int32_t> to(kElements);
    meet();
    const long long before = test::bytes_by_fake_nccl();  // a plan has connected its ranks
    meet();
    p.run(to.data(), from.data());
    r.host().synchronize(nullptr);
    meet();
    sent = test::bytes_by_fake_nccl() - before;
    return to == columns_of(r.comm().rank()) ? "works" : "wrong elements";
  });
  EXPECT_EQ(said, Said(3, "works"));
  EXPECT_EQ(sent, 3 * 2 * 16 * 16 * 4);
}

TEST(Nccl, ARunIsAsynchronousAndOrderedOnItsStream) {
  const Said said = on_nccl(3, [](NcclRank& r) -> std::string {
    ExchangeOptions options = quick(10000);
    options.check_runs = false;
    Plan p = plan(side(kRows), side(kColumns), r.comm(), options);
    const std::vector<std::int32_t> rows = rows_of(r.comm().rank());
    std::vector<std::int32_t> from(kElements), to(kElements), got(kElements);
    std::atomic<bool> goes{false};
    HostDevice& device = r.host();
    void* stream = device.make_stream();
    device.call([&] { goes.wait(false); }, stream);
    device.copy(from.data(), rows.data(), kElements * 4, stream);
    p.run(to.data(), from.data(), stream);  // returns, although nothing can have run
    device.copy(got.data(), to.data(), kElements * 4, stream);
    const bool early = p.status() != RunStatus::kIdle;
    goes = true;
    goes.notify_all();
    device.synchronize(stream);
    device.destroy_stream(stream);
    if (early || p.status() != RunStatus::kIdle) return "status";
    return got == columns_of(r.comm().rank()) ? "" : "wrong elements";
  });
  EXPECT_EQ(said, Said(3));
}

TEST(Nccl, KernelsStoreIntoPeersMemoryWhereTheyReachIt) {
  const long long before = test::bytes_by_fake_nccl();
  const Said said = on_nccl(3, [](NcclRank& r) -> std::string {
    Plan p = plan(side(kRows), side(kColumns), r.comm(), quick(10000, Method::kAuto));
    if (p.method() != Method::kDirect || p.workspace_bytes() != 0) return "method or workspace";
    if (p.sent_bytes() != 2 * 16 * 16 * 4) return "bytes";
    if (p.explain().find("engine     fused of 3 by nccl: the host stores into the memory of 2 other ranks") ==
        std::string::npos)
      return p.explain();
    return works(r, quick(10000, Method::kAuto));
  });
  EXPECT_EQ(said, Said(3, "works"));
  EXPECT_EQ(test::bytes_by_fake_nccl() - before, 0);
}

TEST(Nccl, OneRankThatShouldNotStoreMakesAllSendMessages) {
  const Said said = on_nccl(3, [](NcclRank& r) -> std::string {
    if (r.comm().rank() == 2) r.host().why_not = "is reached without NVLink";
    Plan p = plan(side(kRows), side(kColumns), r.comm(), quick(10000, Method::kAuto));
    const std::string text = p.explain();
    if (text.find("staged of 3 by nccl: 1 rounds, because the GPU of rank 0 is reached without NVLink\n") ==
        std::string::npos)
      return text;
    Plan short_runs = plan(side("(6,6) as (block[0],*) over (3)"), side("(6,6) as (*,block[0]) over (3)"), r.comm(),
                           quick(10000, Method::kAuto));
    if (short_runs.method() != Method::kMessages) return "short runs";
    return works(r, quick(10000, Method::kAuto));
  });
  EXPECT_EQ(said, Said(3, "works"));
}

TEST(Nccl, NothingIsStoredBeforeTheTargetsStreamIsThere) {
  const Said said = on_nccl(3, [](NcclRank& r) -> std::string {
    Plan p = plan(side(kRows), side(kColumns), r.comm(), quick(10000, Method::kDirect));
    const std::vector<std::int32_t> from = rows_of(r.comm().rank()), clear(kElements, -1);
    std::vector<std::int32_t> to = clear;
    HostDevice& device = r.host();
    void* stream = device.make_stream();
    std::atomic<bool> goes{r.comm().rank() != 1};
    device.call([&] { goes.wait(false); }, stream);
    p.run(to.data(), from.data(), stream);
    r.comm().allgather(nullptr, nullptr, 0, "the test", std::chrono::steady_clock::now() + std::chrono::seconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const bool early = r.comm().rank() == 1 && to != clear;
    r.comm().allgather(nullptr, nullptr, 0, "the test", std::chrono::steady_clock::now() + std::chrono::seconds(10));
    goes = true;
    goes.notify_all();
    device.synchronize(stream);
    const bool right = to == columns_of(r.comm().rank());
    r.comm().allgather(nullptr, nullptr, 0, "the test", std::chrono::steady_clock::now() + std::chrono::seconds(10));
    device.destroy_stream(stream);
    return early ? "stored too early" : right ? "" : "wrong elements";
  });
  EXPECT_EQ(said, Said(3));
}

/// Ranks that meet in memory, and ranks that meet by messages.
class NcclMeetings : public testing::TestWithParam<Hosts> {};
INSTANTIATE_TEST_SUITE_P(Hosts, NcclMeetings, testing::Values(Hosts::kOne, Hosts::kEachItsOwn));

TEST_P(NcclMeetings, ARankThatDoesNotPlanIsNamedInTimeAndTheCommunicatorSaysSo) {
  const Said said = on_nccl(
      3,
      [](NcclRank& r) -> std::string {
        if (r.comm().rank() == 1) return "gone";
        std::string out;
        try {
          plan(side(kRows), side(kColumns), r.comm(), quick(300));
        } catch (const DeadlineError& e) {
          out = e.what();
        }
        return out + (r.comm().unusable().empty() ? "; usable" : "; unusable");
      },
      0, GetParam());
  const std::string named =
      "rank 1 did not come to plan before the deadline; all ranks call it, or ExchangeOptions::deadline must be "
      "longer; unusable";
  EXPECT_EQ(said, (Said{named, "gone", named}));
}

TEST(Nccl, ARankThatDoesNotComeToTheCommunicatorIsADeadlineError) {
  const auto comms = test::make_fake_nccl({std::make_shared<HostDevice>(), std::make_shared<HostDevice>()});
  EXPECT_THROW(nccl_on(comms[0], std::make_shared<HostDevice>(), std::chrono::milliseconds(100)), DeadlineError);
}

TEST_P(NcclMeetings, OtherArgumentsAreNamedOnAllRanksAndTheCommunicatorGoesOn) {
  const Said said = on_nccl(
      3,
      [](NcclRank& r) -> std::string {
        std::string out;
        try {
          plan(side(kRows, r.comm().rank() == 2 ? DType::kF32 : DType::kI32), side(kColumns), r.comm(), quick());
        } catch (const AgreementError& e) {
          out = e.what();
        } catch (const CastError& e) {
          out = "cast";
        }
        return out.substr(0, 6) + "; " + works(r);
      },
      0, GetParam());
  EXPECT_EQ(said, Said(3, "rank 2; works"));
}

TEST(Nccl, AWrongPointerOfOneRankStopsTheRunOfAll) {
  const Said said = on_nccl(3, [](NcclRank& r) -> std::string {
    Plan p = plan(side(kRows), side(kColumns), r.comm(), quick(10000));
    std::vector<std::int32_t> from = rows_of(r.comm().rank()), to(kElements, 7);
    std::string out;
    try {
      p.run(r.comm().rank() == 1 ? nullptr : to.data(), from.data());
    } catch (const Error& e) {
      out = std::string(e.what()).substr(0, 24);
    }
    r.host().synchronize(nullptr);
    if (to != std::vector<std::int32_t>(kElements, 7)) return "written";
    return out + "; " + works(r);
  });
  const std::string others = "rank 1 could not run: se; works";
  EXPECT_EQ(said, (Said{others, "dst of tensor 0 is null ; works", others}));
}

TEST(Nccl, ARankThatStopsAfterTheAgreementLeavesNoStreamWaiting) {
  const Said said = on_nccl(3, [](NcclRank& r) -> std::string {
    ExchangeOptions options = quick(400);
    options.check_runs = false;
    Plan p = plan(side(kRows), side(kColumns), r.comm(), options);
    if (r.comm().rank() == 0) return "gone";
    const std::vector<std::int32_t> from = rows_of(r.comm().rank());
    std::vector<std::int32_t> to(kElements);
    p.run(to.data(), from.data());
    r.host().synchronize(nullptr);  // ends, because the run is broken off
    try {
      p.status();
    } catch (const DeadlineError& e) {
      return e.what();
    }
    return "no error";
  });
  const std::string why =
      "the communicator is unusable: a run was not done before the deadline, so a rank has stopped in it";
  EXPECT_EQ(said, (Said{"gone", why, why}));
}

TEST(Nccl, ARankThatGivesUpInARunIsNamedAndLeavesNoStreamWaiting) {
  // As long as all ranks: a stream that is released goes on, and stores into the others' memory.
  std::vector<std::vector<std::int32_t>> everyones(3, std::vector<std::int32_t>(kElements));
  const Said said = on_nccl(3, [&](NcclRank& r) -> std::string {
    Plan p = plan(side(kRows), side(kColumns), r.comm(), quick(60000, Method::kDirect));
    const std::vector<std::int32_t> from = rows_of(r.comm().rank());
    std::vector<std::int32_t>& to = everyones[static_cast<std::size_t>(r.comm().rank())];
    HostDevice& device = r.host();
    void* stream = device.make_stream();
    std::atomic<bool> goes{r.comm().rank() != 1};
    device.call([&] { goes.wait(false); }, stream);
    p.run(to.data(), from.data(), stream);
    if (r.comm().rank() == 1) r.comm().abort("rank 1 has no more power");
    goes = true;
    goes.notify_all();
    device.synchronize(stream);
    device.destroy_stream(stream);
    try {
      p.status();
    } catch (const DeadlineError& e) {
      return e.what();
    }
    return "no error";
  });
  EXPECT_EQ(said, Said(3, "the communicator is unusable: rank 1 has no more power"));
}

TEST(Nccl, AnErrorThatNcclReportsEndsTheRun) {
  const Said said = on_nccl(2, [](NcclRank& r) -> std::string {
    ExchangeOptions options = quick(60000);
    options.check_runs = false;
    Plan p = plan(side("(8) as (block[0]) over (2)"), side("(8) as (cyclic[0]) over (2)"), r.comm(), options);
    if (r.comm().rank() == 1) return "gone";
    std::int32_t from[4] = {}, to[4] = {};
    p.run(to, from);
    test::break_fake_nccl(r.user());
    r.host().synchronize(nullptr);
    try {
      p.run(to, from);
    } catch (const DeadlineError& e) {
      return e.what();
    }
    return "no error";
  });
  EXPECT_EQ(said[0],
            "the communicator is unusable: NCCL reports in a run: remote process exited; make a new one of the "
            "caller's");
}

TEST_P(NcclMeetings, AbortReachesTheOthersWithItsReason) {
  const Said said = on_nccl(
      3,
      [](NcclRank& r) -> std::string {
        if (r.comm().rank() == 2) {
          r.comm().abort("rank 2 has no more disk");
          return "gone";
        }
        try {
          plan(side(kRows), side(kColumns), r.comm(), quick(10000));
        } catch (const DeadlineError& e) {
          return e.what();
        }
        return "no error";
      },
      0, GetParam());
  EXPECT_EQ(said, (Said{"rank 2 has no more disk", "rank 2 has no more disk", "gone"}));
}

TEST_P(NcclMeetings, RanksThatCallDifferentThingsAreToldSo) {
  const Said said = on_nccl(
      2,
      [](NcclRank& r) -> std::string {
        char mine[900] = {}, all[2 * 900];
        try {
          r.comm().allgather(mine, all, r.comm().rank() == 0 ? 900 : 5, "the test",
                             std::chrono::steady_clock::now() + std::chrono::seconds(5));
        } catch (const AgreementError& e) {
          return std::string(e.what()).substr(0, 23);
        }
        return "no error";
      },
      0, GetParam());
  EXPECT_EQ(said, (Said{"rank 1 came to the test", "rank 0 came to the test"}));
}

TEST_P(NcclMeetings, AllgatherTakesAnyNumberOfBytesAndRanks) {
  for (int ranks : {1, 5, 66}) {
    const Said said = on_nccl(
        ranks,
        [&](NcclRank& r) -> std::string {
          for (std::size_t bytes : {0, 1, 64, 496, 497, 5000}) {
            std::vector<char> mine(bytes, static_cast<char>(r.comm().rank())),
                all(bytes * static_cast<std::size_t>(ranks));
            r.comm().allgather(mine.data(), all.data(), static_cast<std::int64_t>(bytes), "the test",
                               std::chrono::steady_clock::now() + std::chrono::seconds(30));
            for (std::size_t i = 0; i < all.size(); ++i)
              if (all[i] != static_cast<char>(i / bytes)) return std::to_string(bytes);
          }
          return "";
        },
        0, GetParam());
    EXPECT_EQ(said, Said(static_cast<std::size_t>(ranks)));
  }
}

TEST(Nccl, MemoryOfTheHostIsRefused) {
  const Said said = on_nccl(1, [](NcclRank& r) -> std::string {
    ExchangeOptions options = quick();
    options.device = DeviceKind::kCpu;
    try {
      plan(side("(2) as (*) over (1)"), side("(2) as (*) over (1)"), r.comm(), options);
    } catch (const ArgumentError& e) {
      return e.what();
    }
    return "no error";
  });
  EXPECT_EQ(said[0], "NCCL moves memory of GPUs; set ExchangeOptions::device to kCuda");
}

TEST(Nccl, ANullOrUnknownCommunicatorIsAnArgumentError) {
  EXPECT_THROW(nccl(nullptr), ArgumentError);
  const auto comms = test::make_fake_nccl({std::make_shared<HostDevice>()});
  EXPECT_THROW(nccl(comms[0], std::chrono::milliseconds(0)), ArgumentError);
}

}  // namespace
}  // namespace restride::distributed
