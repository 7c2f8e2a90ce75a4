// `restride lab`: the ladder of lab/, rung by rung.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <restride/restride.hpp>

#include "lab/report.h"
#include "tools/bench/machine.h"
#include "tools/commands.h"
#include "tools/draw/lab_page.h"
#include "tools/io/file.h"
#include "tools/io/json_text.h"
#include "tools/io/report_file.h"
#include "tools/result_file.h"
#include "tools/whole_number.h"

namespace restride::tools {
namespace {

struct LabOptions {
  std::vector<int> sizes = {4096, 8192};
  std::vector<int> elements = {4, 2, 1};
  std::vector<std::string> rungs;
  int reps = 21;
  std::string json, html, from;
  bool check = false;
  bool once = false;
};

// Shapes on which nothing is whole: no tile, no vector, no sector; and some where all is.
constexpr lab::Matrix kCheckShapes[] = {{1, 1},       {1, 1000},   {1000, 1},   {31, 33},      {33, 31},
                                        {64, 64},     {65, 127},   {128, 384},  {100, 260},    {4096, 4},
                                        {1023, 1025}, {2048, 528}, {16, 4080},  {1021, 2039},  {3000, 5008},
                                        {70001, 37},  {7, 5, 19},  {33, 65, 9}, {256, 64, 40}, {1, 3, 1000}};

int check_rungs(const LabOptions& options) {
  int runs = 0, failures = 0;
  for (const int bytes : options.elements)
    for (const lab::Matrix& shape : kCheckShapes)
      for (lab::Task task : lab::tasks_for(shape.rows, bytes, options.rungs)) {
        if (shape.batch > 1 && !task.rung->batched) continue;
        task.shape = shape;
        ++runs;
        const std::int64_t wrong = lab::check_task(task, bytes);
        if (wrong == 0) continue;
        ++failures;
        fmt::print("{}: {} x {} x {}, {}-byte elements: {} elements wrong\n", task.rung->name, shape.batch, shape.rows,
                   shape.cols, bytes, wrong);
      }
  fmt::print("{} of {} runs right, on {} shapes\n", runs - failures, runs, std::size(kCheckShapes));
  return failures == 0 ? kOk : kFailure;
}

// Which launches the profiler will have seen, in order: lab/profile.py reads it.
void launch_for_profiler(const LabOptions& options) {
  nlohmann::json launches = nlohmann::json::array();
  for (const int size : options.sizes)
    for (const int bytes : options.elements) {
      const auto tasks = lab::tasks_for(size, bytes, options.rungs);
      lab::launch_once(tasks, bytes);
      for (const lab::Task& task : tasks)
        launches.push_back({{"rung", task.rung->name}, {"size", size}, {"element_bytes", bytes}});
    }
  fmt::print("{}\n", launches.dump());
}

void require_known_rungs(const LabOptions& options) {
  try {
    for (const std::string& name : options.rungs) lab::find_rung(name);
  } catch (const std::invalid_argument& e) {
    throw UsageError(e.what());
  }
}

void run_lab(const LabOptions& options) {
  require_known_rungs(options);
  if (!options.html.empty()) io::require_drawing(options.html, "<!doctype html>");
  if (!options.from.empty()) {
    if (options.html.empty()) throw UsageError("--from is for a page; add --html OUT");
    const nlohmann::ordered_json file = io::parse_report(io::read_text(options.from, options.from));
    if (!lab::is_result_file(file))
      throw IoError(options.from + " holds no results; give a file that `restride lab --json` wrote");
    return io::write_report(options.html, draw::lab_page(file));
  }
  const lab::Device device = lab::find_device();
  if ((options.check || options.once) && !device.present)
    throw DeviceError("lab --check and --once need a GPU: " + device.why_not);
  if (options.check) throw Exit{check_rungs(options)};
  if (options.once) return launch_for_profiler(options);

  if (!options.json.empty()) io::require_report(options.json, lab::is_result_file);
  if (device.present) {
    fmt::print("{}, driver {}, CUDA {}: {} processors, {} MiB L2\n\n", device.name, device.driver, device.cuda,
               device.processors, device.l2_bytes >> 20);
  } else {
    fmt::print("No device is here ({}): only the figures that follow from the maps.\n\n", device.why_not);
  }
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  bool right = true;
  for (const int bytes : options.elements)
    for (const int size : options.sizes) {
      const auto rows =
          lab::measure(lab::tasks_for(size, bytes, options.rungs), size, bytes, device.present, options.reps);
      fmt::print("{}\n", lab::to_text(rows));
      std::fflush(stdout);
      for (const lab::Row& row : rows) right = right && (!row.timing || row.timing->wrong == 0);
      for (auto& item : lab::to_json(rows)) all.push_back(std::move(item));
    }
  if (!options.json.empty() || !options.html.empty()) {
    nlohmann::ordered_json result = {{"machine", lab::to_json(device)},
                                     {"version", version()},
                                     {"commit", bench::commit()},
                                     {"command", bench::command_line()},
                                     {"rows", std::move(all)}};
    if (!options.json.empty()) io::write_report(options.json, io::json_rows(result) + '\n');
    if (!options.html.empty()) io::write_report(options.html, draw::lab_page(result));
  }
  if (!right) throw Exit{kFailure};
}

}  // namespace

void add_lab_command(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("lab", "Run the ladder from the naive transpose to the bulk copy engine");
  sub->footer(
      "Each rung is one file of lab/rungs; docs/lab.md tells what it changes. Sectors and conflicts follow\n"
      "from its index map, on the CPU; times need an NVIDIA GPU, caches cold, output checked.");
  auto options = std::make_shared<LabOptions>();
  sub->add_option("--size", options->sizes, "Rows and columns of the square; 4096 and 8192 unless told")
      ->check(whole_number(1, 1 << 15))
      ->type_name("N");
  sub->add_option("--element", options->elements, "Bytes of an element; all of them unless told")
      ->check(CLI::IsMember({1, 2, 4}))
      ->type_name("BYTES");
  sub->add_option("--rung", options->rungs, "Only these rungs")->type_name("NAME");
  sub->add_option("--reps", options->reps, "Timed passes a rung; the median counts")
      ->check(whole_number(1, 100000))
      ->capture_default_str()
      ->type_name("N");
  sub->add_option("--json", options->json, "Write the rows to this file as well, in place of an older result")
      ->check(result_file())
      ->type_name("OUT");
  sub->add_option("--html", options->html, "Write the ladder as a page: its story, each rung's drawing and figures")
      ->check(result_file())
      ->type_name("OUT");
  sub->add_option("--from", options->from, "With --html: of this result file; nothing is run")->type_name("RESULT");
  sub->add_flag("--check", options->check, "Run every rung on odd shapes, check each element, time nothing");
  sub->add_flag("--once", options->once, "Launch every rung once, for a profiler (lab/profile.py)");
  sub->callback([options] { run_lab(*options); });
}

}  // namespace restride::tools
