// What the bids of the CPU's kernels are made of.
#pragma once

#include <string_view>

#include "src/cpu/planner.h"
#include "src/plan/choose.h"

namespace restride::cpu {

/// What kernels are asked to bid for.
struct Question {
  const layout::Canonical& c;
  const CpuMachine& machine;
  std::string_view forced;
  int threads = 1;  ///< that the copy is worth

  /// True where the caller wants this kernel, whatever another one of its family could do.
  bool wants(std::string_view kernel) const noexcept { return forced == kernel; }
};

/// A bid under way: its time is predicted from lines as the machine's numbers were fitted to them. Runs lie anywhere,
/// what a broadcast repeats counts each time, and lines of dst with gaps count twice, as they are read before they are
/// written. plan_cpu fills in the traffic. A bid starts as a refusal without a reason, holding the lines that every
/// kernel moves.
struct Bid : Candidate {
  std::int64_t read_lines = 0;
  std::int64_t written_lines = 0;
};

/// Lines a side takes when it walks runs of `run_bytes` that follow each other at random alignment.
std::int64_t lines_for_runs(std::int64_t bytes, std::int64_t run_bytes, std::int64_t line);

/// The lines that any kernel moves.
struct Lines {
  std::int64_t read = 0;
  std::int64_t written = 0;
};
Lines lines_of(const layout::Canonical& c, const CpuMachine& m);

/// True where units that follow each other in dst lie in src a line or more apart: each is read from a line of its own.
bool units_apart(const layout::Canonical& c, const CpuMachine& m) noexcept;

/// How a kernel writes dst: along its runs; in columns, of which many are under way; or in columns of matrices, as
/// tile/matrices does.
enum class Writes : std::uint8_t { kRuns, kColumns, kMatrices };

/// Whether stores bypass the caches, and whether src is then prefetched near.
bool streams(const layout::Canonical& c, const CpuMachine& m, Writes writes = Writes::kRuns) noexcept;
bool reads_near(const layout::Canonical& c, const CpuMachine& m, Writes writes = Writes::kRuns) noexcept;
/// True where bids are priced for the caches. Kernels without permutes of two vectors were not measured in them.
bool stays_in_caches(const layout::Canonical& c, const CpuMachine& m) noexcept;
/// Puts `stream` and `near` into the bid. far: src is not prefetched near all the same.
void push_stream_and_near(Candidate* k, const layout::Canonical& c, const CpuMachine& m, Writes writes = Writes::kRuns,
                          bool far = false);

/// The time that a bid's lines take from and to memory.
double stream_ns(const Bid& k, const CpuMachine& m);

/// How much longer a copy in the caches takes where so many lines under way are in one set of the first one.
double lines_meet(const CpuMachine& m, std::int64_t lines_of_a_set) noexcept;

/// For prices in the caches: lines under way in one set of the first cache, less the four that have room, in fours.
double crowding(std::int64_t lines_of_a_set) noexcept;

/// The time that a row, or a run, takes to start: longer past the caches.
double row_ns(const layout::Canonical& c, const CpuMachine& m) noexcept;

/// The time that conversions take of a unit, in calls for `piece` units each; 0 without a cast.
double cast_ns(const layout::Canonical& c, const CpuMachine& m, std::int64_t piece);

/// Sets the time of a bid from its parts: lines, starts, and the moving of its units.
void set_time(Bid* k, double lines_ns, double starts_ns, double units_ns);

}  // namespace restride::cpu
