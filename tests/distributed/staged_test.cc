// The schedule of the staged engine, of all ranks of random exchanges: what a rank sends in a round its peer expects in
// the same one. nccl_test.cc runs schedules.
#include "src/distributed/staged.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/distributed/random_exchange.h"

namespace restride::distributed {
namespace {

using test::pick;
using test::Rng;

struct Rank {
  PlanStore plans{1};
  StagedSchedule schedule;
};

std::vector<Rank> schedules(const Exchange& x, std::int64_t parcel_bytes) {
  std::vector<Rank> out(static_cast<std::size_t>(x.ranks()));
  for (int r = 0; r < x.ranks(); ++r) {
    Rank& rank = out[static_cast<std::size_t>(r)];
    StepMaker make(x.impl(), 0, rank.plans, parcel_bytes);
    const std::vector<Layout> src = local_layouts(x.src(), r, x.src_element()),
                              dst = local_layouts(x.dst(), r, x.dst_element());
    std::vector<PeerSteps> sends, receives;
    for (const PairParts& pair : x.impl().sends(r))
      if (pair.peer != r) make.pack(pair, src, (sends.emplace_back().peer = pair.peer, sends.back()));
    for (const PairParts& pair : x.impl().receives(r))
      if (pair.peer != r) make.unpack(pair, dst, (receives.emplace_back().peer = pair.peer, receives.back()));
    rank.schedule = staged_schedule(sends, receives, parcel_bytes, rank.plans);
  }
  return out;
}

std::string parcels_lie_apart(const std::vector<PeerSteps>& parcels, std::int64_t chunk, std::int64_t most) {
  std::int64_t end = 0;
  std::set<int> peers;
  for (const PeerSteps& p : parcels) {
    if (p.bytes <= 0 || p.bytes > most) return "a parcel of " + std::to_string(p.bytes) + " bytes";
    if (!peers.insert(p.peer).second) return "two parcels of a peer in a round";
    if (p.in_place >= 0) continue;
    if (p.offset < end || p.offset % kParcelAlignment != 0 || p.offset + p.bytes > chunk) return "places";
    end = p.offset + p.bytes;
  }
  return {};
}

std::string checked(std::uint64_t seed) {
  Rng rng(seed);
  const int ranks = static_cast<int>(pick(rng, 1, 9));
  const std::vector<std::int64_t> shape = test::random_shape(rng, 5, 2000);
  const Distribution src = test::random_distribution(rng, shape, ranks),
                     dst = test::random_distribution(rng, shape, ranks, false);
  const Element element = Element::bytes(std::int64_t{1} << pick(rng, 0, 4));
  const Exchange x(src, element, dst, element);
  const std::int64_t parcel = kParcelAlignment * pick(rng, 1, 4);
  const std::vector<Rank> all = schedules(x, parcel);
  std::map<std::tuple<std::size_t, int, int>, std::int64_t> on_their_way;  // round, from, to
  std::int64_t bytes = 0;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const StagedSchedule& s = all[r].schedule;
    for (std::size_t i = 0; i < s.rounds.size(); ++i) {
      if (std::string wrong = parcels_lie_apart(s.rounds[i].sends, s.send_chunk_bytes, parcel); !wrong.empty())
        return wrong;
      if (std::string wrong = parcels_lie_apart(s.rounds[i].receives, s.receive_chunk_bytes, parcel); !wrong.empty())
        return wrong;
      if (s.rounds[i].sends.empty() && s.rounds[i].receives.empty()) return "an empty round";
      for (const PeerSteps& p : s.rounds[i].sends) {
        on_their_way[{i, static_cast<int>(r), p.peer}] += p.bytes;
        bytes += p.bytes;
      }
      for (const PeerSteps& p : s.rounds[i].receives) on_their_way[{i, p.peer, static_cast<int>(r)}] -= p.bytes;
    }
  }
  for (const auto& [key, rest] : on_their_way)
    if (rest != 0) return "a round in which sender and receiver differ";
  const Summary summary = x.summary();
  if (bytes != summary.moved_bytes || bytes != summary.minimum_bytes) return "more than the minimum";
  return {};
}

TEST(StagedSchedule, WhatIsSentInARoundIsExpectedInItAndIsTheMinimum) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) ASSERT_EQ(checked(seed), "") << "seed " << seed;
}

TEST(StagedSchedule, PeersThatAreAlikeArePackedByOnePlan) {
  const Exchange x(parse_distribution("(64,64) as (block[0],*) over (4)"), DType::kF32,
                   parse_distribution("(64,64) as (*,block[0]) over (4) order (1,0)"), DType::kF32);
  const std::vector<Rank> all = schedules(x, 1 << 20);
  ASSERT_EQ(all[0].schedule.rounds.size(), 1U);
  EXPECT_EQ(all[0].schedule.rounds[0].sends.size(), 3U);
  EXPECT_EQ(all[0].schedule.rounds[0].pack.size(), 1U);    // peers 1, 2, 3
  EXPECT_EQ(all[3].schedule.rounds[0].unpack.size(), 1U);  // from 0, 1, 2
  EXPECT_EQ(all[0].plans.plan(all[0].schedule.rounds[0].pack[0].plan).dst().elements(), 3 * 16 * 16);
}

TEST(StagedSchedule, StepsThatAreNotAlikeStaySteps) {
  PlanStore plans(1);
  const Layout of_four = contiguous(DType::kF32, {4});
  const Layout apart = strided(DType::kF32, std::vector<std::int64_t>{4}, std::vector<std::int64_t>{8});
  const int plan = plans.add(of_four, apart), other = plans.add(of_four, of_four);
  const auto at = [](int p, int tensor, std::int64_t dst, std::int64_t src) {
    return CopyStep{p, tensor, dst, src, 16};
  };
  const std::vector<CopyStep> merged_steps = merged({at(plan, 0, 0, 0), at(plan, 0, 16, 32), at(plan, 0, 32, 64),
                                                     at(plan, 0, 64, 96), at(other, 0, 80, 0), at(other, 1, 96, 32)},
                                                    plans);
  ASSERT_EQ(merged_steps.size(), 4U);
  EXPECT_EQ(merged_steps[0].message_bytes, 48);
  EXPECT_EQ(plans.plan(merged_steps[0].plan).src().elements(), 12);
  EXPECT_EQ(merged_steps[1].dst_offset, 64);
  EXPECT_EQ(merged_steps[3].tensor, 1);
}

}  // namespace
}  // namespace restride::distributed
