#include "lab/report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace restride::lab {
namespace {

std::string figure(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

double gbps(const Row& row) { return static_cast<double>(row.bytes()) / row.timing->median_ns; }

}  // namespace

std::vector<Task> tasks_for(int size, int element_bytes, const std::vector<std::string>& names) {
  for (const std::string& name : names) find_rung(name);
  std::vector<Task> tasks;
  for (const Rung& rung : rungs()) {
    const bool asked = names.empty() ? !rung.faulty : std::find(names.begin(), names.end(), rung.name) != names.end();
    if (asked && rung.takes(element_bytes)) tasks.push_back({&rung, rung.measured_shape(size)});
  }
  return tasks;
}

std::vector<Row> measure(const std::vector<Task>& tasks, int size, int element_bytes, bool device, int reps) {
  std::vector<Row> rows;
  for (const Task& task : tasks)
    rows.push_back({task, size, element_bytes, task.rung->traffic(task.shape, element_bytes), {}, {}});
  if (!device) return rows;
  const std::vector<Timing> timings = time_tasks(tasks, element_bytes, reps);
  std::optional<double> ceiling_gbps;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].timing = timings[i];
    if (rows[i].task.rung->name == "memcpy") ceiling_gbps = gbps(rows[i]);
  }
  if (ceiling_gbps)
    for (Row& row : rows) row.ratio = gbps(row) / *ceiling_gbps;
  return rows;
}

std::string to_text(const std::vector<Row>& rows) {
  if (rows.empty()) return "";
  const Row& first = rows.front();
  std::string out = fmt::format("{} x {}, {}-byte elements\n", first.size, first.size, first.element_bytes);
  out += fmt::format("{:<22} {:>7} {:>6} {:>6}  {:>7} {:>7}  {:>8} {:>8}  {}\n", "", "", "", "", "sectors", "/request",
                     "conflict", "degree", "");
  out += fmt::format("{:<22} {:>7} {:>6} {:>6}  {:>7} {:>7}  {:>8} {:>8}  {}\n", "rung", "GB/s", "ratio", "noise",
                     "load", "store", "store", "load", "output");
  for (const Row& row : rows) {
    std::string speed = "-", noise = "-", checked = "not run";
    if (row.timing) {
      speed = fmt::format("{:.0f}", gbps(row));
      noise = fmt::format("{:.1f}%", 100 * row.timing->noise);
      checked = row.timing->wrong == 0 ? "right" : fmt::format("{} elements WRONG", row.timing->wrong);
    }
    if (row.task.shape.batch > 1)
      checked += fmt::format(", {} x {} x {}", row.task.shape.batch, row.task.shape.rows, row.task.shape.cols);
    out += fmt::format("{:<22} {:>7} {:>6} {:>6}  {:>7} {:>7}  {:>8} {:>8}  {}\n", row.task.rung->name, speed,
                       figure(row.ratio, 3), noise, figure(row.map.load_sectors, 1), figure(row.map.store_sectors, 1),
                       figure(row.map.put_conflicts, 2), figure(row.map.get_conflicts, 2), checked);
  }
  return out;
}

nlohmann::ordered_json to_json(const std::vector<Row>& rows) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    const Matrix& m = row.task.shape;
    nlohmann::ordered_json item{{"rung", row.task.rung->name},
                                {"size", row.size},
                                {"rows", m.rows},
                                {"cols", m.cols},
                                {"batch", m.batch},
                                {"bytes", row.bytes()},
                                {"element_bytes", row.element_bytes}};
    if (row.timing) {
      item["median_ns"] = row.timing->median_ns;
      item["gbps"] = gbps(row);
      item["noise"] = row.timing->noise;
      item["checked"] = row.timing->wrong == 0;
    }
    if (row.ratio) item["ratio"] = *row.ratio;
    nlohmann::ordered_json map = nlohmann::ordered_json::object();
    const auto put = [&map](const char* name, const std::optional<double>& value) {
      if (value) map[name] = *value;
    };
    put("load_sectors", row.map.load_sectors);
    put("store_sectors", row.map.store_sectors);
    put("put_wavefronts", row.map.put_wavefronts);
    put("get_wavefronts", row.map.get_wavefronts);
    put("put_conflicts", row.map.put_conflicts);
    put("get_conflicts", row.map.get_conflicts);
    item["map"] = std::move(map);
    out.push_back(std::move(item));
  }
  return out;
}

nlohmann::ordered_json to_json(const Device& device) {
  if (!device.present) return {{"device", nullptr}, {"why_not", device.why_not}};
  return {{"device", device.name},
          {"driver", device.driver},
          {"cuda", device.cuda},
          {"processors", device.processors},
          {"l2_bytes", device.l2_bytes}};
}

bool is_result_file(const nlohmann::ordered_json& file) {
  if (!file.is_object() || !file.contains("machine") || !file.contains("rows") || !file["rows"].is_array())
    return false;
  return std::all_of(file["rows"].begin(), file["rows"].end(), [](const nlohmann::ordered_json& row) {
    return row.is_object() && row.contains("rung") && row.contains("map");
  });
}

}  // namespace restride::lab
