// Runs one case on one device: check first, then time the ceiling, the library and the peers turn by turn.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/bench/case.h"
#include "tools/bench/device.h"
#include "tools/bench/timing.h"

namespace restride::bench {

struct RunSettings {
  int reps = 7;
  bool check = true;
  bool peers = false;
  std::vector<std::string> only_peers = {};  ///< with `peers`: these, by whatever case of letters; empty: all there are
  bool loaded = false;  ///< the machine is kept busy: single calls are timed, and one thread of ours is the ceiling
  FreshDestination fresh_destination = FreshDestination::kOff;
  std::string family;                         ///< or a kernel of one; forced when not empty
  std::uint64_t seed = 1;                     ///< of the input bytes
  std::string less_memory = "try --max-mib";  ///< what to do where memory is short

  bool asks_for(const std::string& peer) const;
};

/// A row of the result.
struct CaseResult {
  std::string name, case_class, dst, src, kernel, device;
  int threads = 1;         ///< asked for
  int plan_threads = 1;    ///< that the plan found worth using
  std::int64_t bytes = 0;  ///< read + written; a strided source's by the sectors it touches
  std::int64_t useful_bytes = 0;
  Timing time;  ///< with a plan in hand
  Timing ceiling;
  std::string ceiling_by;
  double plan_ns = 0;
  double copy_ns = 0;   ///< through restride::copy; small cases only, else 0
  double floor_ns = 0;  ///< of an empty kernel; small cases on CUDA only, else 0
  bool loaded = false;  ///< the 95th percentiles count, too
  bool scaled = false;
  bool checked = false;                 ///< compared with the naive loop and found right
  std::string error;                    ///< why there are no times, or what is wrong with the output
  bool skipped = false;                 ///< with `error`: not a failure, e.g. a forced family that does not apply
  std::map<std::string, double> peers;  ///< ratio to the ceiling
  std::map<std::string, std::string> peer_notes;  ///< why a peer has none, e.g. a wrong output

  double ratio() const { return time.median_ns > 0 ? ceiling.median_ns / time.median_ns : 0; }
  double gbps() const { return time.median_ns > 0 ? static_cast<double>(bytes) / time.median_ns : 0; }
  double ceiling_gbps() const { return ceiling.median_ns > 0 ? static_cast<double>(bytes) / ceiling.median_ns : 0; }
};

/// Both sides together up to here: timed hot, in batches, and through `copy` as well.
inline constexpr std::int64_t kSmallBytes = 1 << 20;

/// Measures a case. Never throws for what the case or the library does wrong: that goes into `error`.
CaseResult run_case(const Case& c, Device& device, const RunSettings& settings);

}  // namespace restride::bench
