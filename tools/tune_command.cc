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
#include "src/api/plan_impl.h"
#include "src/cpu/numbers.h"
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

/// A name as machine files have them: plain characters, not too many.
std::string tuned_name(std::string name) {
  for (char& c : name)
    if (c < ' ' || c > '~' || c == '"' || c == '\\') c = ' ';
  constexpr std::string_view kTuned = ", tuned";
  return name.substr(0, plan::kMostMachineName - kTuned.size()) + std::string(kTuned);
}

/// What `restride tune` times on: this processor, or this process's first GPU.
struct Processor {
  using Machine = cpu::CpuMachine;
  static constexpr DeviceKind kKind = DeviceKind::kCpu;
  static constexpr std::string_view kFit = "fit", kCheck = "check";
  int threads;

  Machine start() const { return cpu::this_cpu(); }
  Machine now() const { return api::machines().cpu; }
  std::string from() const { return std::string(cpu::this_cpu().name); }
  std::string where() const { return fmt::format("{} thread{}", threads, threads == 1 ? "" : "s"); }
  std::unique_ptr<bench::Device> device() const { return bench::make_cpu_device(threads); }
  /// The file with these numbers in place of those that `older` has of it.
  std::string file(Machine tuned, const api::MachineFile& older) const {
    const std::string name = tuned_name(describe_machine().processor);
    tuned.name = name;
    return api::machine_file_text(&tuned, older.gpus());
  }
};

class FirstGpu {
 public:
  using Machine = tune::Gpu;
  static constexpr DeviceKind kKind = DeviceKind::kCuda;
  static constexpr std::string_view kFit = "gpu_fit", kCheck = "gpu_check";

  /// Errors: DeviceError, UnsupportedError.
  FirstGpu() : name_(bench::make_cuda_device()->describe().at("gpu")), now_(api::cuda_machine(0)), start_(now_) {
    cuda::take_nearest_costs({}, &start_);
  }
  Machine start() const { return {start_, *start_.costs}; }
  Machine now() const { return {now_, *now_.costs}; }
  std::string from() const { return std::string(start_.name); }
  std::string where() const { return name_; }
  std::unique_ptr<bench::Device> device() const { return bench::make_cuda_device(); }
  std::string file(const Machine& tuned, const api::MachineFile& older) const {
    const std::string name = tuned_name(name_);
    std::vector<cuda::GpuNumbers> gpus{{name, now_.cc_major, now_.cc_minor, now_.copy_bytes_per_ns, tuned.costs}};
    for (const cuda::GpuNumbers& other : older.gpus())
      if (other.name != name) gpus.push_back(other);
    return api::machine_file_text(older.cpu(), gpus);
  }

 private:
  std::string name_;
  cuda::CudaMachine now_;    // by the file in use
  cuda::CudaMachine start_;  // by what restride knows
};

bool is_flag(std::string_view number) {
  for (const auto& n : cpu::kCpuNumbers)
    if (n.name == number && n.flag != nullptr) return true;
  return false;
}

std::string shown(std::string_view number, double value) {
  if (is_flag(number)) return value != 0 ? "true" : "false";
  return fmt::format("{}", value);
}

template <class Machine>
void print_changes(const tune::Fit<Machine>& fit, const Machine& now) {
  fmt::print("{:<28} {:>12} {:>12}  {}\n", "number", "now", "new", "gain");
  bool any = false;
  for (const std::string& name : tune::number_names(now)) {
    const double was = tune::number(now, name), is = tune::number(fit.machine, name);
    std::string gain;
    for (const tune::Change& c : fit.changes)
      if (c.number == name) gain = fmt::format("{:.3f} on {} layout{}", c.gain, c.layouts, c.layouts == 1 ? "" : "s");
    if (was == is) continue;
    any = true;
    fmt::print("{:<28} {:>12} {:>12}  {}\n", name, shown(name, was), shown(name, is), gain);
  }
  if (!any) fmt::print("none is another one: the numbers in use suit this machine\n");
  if (!fit.complete) fmt::print("not every number was tried in this time; --seconds gives more\n");
}

/// Layouts that were not fitted to, by both machines' plans. Returns the mean of time now over time by the new numbers.
template <class Tuned>
double print_check(const Tuned& what, const typename Tuned::Machine& tuned) {
  const std::vector<bench::Case> cases = tune::shipped_layouts(Tuned::kCheck);
  const std::vector<layout::Canonical> layouts = tune::canonical_forms(cases, Tuned::kKind);
  const typename Tuned::Machine now = what.now();
  tune::DeviceClock clock(what.device(), cases, 0);
  fmt::print("\n{:<28} {:>12} {:>12}  {}\n", "not fitted to", "ratio now", "ratio new", "gain");
  double log_sum = 0;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const plan::Decision before = tune::plan(layouts[i], now), after = tune::plan(layouts[i], tuned);
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

template <class Tuned>
void run_tune(const TuneOptions& options, const Tuned& what) {
  const std::string path = options.dry_run && options.out.empty() ? "" : target_of(options);
  const std::string older = options.dry_run ? "" : prepare_target(path, options.out.empty());

  const std::vector<bench::Case> cases = tune::shipped_layouts(Tuned::kFit);
  const std::vector<layout::Canonical> layouts = tune::canonical_forms(cases, Tuned::kKind);
  fmt::print("times {} layouts on {}, {} s at most, from the numbers of {}\n\n", cases.size(), what.where(),
             options.seconds, what.from());
  std::fflush(stdout);
  tune::Fit<typename Tuned::Machine> fit;
  {
    tune::DeviceClock clock(what.device(), cases, options.seconds);
    fit = tune::fit(what.start(), layouts, clock);
  }
  print_changes(fit, what.now());
  const double gain = print_check(what, fit.machine);

  std::optional<api::MachineFile> kept;
  older.empty() ? kept.emplace() : kept.emplace(older);
  const std::string text = what.file(fit.machine, *kept);
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
      "\nExamples:\n  restride tune\n  restride tune --dry-run\n  restride tune --device cuda\n  restride tune --out "
      "mine.json && "
      "RESTRIDE_MACHINE=mine.json restride bench\n\n"
      "The file lies where RESTRIDE_MACHINE says, else in $XDG_CONFIG_HOME/restride/machine.json. Run it while\n"
      "nothing else runs. What the file has of other devices stays.");
  auto options = std::make_shared<TuneOptions>();
  sub->add_option("--out", options->out, "Write this file instead of the one that planning reads")
      ->check(result_file())
      ->type_name("FILE");
  sub->add_flag("--dry-run", options->dry_run, "Print the numbers, write no file");
  sub->add_option("--threads", options->threads, "Threads that are timed, on the CPU")
      ->check(whole_number(1, cpu::kMostThreads))
      ->capture_default_str()
      ->type_name("N");
  sub->add_option("--seconds", options->seconds, "Time for the fit; what was not tried by then stays as it is")
      ->check(whole_number(1, 600))
      ->capture_default_str()
      ->type_name("S");
  sub->add_option("--device", options->device, "cpu, or cuda: the first GPU")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str()
      ->type_name("DEVICE");
  sub->callback([options] {
    if (options->device == "cuda")
      run_tune(*options, FirstGpu());
    else
      run_tune(*options, Processor{options->threads});
  });
}

}  // namespace restride::tools
