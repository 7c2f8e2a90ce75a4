// `restride tune`: this machine's numbers, measured and written where planning reads them.
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <restride/restride.hpp>

#include "src/api/machines.h"
#include "src/cpu/planner.h"
#include "src/cpu/team/team.h"
#include "tools/commands.h"
#include "tools/io/file.h"
#include "tools/io/report_file.h"
#include "tools/machine.h"
#include "tools/result_file.h"
#include "tools/tune/clock.h"
#include "tools/tune/fit.h"
#include "tools/whole_number.h"

namespace restride::tools {
namespace {

struct TuneOptions {
  std::string out;
  std::string device = "cpu";
  int threads = 1;
  int seconds = 90;
  bool dry_run = false;
};

/// Where the numbers go. Errors: UsageError where no file is read.
std::string target_of(const TuneOptions& options) {
  if (!options.out.empty()) return options.out;
  std::string path = api::machine_file_home();
  if (path.empty())
    throw UsageError(
        "no file is read here, because RESTRIDE_MACHINE is empty or there is no home; name one with --out, or give "
        "--dry-run");
  return path;
}

/// Finds out before the work whether the file can be written; folders of the user's own place are made. Returns the
/// text of the older one. Errors: IoError.
std::string prepare_target(const std::string& path, bool own_place) {
  if (own_place) {
    std::error_code failed;  // writing tells why
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  }
  const bool older = !io::require_report(path, [](const nlohmann::ordered_json& found) {
                        return found.is_object() && found.contains("restride_machine");
                      }).is_null();
  return older ? io::read_text(path, path) : std::string();
}

/// The processor's name as machine files have them: plain characters, not too many.
std::string tuned_name() {
  std::string name = describe_machine().processor;
  for (char& c : name)
    if (c < ' ' || c > '~' || c == '"' || c == '\\') c = ' ';
  constexpr std::string_view kTuned = ", tuned";
  return name.substr(0, plan::kMostMachineName - kTuned.size()) + std::string(kTuned);
}

std::string shown(std::string_view number, double value) {
  for (const auto& n : cpu::kCpuNumbers)
    if (n.name == number && n.flag != nullptr) return value != 0 ? "true" : "false";
  return fmt::format("{}", value);
}

void print_changes(const tune::Fit& fit, const cpu::CpuMachine& now) {
  fmt::print("{:<28} {:>12} {:>12}  {}\n", "number", "now", "new", "gain");
  bool any = false;
  for (const auto& n : cpu::kCpuNumbers) {
    const double was = tune::number(now, n.name), is = tune::number(fit.machine, n.name);
    std::string gain;
    for (const tune::Change& c : fit.changes)
      if (c.number == n.name) gain = fmt::format("{:.3f} on {} layout{}", c.gain, c.layouts, c.layouts == 1 ? "" : "s");
    if (was == is) continue;
    any = true;
    fmt::print("{:<28} {:>12} {:>12}  {}\n", n.name, shown(n.name, was), shown(n.name, is), gain);
  }
  if (!any) fmt::print("none is another one: the numbers in use suit this machine\n");
  if (!fit.complete) fmt::print("not every number was tried in this time; --seconds gives more\n");
}

/// Layouts that were not fitted to, by both machines' plans. Returns the mean of time now over time by the new numbers.
double print_check(const cpu::CpuMachine& now, const cpu::CpuMachine& tuned, int threads) {
  const std::vector<bench::Case> cases = tune::shipped_layouts("check");
  const std::vector<layout::Canonical> layouts = tune::canonical_forms(cases);
  tune::CpuClock clock(cases, threads, 0);
  fmt::print("\n{:<28} {:>12} {:>12}  {}\n", "not fitted to", "ratio now", "ratio new", "gain");
  double log_sum = 0;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const plan::Decision before = cpu::plan_cpu(layouts[i], now), after = cpu::plan_cpu(layouts[i], tuned);
    const double old_time = clock.time(i, before);
    const bool same = tune::same_plan(before, after);
    const double new_time = same ? old_time : clock.time(i, after);
    log_sum += std::log(old_time / new_time);
    fmt::print("{:<28} {:>12.3f} {:>12.3f}  {}\n", cases[i].spec.name, 1 / old_time, 1 / new_time,
               same ? "the same plan" : fmt::format("{:.3f}", old_time / new_time));
  }
  const double mean = std::exp(log_sum / static_cast<double>(layouts.size()));
  fmt::print("{:<54}  {:.3f}\n", "mean", mean);
  return mean;
}

void run_tune(const TuneOptions& options) {
  if (options.device == "cuda")
    throw UsageError(
        "--device cuda: GPUs cannot be tuned yet; a GPU that was never measured goes by the nearest one's numbers, or "
        "by those that you write into a machine file");
  const std::string path = options.dry_run && options.out.empty() ? "" : target_of(options);
  const std::string older = options.dry_run ? "" : prepare_target(path, options.out.empty());
  const cpu::CpuMachine& now = api::machines().cpu;

  const std::vector<bench::Case> cases = tune::shipped_layouts("fit");
  const std::vector<layout::Canonical> layouts = tune::canonical_forms(cases);
  fmt::print("times {} layouts on {} thread{}, {} s at most, from the numbers of {}\n\n", cases.size(), options.threads,
             options.threads == 1 ? "" : "s", options.seconds, cpu::this_cpu().name);
  std::fflush(stdout);
  tune::Fit fit;
  {
    tune::CpuClock clock(cases, options.threads, options.seconds);
    fit = tune::fit(cpu::this_cpu(), layouts, clock);
  }
  const std::string name = tuned_name();
  fit.machine.name = name;
  print_changes(fit, now);
  const double gain = print_check(now, fit.machine, options.threads);

  std::optional<api::MachineFile> kept;  // the GPUs that the older file has
  if (!older.empty()) kept.emplace(older);
  const std::string text =
      api::machine_file_text(&fit.machine, kept ? kept->gpus() : std::span<const cuda::GpuNumbers>());
  if (options.dry_run) {
    fmt::print("\n{}", text);
    return;
  }
  constexpr double kNoise = 0.97;
  if (gain < kNoise)
    throw DeviceError(
        "the new numbers lose on layouts that they were not fitted to, so nothing is written; run it again while "
        "nothing else runs");
  io::write_report(path, text);
  fmt::print("\nwritten to {}; planning reads it from the next process on{}\n", path,
             path == api::machine_file_home() ? "" : fmt::format(", where RESTRIDE_MACHINE={} is set", path));
}

}  // namespace

void add_tune_command(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("tune", "Measure this machine and write the numbers that planning goes by");
  sub->footer(
      "\nExamples:\n  restride tune\n  restride tune --dry-run\n  restride tune --out mine.json && "
      "RESTRIDE_MACHINE=mine.json restride bench\n\n"
      "The file lies where RESTRIDE_MACHINE says, else in $XDG_CONFIG_HOME/restride/machine.json. Run it while\n"
      "nothing else runs. The processor only: GPUs cannot be tuned yet.");
  auto options = std::make_shared<TuneOptions>();
  sub->add_option("--out", options->out, "Write this file instead of the one that planning reads")
      ->check(result_file())
      ->type_name("FILE");
  sub->add_flag("--dry-run", options->dry_run, "Print the numbers, write no file");
  sub->add_option("--threads", options->threads, "Threads that are timed")
      ->check(whole_number(1, cpu::kMostThreads))
      ->capture_default_str()
      ->type_name("N");
  sub->add_option("--seconds", options->seconds, "Time for the fit; what was not tried by then stays as it is")
      ->check(whole_number(1, 600))
      ->capture_default_str()
      ->type_name("S");
  sub->add_option("--device", options->device, "cpu; GPUs cannot be tuned yet")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str()
      ->type_name("DEVICE");
  sub->callback([options] { run_tune(*options); });
}

}  // namespace restride::tools
