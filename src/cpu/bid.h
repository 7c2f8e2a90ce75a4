// What the CPU families' bids are made of.
#pragma once

#include "src/cpu/planner.h"

namespace restride::cpu {

/// A bid under way: its time is predicted from lines as the machine's constants were fitted to them. Runs lie anywhere,
/// what a broadcast repeats counts each time, and lines of dst with gaps count twice, as they are read before they are
/// written. Of what a copy touches, `plan_cpu` tells in the prediction.
struct Bid : Candidate {
  std::int64_t read_lines = 0;
  std::int64_t written_lines = 0;
};

/// Lines a side takes when it walks runs of `run_bytes` that follow each other at random alignment.
std::int64_t lines_for_runs(std::int64_t bytes, std::int64_t run_bytes, std::int64_t line);

/// A bid with the lines that any family moves, not applying yet.
Bid base_bid(const layout::Canonical& c, const CpuMachine& m);

/// Says whether the bid's stores bypass the caches.
void push_stream(Candidate* k, const layout::Canonical& c, const CpuMachine& m);
/// The same, and how src is asked for if they do.
void push_stream_and_near(Candidate* k, const layout::Canonical& c, const CpuMachine& m);

/// The time that a bid's lines take from and to memory.
double stream_ns(const Bid& k, const CpuMachine& m);

/// Sets the time of a bid from its parts: lines, starts, and the moving of its units.
void set_time(Bid* k, double lines_ns, double starts_ns, double units_ns);

/// Tiles of units or of records (cpu/tile/bid.cc).
Bid bid_tile(const layout::Canonical& c, const CpuMachine& m);

/// A few channels against planes (cpu/channels/bid.cc).
Bid bid_channels(const layout::Canonical& c, const CpuMachine& m);

/// Tiles of short modes (cpu/packed/bid.cc).
Bid bid_packed(const layout::Canonical& c, const CpuMachine& m);

/// Blocks of short columns (cpu/buffered/bid.cc).
Bid bid_buffered(const layout::Canonical& c, const CpuMachine& m);

}  // namespace restride::cpu
