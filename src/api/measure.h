// Choosing among a plan's candidates by time instead of by prediction.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <restride/measurements.hpp>

#include "src/api/plan_impl.h"

namespace restride {

/// One candidate's time.
struct MeasuredCandidate {
  std::string kernel;
  std::map<std::string, std::int64_t> params;
  double time_ns = 0;
};

/// Records by key; a key names machine, layouts and alignment (api/measure.cc).
struct Measurements::State {
  mutable std::mutex mutex;
  std::map<std::string, std::vector<MeasuredCandidate>, std::less<>> records;
  std::atomic<std::uint64_t> generation{0};  ///< grows with every record made: a cached plan of before may not know it
};

namespace api {

/// Puts the fastest candidate in the chosen one's place, as options.measure and options.measurements ask; leaves the
/// plan alone when they do not, when a family is forced, and when there is nothing to choose from.
/// Errors: MemoryError, DeviceError; InternalError when two candidates write different bytes.
/// Cost: two buffers of the tensors' spans and some tenths of a second when it measures; a look-up when recorded.
void choose_by_time(Plan::Impl& plan, const Options& options);

}  // namespace api
}  // namespace restride
