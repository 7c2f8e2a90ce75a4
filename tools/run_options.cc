#include "tools/run_options.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "src/cpu/team/team.h"
#include "src/plan/decision.h"
#include "tools/commands.h"
#include "tools/io/output_file.h"
#include "tools/whole_number.h"

namespace restride::tools {

std::vector<std::string> family_names() {
  std::vector<std::string> out;
  for (int i = 0; i < plan::kFamilyCount; ++i)
    if (const auto family = static_cast<plan::Family>(i); plan::may_be_forced(family)) out.emplace_back(name(family));
  return out;
}

void require_family(const std::string& name) {
  const std::vector<std::string> known = family_names();
  const std::string family = name.substr(0, name.find('/'));  // which kernels it has, its engine says
  if (name.empty() || std::find(known.begin(), known.end(), family) != known.end()) return;
  throw UsageError(fmt::format("--family: there is no family '{}'; there are {}", name, plan::family_list()));
}

FreshDestination fresh_destination_named(const std::string& name) {
  return name == "advise"     ? FreshDestination::kAdvise
         : name == "prefault" ? FreshDestination::kPrefault
                              : FreshDestination::kOff;
}

CLI::Option* add_fresh_destination(CLI::App& sub, std::string& name) {
  return sub
      .add_option("--fresh-destination", name,
                  "What to ask of the kernel for a destination without pages: off, advise (huge pages) or prefault")
      ->check(CLI::IsMember({"off", "advise", "prefault"}))
      ->type_name("HOW");
}

void add_run_options(CLI::App& sub, RunOptions& o) {
  const std::string group = "How";
  sub.add_option("--threads", o.threads, "CPU threads at most; 0 takes RESTRIDE_NUM_THREADS, then all cores that pay")
      ->check(whole_number(0, cpu::kMostThreads))
      ->type_name("N")
      ->group(group);
  sub.add_option("--device", o.device, "cpu, cuda or auto (the default)")
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
      ->type_name("DEVICE")
      ->group(group);
  sub.add_option("--family", o.family,
                 fmt::format("Force a family of kernels ({}), for measurements", plan::family_list()))
      ->type_name("FAMILY")
      ->group(group);
  add_fresh_destination(sub, o.fresh_destination)->group(group);
  sub.add_flag("--measure", o.measure, "Time what could do the copy, once, and take the fastest")->group(group);
  sub.add_option("--measurements", o.measurements, "File of such times: planned by, and added to with --measure")
      ->type_name("FILE")
      ->group(group);
}

int threads_from_environment() {
  const std::optional<int> threads = cpu::threads_from_environment();
  if (!threads)
    throw UsageError(fmt::format("RESTRIDE_NUM_THREADS is '{}'; set it to a number from 1 to {}, or unset it",
                                 std::getenv("RESTRIDE_NUM_THREADS"), cpu::kMostThreads));
  return *threads;
}

void save_measurements(const RunOptions& o) {
  if (o.measure && !o.measurements.empty()) o.kept.save(o.measurements);
}

Options to_options(RunOptions& o) {
  require_family(o.family);
  if (o.threads == 0) threads_from_environment();  // refuses what the library would ignore
  Options options;
  if (!o.measurements.empty()) {
    if (o.measure) io::OutputFile(o.measurements, true);  // found out before the work; uncommitted it leaves nothing
    if (std::filesystem::exists(o.measurements))
      o.kept = Measurements::load(o.measurements);
    else if (!o.measure)
      throw IoError(fmt::format("there is no file {}; --measure makes it", o.measurements));
    options.measurements = &o.kept;
  }
  options.measure = o.measure;
  options.threads = o.threads;
  options.family = o.family;
  options.fresh_destination = fresh_destination_named(o.fresh_destination);
  options.device = o.device == "cuda" ? DeviceKind::kCuda : o.device == "cpu" ? DeviceKind::kCpu : DeviceKind::kAuto;
  return options;
}

}  // namespace restride::tools
