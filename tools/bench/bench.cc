#include "tools/bench/bench.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/base/nearest.h"
#include "src/cpu/team/team.h"
#include "tools/bench/busy_loops.h"
#include "tools/bench/machine.h"
#include "tools/bench/peers/peers.h"
#include "tools/bench/report.h"
#include "tools/bench/results.h"
#include "tools/bench/shipped.h"
#include "tools/io/text.h"

namespace restride::bench {
namespace {

bool matches(const CaseSpec& spec, const std::vector<std::string>& patterns) {
  if (patterns.empty()) return true;
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    const auto hit = [&](const std::string& text) {
      return text.find(pattern) != std::string::npos || fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
    };
    return hit(spec.name) || hit(spec.case_class);
  });
}

std::vector<std::string> files_of(const Settings& settings) {
  if (!settings.case_files.empty() || !settings.own.empty()) return settings.case_files;
  return {"field", "ttc57"};
}

/// What a result file calls the cases of a run: its files, and the lines of its own.
std::vector<std::string> names_of(const Settings& settings) {
  std::vector<std::string> out = files_of(settings);
  for (const CaseSpec& spec : settings.own) out.push_back(spec.name);
  return out;
}

std::vector<CaseSpec> load(const std::vector<std::string>& files, std::vector<std::string>& warnings) {
  std::vector<CaseSpec> out;
  for (const std::string& file : files) {
    const auto shipped = shipped_cases(file);
    CaseFile loaded = shipped ? parse_case_file(*shipped, file) : load_case_file(file);
    warnings.insert(warnings.end(), loaded.warnings.begin(), loaded.warnings.end());
    for (CaseSpec& spec : loaded.cases) {
      if (spec.case_class.empty()) spec.case_class = shipped_class(spec.name);
      out.push_back(std::move(spec));
    }
  }
  return out;
}

/// Why no case is left: the files are empty, or --only means cases of a shipped file that was not asked for.
std::string why_none(const Settings& settings) {
  if (settings.only.empty()) return "the case files hold no case; put objects into their list \"cases\"";
  std::vector<std::string> elsewhere;
  for (const std::string_view name : kShippedNames) {
    std::vector<std::string> warnings;
    const std::vector<CaseSpec> cases = load({std::string(name)}, warnings);
    if (std::any_of(cases.begin(), cases.end(), [&](const CaseSpec& c) { return matches(c, settings.only); }))
      elsewhere.push_back(fmt::format("--cases {}", name));
  }
  if (!elsewhere.empty())
    return fmt::format("no case matches --only here; {} {} it", fmt::join(elsewhere, " and "),
                       elsewhere.size() == 1 ? "has" : "have");
  return "no case matches --only; `restride bench --list` prints them all";
}

/// The case once for each element asked for; casts and given strides keep their own.
std::vector<CaseSpec> variants(const CaseSpec& spec, const std::vector<Element>& elements) {
  if (elements.empty()) return {spec};
  std::vector<CaseSpec> out;
  for (const Element& element : elements) {
    CaseSpec variant = with_element(spec, element);
    if (std::none_of(out.begin(), out.end(), [&](const CaseSpec& s) { return s.name == variant.name; }))
      out.push_back(std::move(variant));
  }
  return out;
}

std::unique_ptr<Device> make_device(const Settings& settings, int threads) {
  if (settings.device == "cuda") return make_cuda_device();
  const Memory memory = settings.fresh ? Memory::kFresh : settings.warm ? Memory::kWarm : Memory::kCold;
  return make_cpu_device(threads, settings.huge_pages ? Pages::kHuge : Pages::kSmall, memory);
}

/// The case ready to run, or why it cannot be.
Case made(const CaseSpec& spec, double max_mib) try {
  if (!spec.unreadable.empty()) throw ParseError(spec.unreadable);
  const CaseSpec sized = max_mib > 0 ? scale_to(spec, static_cast<std::int64_t>(max_mib * 1048576)) : spec;
  Case c = build_case(sized);
  c.scaled = sized != spec;
  return c;
} catch (const Error& e) {
  Case c;
  c.spec = spec;
  c.error = io::escaped(e.what());
  return c;
}

int list(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const std::string what = c.error.empty() ? fmt::format("{} -> {}{}", to_string(c.src.layout),
                                                           to_string(c.dst.layout), c.scaled ? "  (cut to size)" : "")
                                             : "FAILED: " + c.error;
    fmt::print("{:<30} {:<24} {}\n", c.spec.name, c.spec.case_class, what);
  }
  return std::any_of(cases.begin(), cases.end(), [](const Case& c) { return !c.error.empty(); }) ? 1 : 0;
}

std::vector<int> thread_counts(const Settings& settings) {
  if (settings.device == "cuda") return {1};
  return settings.threads.empty() ? std::vector<int>{cpu::cores_granted()} : settings.threads;
}

/// Errors: ArgumentError for a peer of --peers that is not there, with how to get it.
void require_peers(const RunSettings& settings, const Device& device) {
  const std::vector<std::string> there = settings.only_peers.empty() ? std::vector<std::string>{} : device.peer_names();
  for (const std::string& name : settings.only_peers) {
    base::Nearest nearest(name);
    bool found = false;
    for (const std::string& peer : there) {
      found = found || base::lower(peer) == base::lower(name);
      nearest.show(peer);
    }
    if (found) continue;
    const std::string low = base::lower(name);
    if (device.kind() == DeviceKind::kCpu && (low == "torch" || low == "numpy"))
      throw ArgumentError(fmt::format(
          "--peers {0}: the Python that is used, {1}, has {2}; `{1} -m pip install {3}`, or name one that has it in "
          "RESTRIDE_PYTHON",
          name, python_used(), low == "torch" ? "not both torch and numpy" : "no numpy",
          low == "torch" ? "torch numpy" : "numpy"));
    throw ArgumentError(fmt::format("--peers {}: it is not to be had on this device and machine; {}there {} {}", name,
                                    nearest.found().empty() ? "" : "did you mean '" + nearest.found() + "'? ",
                                    there.size() == 1 ? "is" : "are", fmt::join(there, ", ")));
  }
}

RunInfo describe(const Settings& settings, const Device& device, int threads) {
  RunInfo info{names_of(settings), settings.device, threads, {}, commit(), command_line(), {}};
  info.options = nlohmann::ordered_json::object();
  if (!settings.only.empty()) info.options["only"] = settings.only;
  if (!settings.dtypes.empty()) info.options["dtypes"] = settings.dtypes;
  if (settings.max_mib > 0) info.options["max_mib"] = settings.max_mib;
  if (!settings.run.family.empty()) info.options["family"] = settings.run.family;
  if (settings.huge_pages) info.options["huge_pages"] = true;
  if (settings.fresh) info.options["fresh"] = true;
  if (settings.run.fresh_destination != FreshDestination::kOff)
    info.options["fresh_destination"] =
        settings.run.fresh_destination == FreshDestination::kAdvise ? "advise" : "prefault";
  if (settings.load > 0) info.options["load"] = settings.load;
  if (settings.warm) info.options["warm"] = true;
  nlohmann::json machine = device.describe();
  machine.update(describe_run());
  std::vector<std::string> peers = settings.run.peers ? device.peer_names() : std::vector<std::string>{};
  std::erase_if(peers, [&](const std::string& name) { return !settings.run.asks_for(name); });
  machine["peers"] = peers;
  info.machine = machine;
  return info;
}

}  // namespace

std::vector<Case> select_cases(const Settings& settings, std::vector<std::string>& warnings) {
  std::vector<Element> elements;
  for (const std::string& name : settings.dtypes) elements.push_back(element_named(name));
  std::vector<Case> out;
  std::vector<CaseSpec> specs = settings.own;
  for (CaseSpec& spec : load(files_of(settings), warnings)) specs.push_back(std::move(spec));
  for (const CaseSpec& loaded : specs) {
    for (const CaseSpec& spec : variants(loaded, elements)) {
      if (!matches(loaded, settings.only) && !matches(spec, settings.only)) continue;
      out.push_back(made(spec, settings.max_mib));
    }
  }
  if (out.empty()) throw ArgumentError(why_none(settings));
  return out;
}

int run(const Settings& settings, nlohmann::ordered_json* content) {
  std::vector<std::string> warnings;
  const std::vector<Case> cases = select_cases(settings, warnings);
  for (const Case& c : cases)
    if (!c.error.empty()) warnings.push_back(c.error);
  for (const std::string& warning : warnings) fmt::print(stderr, "restride bench: {}\n", warning);
  if (settings.list) return list(cases);

  const BusyLoops load(settings.load);
  ResultFile file(settings.json_path);
  std::vector<CaseResult> results;
  for (const int count : thread_counts(settings)) {
    const std::unique_ptr<Device> device = make_device(settings, count);
    require_peers(settings.run, *device);
    const RunInfo info = describe(settings, *device, count);
    file.require_machine(info.machine);
    if (results.empty()) fmt::print("{}\n", table_heading());
    std::vector<CaseResult> measured;
    for (const Case& c : cases) {
      measured.push_back(run_case(c, *device, settings.run));
      fmt::print("{}\n", table_row(measured.back()));
      std::fflush(stdout);
      file.put(run_json(info, measured));
    }
    results.insert(results.end(), measured.begin(), measured.end());
  }
  fmt::print("\n{}\n", summary_table(summarize_classes(results)));
  file.finish();
  if (content != nullptr) *content = file.content();
  const bool failed =
      std::any_of(results.begin(), results.end(), [](const CaseResult& r) { return !r.error.empty() && !r.skipped; });
  return failed ? 1 : 0;
}

}  // namespace restride::bench
