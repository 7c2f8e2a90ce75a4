// Rungs on a GPU: which one there is, checking a rung's output on it, timing rungs against each other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lab/rungs.h"

namespace restride::lab {

struct Device {
  bool present = false;
  std::string why_not;  ///< when absent: in words for the person who asked
  std::string name;
  std::string driver;  ///< the kernel module's version, e.g. 580.159.04; empty where the system does not say
  std::string cuda;    ///< newest CUDA that the driver runs, e.g. 13.0
  int processors = 0;
  std::int64_t l2_bytes = 0;
};

/// The current device. Never throws: no toolkit at build time, no driver and no card are all "absent".
Device find_device();

struct Timing {
  double median_ns = 0;    ///< of one launch
  double noise = 0;        ///< interquartile range over the median
  std::int64_t wrong = 0;  ///< elements that differ from what they should be; guards around dst included
};

/// A rung and the shape it runs on.
struct Task {
  const Rung* rung = nullptr;
  Matrix shape;
};

/// Checks each task's output, then times all in turn, `reps` passes each; a pass runs over enough pairs of
/// buffers (all the same bytes) that none is in L2 when its turn comes, and is timed by events around a
/// graph of its launches. Errors: DeviceError, LaunchError.
std::vector<Timing> time_tasks(std::span<const Task> tasks, int element_bytes, int reps);

/// Runs a rung once into a poisoned, guarded destination; the number of wrong elements. Errors: as above.
std::int64_t check_task(const Task& task, int element_bytes);

/// Launches each task once and waits, without timing or checking: what a profiler is attached to.
void launch_once(std::span<const Task> tasks, int element_bytes);

}  // namespace restride::lab
