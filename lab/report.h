// The lab's table: for people and as a result file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lab/device.h"

namespace restride::lab {

struct Row {
  Task task;
  int size = 0;  ///< rows and columns asked for; a batched task's matrices are smaller
  int element_bytes = 4;
  Traffic map;                   ///< counted on the CPU
  std::optional<Timing> timing;  ///< without a device: none
  std::optional<double> ratio;   ///< memcpy's time for this rung's bytes over this rung's time
  std::int64_t bytes() const { return task.rung->bytes(task.shape, element_bytes); }
};

/// The rungs that take this element size, on size x size elements; only those named, when names are given
/// (the faulty ones only then).
/// Errors: std::invalid_argument for a name that no rung has.
std::vector<Task> tasks_for(int size, int element_bytes, const std::vector<std::string>& names);

/// One table: tasks of one size and element size, counted from their maps and, with a device, checked and timed.
/// The ratio needs `memcpy` among the tasks. Errors: those of time_tasks.
std::vector<Row> measure(const std::vector<Task>& tasks, int size, int element_bytes, bool device, int reps);

/// Lines of text, a heading included; figures that there are not read "-".
std::string to_text(const std::vector<Row>& rows);

/// {"rung", "size", "rows", "cols", "batch", "element_bytes", "bytes", "median_ns", "gbps", "ratio", "noise",
///  "checked", "map": {"load_sectors", ...}} a row.
nlohmann::ordered_json to_json(const std::vector<Row>& rows);

nlohmann::ordered_json to_json(const Device& device);

/// True for the file that `restride lab --json` makes of these: {"machine", ..., "rows": [...]}.
bool is_result_file(const nlohmann::ordered_json& file);

}  // namespace restride::lab
