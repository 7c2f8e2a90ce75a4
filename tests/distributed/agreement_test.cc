// Ranks that do not mean the same, come late or not at all: every live rank gets the named error, none waits for ever.
#include "src/distributed/agreement.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <optional>

#include "tests/distributed/carrying_comm.h"
#include "tests/distributed/lying_comm.h"
#include "tests/distributed/thread_ranks.h"

namespace restride::distributed {
namespace {

using test::on_threads;
using Said = std::vector<std::string>;

constexpr const char* kRows = "(6,6) as (block[0],*) over (3)";
constexpr const char* kColumns = "(6,6) as (*,block[0]) over (3)";

Side side(const char* text, Element element = DType::kI32) { return {parse_distribution(text), element, {}}; }

/// What a waiting rank does: notice soon in tests about ranks that do not come.
ExchangeOptions soon(Method method = Method::kAuto, bool check_runs = true) {
  ExchangeOptions options;
  options.method = method;
  options.check_runs = check_runs;
  options.deadline = std::chrono::seconds(2);
  return options;
}

/// A right exchange: the communicator still works.
std::string works(Comm& comm) {
  std::vector<std::int32_t> rows(12, comm.rank()), columns(12, -1);
  plan(side(kRows), side(kColumns), comm).run(columns.data(), rows.data());
  return columns == std::vector<std::int32_t>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2} ? "works" : "wrong elements";
}

/// Rank 1 plans otherwise; then all go on.
Said with_another(const Side& src, const Side& dst, const ExchangeOptions& options = {}) {
  Threads world(3);
  return on_threads(world, [&](Comm& comm) -> std::string {
    std::string said = "no error";
    try {
      if (comm.rank() == 1)
        plan(src, dst, comm, options);
      else
        plan(side(kRows), side(kColumns), comm);
    } catch (const AgreementError& e) {
      said = e.what();
    } catch (const ShapeError& e) {
      said = std::string("ShapeError: ") + e.what();
    } catch (const ArgumentError& e) {
      said = std::string("ArgumentError: ") + e.what();
    }
    return said + "; " + works(comm);
  });
}

Said all_say(const std::string& text) { return Said(3, text + "; works"); }

TEST(Agreement, NamesTheRankThatPlansSomethingElse) {
  const std::string end = " than rank 0; plan with the same on all ranks";
  EXPECT_EQ(with_another(side("(6,7) as (block[0],*) over (3)"), side("(6,7) as (*,block[0]) over (3)")),
            all_say("rank 1 has another number of tensors or another global shape" + end));
  EXPECT_EQ(with_another(side(kRows, DType::kI64), side(kColumns)), all_say("rank 1 has other elements" + end));
  EXPECT_EQ(with_another(side("(6,6) as (ceil[0],*) over (3)"), side(kColumns)),
            all_say("rank 1 has another source distribution" + end));
  EXPECT_EQ(with_another(side(kRows), side("(6,6) as (*,cyclic[0]) over (3)")),
            all_say("rank 1 has another target distribution" + end));
  ExchangeOptions messages;
  messages.method = Method::kMessages;
  EXPECT_EQ(with_another(side(kRows), side(kColumns), messages),
            all_say("rank 1 has another method, kind of device, or other checks," + end));
}

TEST(Agreement, ARankThatCannotPlanSaysWhyAndTheOthersLearnOfIt) {
  Side wrong = side(kRows);
  wrong.local = {contiguous(DType::kI32, {3, 6})};
  Said said = with_another(wrong, side(kColumns));
  EXPECT_EQ(said[0], "rank 1 could not plan: see the error there; dst is as it was; works");
  EXPECT_EQ(said[2], said[0]);
  EXPECT_EQ(
      said[1],
      "ShapeError: src: rank 1 has 2 indices of axis 0, but mode 0 of its layout i32 (3,6):(6,1) has 3; give it the "
      "shape that local_shape says; works");
  said = with_another(side("(6,6) as (block[0],*) over (4)"), side(kColumns));
  EXPECT_EQ(
      said[1],
      "ArgumentError: the distributions name rank 3, but the communicator has ranks 0 to 2; use a larger one, or other "
      "ranks; works");
}

TEST(Agreement, ADeadlineThatIsNoneIsAnErrorOfThatRankAlone) {
  for (const auto& [ms, words] :
       {std::pair(std::chrono::milliseconds(0), "a deadline of 0 ms; use a positive one; works"),
        std::pair(std::chrono::milliseconds::max(), "no error; works")}) {  // the longest: clocks do not overflow
    ExchangeOptions options;
    options.deadline = ms;
    const Said said = with_another(side(kRows), side(kColumns), options);
    EXPECT_NE(said[1].find(words), std::string::npos) << said[1];
    EXPECT_EQ(said[0], ms.count() == 0 ? "rank 1 could not plan: see the error there; dst is as it was; works"
                                       : "no error; works");
  }
}

TEST(Agreement, CheckedModeComparesTheBytesOfEveryPairBeforeAnythingIsSent) {
  for (const bool lies : {false, true}) {
    Threads world(3);
    const Said said = on_threads(world, [&](Comm& comm) -> std::string {
      test::LyingComm lying(comm);
      ExchangeOptions options;
      options.method = Method::kMessages;
      options.check_pairs = true;
      try {
        plan(side(kRows), side(kColumns), lies && comm.rank() == 1 ? static_cast<Comm&>(lying) : comm, options);
      } catch (const AgreementError& e) {
        return e.what();
      }
      return "agreed; " + works(comm);
    });
    EXPECT_EQ(said, lies ? Said(3,
                                "rank 1 would send 17 bytes to rank 0, which expects 16: they have different plans; "
                                "nothing was sent")
                         : all_say("agreed"));
  }
}

TEST(Agreement, AnEngineThatCarriesNothingIsFoundOut) {
  Threads world(2);
  const Said said = on_threads(world, [](Comm& comm) -> std::string {
    test::CarryingComm carrying(comm);
    Plan p = plan(side("(2,6) as (block[0],*) over (2)"), side("(2,6) as (*,*) over (2)"), carrying,
                  soon(Method::kMessages));
    const std::string text = p.explain();
    const char* words =
        "1 of 1 messages leave and 0 of 1 arrive where they lie; 1 leave and 1 arrive with the check "
        "of a run, these in memory of the engine";
    if (text.find(words) == std::string::npos) return text;
    std::vector<std::int32_t> half(6, 1), all(12, -1);
    try {
      p.run(all.data(), half.data());
    } catch (const UnsupportedError& e) {
      return all == std::vector<std::int32_t>(12, -1) ? e.what() : "written";
    }
    return "no error";
  });
  for (int rank = 0; rank < 2; ++rank)
    EXPECT_EQ(said[static_cast<std::size_t>(rank)], "threads did not bring rank " + std::to_string(1 - rank) +
                                                        "'s message to rank " + std::to_string(rank) +
                                                        "; override allgather_with where most_carried() is not 0");
}

TEST(Agreement, PlansInAnotherOrderAreNoticedBeforeARun) {
  for (Method method : {Method::kDirect, Method::kMessages}) {
    Threads world(3);
    const Said said = on_threads(world, [&](Comm& comm) -> std::string {
      ExchangeOptions options;
      options.method = method;
      std::vector<std::int32_t> from(12), to(12);
      Plan a = plan(side(kRows), side(kColumns), comm, options), b = plan(side(kColumns), side(kRows), comm, options);
      try {
        (comm.rank() == 2 ? b : a).run(to.data(), from.data());
      } catch (const AgreementError& e) {
        return std::string(e.what()) + "; " + works(comm);
      }
      return "no error";
    });
    EXPECT_EQ(said,
              all_say("rank 2 is at plan 1 of the communicator where rank 0 is at plan 0; make and run plans in the "
                      "same order on all ranks"));
  }
}

TEST(Agreement, ARankThatPlansWhereOthersRunIsNamed) {
  Threads world(3);
  const Said said = on_threads(world, [&](Comm& comm) -> std::string {
    std::vector<std::int32_t> from(12), to(12);
    Plan a = plan(side(kRows), side(kColumns), comm);
    try {
      if (comm.rank() == 1)
        plan(side(kRows), side(kColumns), comm);
      else
        a.run(to.data(), from.data());
    } catch (const AgreementError& e) {
      return e.what();
    }
    return "no error";
  });
  EXPECT_EQ(said,
            Said(3, "rank 1 calls plan where rank 0 calls run; make and run plans in the same order on all ranks"));
}

TEST(Agreement, WrongMemoryStopsTheRunBeforeAByteIsWritten) {
  for (Method method : {Method::kDirect, Method::kMessages}) {
    Threads world(3);
    const Said said = on_threads(world, [&](Comm& comm) -> std::string {
      std::vector<std::int32_t> from(12, 1), to(12, 7);
      ExchangeOptions options;
      options.method = method;
      Plan p = plan(side(kRows), side(kColumns), comm, options);
      std::string out;
      for (int i = 0; i < 2; ++i) {
        try {
          const bool odd = comm.rank() == 1;
          p.run(odd && i == 0 ? nullptr : to.data(), odd && i == 1 ? to.data() + 3 : from.data());
        } catch (const Error& e) {
          out += std::string(e.what()) + "; ";
        }
        if (to != std::vector<std::int32_t>(12, 7)) return "written";
      }
      p.run(to.data(), from.data());
      return out + works(comm);
    });
    EXPECT_EQ(said[0],
              "rank 1 could not run: see the error there; dst is as it was; "
              "rank 1 could not run: see the error there; dst is as it was; works");
    EXPECT_EQ(said[1],
              "dst of tensor 0 is null on rank 1, which has elements of it; give it memory; dst of tensor 0 lies in "
              "the same memory as src of tensor 0 on rank 1; exchange into other memory; works");
  }
}

TEST(Deadline, ARankThatDoesNotPlanIsNamedAndTheCommunicatorIsOver) {
  Threads world(3);
  const Said said = on_threads(world, [&](Comm& comm) -> std::string {
    if (comm.rank() == 1) return "gone";
    try {
      plan(side(kRows), side(kColumns), comm, soon());
    } catch (const DeadlineError& e) {
      return std::string(e.what()) + "; " + (comm.unusable().empty() ? "usable" : "unusable");
    }
    return "no error";
  });
  for (const std::string& s : {said[0], said[2]}) {  // one of them may be told by the other
    EXPECT_NE(s.find("rank 1 did not come to plan before the deadline; all ranks call it, or ExchangeOptions::deadline "
                     "must be longer"),
              std::string::npos)
        << s;
    EXPECT_NE(s.find("; unusable"), std::string::npos) << s;
  }
  // The rank that comes after all learns of it, at once.
  const Said late = on_threads(world, works);
  for (const std::string& s : late)
    EXPECT_NE(s.find("DeadlineError: the communicator is unusable: rank 1 did not"), std::string::npos) << s;
}

TEST(Deadline, ARankThatDoesNotRunIsNamed) {
  for (const auto& [method, checked] :
       {std::pair(Method::kDirect, true), std::pair(Method::kMessages, true), std::pair(Method::kMessages, false)}) {
    Threads world(3);
    const Said said = on_threads(world, [&, method = method, checked = checked](Comm& comm) -> std::string {
      std::vector<std::int32_t> from(12), to(12);
      Plan p = plan(side(kRows), side(kColumns), comm, soon(method, checked));
      if (comm.rank() == 2) return "gone";
      p.run(to.data(), from.data());
      return "no error";
    });
    const std::string words = checked ? "rank 2 did not come to run" : "rank 2 sent nothing to rank ";
    for (const std::string& s : {said[0], said[1]}) {  // one of them may be told by the other
      EXPECT_EQ(s.rfind("DeadlineError: ", 0), 0u) << s;
      EXPECT_NE(s.find(words), std::string::npos) << s;
    }
  }
}

TEST(Deadline, ARankThatIsLostDuringARunIsNamed) {
  for (Method method : {Method::kDirect, Method::kMessages}) {
    Threads world(3);
    std::vector<std::int32_t> sources[3];  // a rank that gives up leaves others behind that still read its source
    const Said said = on_threads(world, [&](Comm& comm) -> std::string {
      std::vector<std::int32_t>& from = sources[comm.rank()];
      from.resize(12);
      std::vector<std::int32_t> to(12);
      std::optional<Plan> p = plan(side(kRows), side(kColumns), comm, soon(method));
      void* dst = to.data();
      const void* src = from.data();
      p->start(dst, src);
      if (comm.rank() == 0) return "lost";  // its plan is destroyed on its way
      p->wait();
      return "no error";
    });
    for (int r : {1, 2})
      EXPECT_NE(said[static_cast<std::size_t>(r)].find("DeadlineError: "), std::string::npos)
          << said[static_cast<std::size_t>(r)];
    EXPECT_NE(said[1].find("rank 0 destroyed a plan between start and wait"), std::string::npos) << said[1];
  }
}

TEST(Deadline, AnAbortReachesEveryRankAtOnce) {
  Threads world(3);
  const Said said = on_threads(world, [&](Comm& comm) -> std::string {
    if (comm.rank() == 1) {
      comm.abort("rank 1 has no more disk");
      return "aborted";
    }
    plan(side(kRows), side(kColumns), comm);  // ten minutes' deadline
    return "no error";
  });
  EXPECT_NE(said[0].find("rank 1 has no more disk"), std::string::npos) << said[0];
  EXPECT_NE(said[2].find("rank 1 has no more disk"), std::string::npos) << said[2];
}

TEST(Deadline, APlanMayBeDestroyedWhileAnotherRuns) {
  Threads world(3);
  for (const std::string& s : on_threads(world, [&](Comm& comm) -> std::string {
         std::optional<Plan> gone = plan(side(kColumns), side(kRows), comm);
         std::vector<std::int32_t> rows(12, comm.rank()), columns(12, -1);
         ExchangeOptions messages;
         messages.method = Method::kMessages;
         Plan p = plan(side(kRows), side(kColumns), comm, messages);
         void* dst = columns.data();
         const void* src = rows.data();
         p.start(dst, src);
         gone.reset();
         p.wait();
         return works(comm);
       }))
    EXPECT_EQ(s, "works");
}

TEST(Engine, AMessageOfOtherBytesIsNoSuccess) {
  Threads world(2);
  const Said said = on_threads(world, [&](Comm& comm) -> std::string {
    std::vector<std::uint8_t> bytes(100), out(100);  // outlive `posted`, which waits for whoever copies from `out`
    const Message in{1 - comm.rank(), bytes.data(), comm.rank() == 1 ? 100 : 10};
    auto posted = comm.post({&in, 1}, 0, "run");
    posted->send({1 - comm.rank(), out.data(), 10});  // rank 1 waits for 100
    const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    posted->received(deadline);
    posted->finish(deadline);
    return "no error";
  });
  EXPECT_NE(said[1].find("AgreementError: rank 0 sent 10 bytes to rank 1, which expects 100"), std::string::npos)
      << said[1];
}

TEST(Agreement, HashesTellTextsApart) {
  EXPECT_NE(hash_of("(6,6) as (block[0],*) over (3)"), hash_of("(6,6) as (block[0],*) over (4)"));
  EXPECT_EQ(hash_of(""), 0xcbf29ce484222325u);
}

TEST(Agreement, OtherVersionsAndStrangersAreNamed) {
  std::vector<Fingerprint> all(3);
  EXPECT_NO_THROW(require_agreement(all));
  all[1].version = 1;
  EXPECT_THROW(require_agreement(all), AgreementError);
  all[1] = {};
  all[2].magic = 0;
  EXPECT_THROW(require_agreement(all), AgreementError);
  all[2] = {};
  all[1].run = 4;
  EXPECT_THROW(require_agreement(all), AgreementError);
}

}  // namespace
}  // namespace restride::distributed
