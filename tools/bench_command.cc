// `restride bench`: layouts from case files, against the speed of a plain copy.
#include <cstdio>
#include <filesystem>
#include <memory>

#include <restride/error.hpp>

#include "src/cpu/team/team.h"
#include "tools/bench/bench.h"
#include "tools/commands.h"
#include "tools/list_values.h"
#include "tools/result_file.h"
#include "tools/run_options.h"
#include "tools/view_options.h"
#include "tools/whole_number.h"

namespace restride::tools {
namespace {

constexpr const char* kFooter = R"(
Examples:
  restride bench --only transpose --threads 1,2 --json result.json
  restride bench --cases bench/cases/ttc57.json --dtype u8,f32 --reps 15
  restride bench --cases mine.json --max-mib 64 --peers

Every output is compared with a naive loop before it is timed. The ceiling is the best plain copy of the same
bytes with the same threads in the same run; ratio = ceiling time / our time. Without --cases the shipped
files field.json and ttc57.json are run; `--cases extra` adds the third.)";

// CLI::PositiveNumber lets infinities pass, and names its limits by 309 digits.
std::string is_size(const std::string& text) {
  constexpr double kLeast = 1.0 / (1 << 20), kMost = 1e6;
  double mib = 0;
  const bool number = CLI::detail::lexical_cast(text, mib);
  if (number && mib >= kLeast && mib <= kMost) return "";
  return "'" + text + "' is no size; give MiB above 0 and up to a million, as in 64 or 0.5";
}

void refuse_result_in_case_file(const bench::Settings& settings) {
  for (const std::string& file : settings.case_files) {
    std::error_code unknown;  // one of them does not exist, or opening it will tell
    if (std::filesystem::equivalent(file, settings.json_path, unknown))
      throw UsageError("--json " + settings.json_path + " is a case file that is read; name another file");
  }
}

/// An option that takes a list between commas, or words, and hands each entry to `take`.
template <class Take>
CLI::Option* add_list(CLI::App& command, const std::string& option, const std::string& help, Take take) {
  const auto read = [option, take](const std::vector<std::string>& words) {
    for (const std::string& word : words)
      for (std::string& entry : entries_of(option, word, "write it or leave out its comma")) take(std::move(entry));
  };
  return command.add_option_function<std::vector<std::string>>(option, read, help);
}

}  // namespace

void add_bench_command(CLI::App& app) {
  auto settings = std::make_shared<bench::Settings>();
  CLI::App* command = app.add_subcommand("bench", "Measure layouts against the speed of a plain copy");
  command->footer(kFooter);
  command->add_option("--cases", settings->case_files, "Case files, or the shipped field, ttc57, extra")
      ->type_name("FILE")
      ->take_all();
  command->add_option("--only", settings->only, "Only cases whose name or class has this in it, or matches this glob")
      ->type_name("PATTERN")
      ->take_all();
  add_list(*command, "--threads", "Threads; a list runs each case with each", [settings](std::string entry) {
    if (const std::string wrong = whole_number(1, cpu::kMostThreads)(entry); !wrong.empty())
      throw UsageError("--threads: " + wrong);
    CLI::detail::lexical_cast(entry, settings->threads.emplace_back());
  })->type_name("N");
  command->add_option("--reps", settings->run.reps, "Timed repetitions a case")
      ->check(whole_number(1, 100000))
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--max-mib", settings->max_mib, "Cut cases above this many MiB a side by their outermost extents")
      ->check(is_size)
      ->type_name("MIB");
  add_list(*command, "--dtype", "Run the cases without a cast with these elements instead",
           [settings](const std::string& entry) { settings->dtypes.push_back(to_string(element_named(entry))); })
      ->type_name("DTYPE");
  command->add_option("--device", settings->device, "cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str()
      ->type_name("DEVICE");
  command->add_option("--family", settings->run.family, "Force a family; cases it does not apply to are skipped")
      ->type_name("FAMILY");
  command
      ->add_option("--json", settings->json_path,
                   "Write the results to this file, in the place of the same run's older ones")
      ->check(result_file())
      ->type_name("OUT");
  command->add_option("--seed", settings->run.seed, "Of the input bytes")
      ->check(whole_number(0, INT64_MAX).description(""))
      ->capture_default_str()
      ->type_name("N");
  command->add_flag("--huge-pages", settings->huge_pages,
                    "Lay the CPU's tensors in huge pages, as NumPy does from 4 MiB on, instead of small ones");
  command->add_flag("--peers", settings->run.peers, "Time the other libraries found on this machine as well");
  command->add_flag_callback(
      "--no-check", [settings] { settings->run.check = false; }, "Skip the comparison with the naive loop");
  command->add_flag("--list", settings->list, "Print the cases and their layouts, measure nothing");
  command->callback([settings] {
    if (settings->huge_pages && settings->device == "cuda")
      throw UsageError("--huge-pages is about the CPU's tensors; leave it out with --device cuda");
    refuse_result_in_case_file(*settings);
    require_family(settings->run.family);
    if (const int code = bench::run(*settings); code != 0) throw Exit{code};
  });
}

}  // namespace restride::tools
