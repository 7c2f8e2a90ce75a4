// `restride bench`: layouts from case files, against the speed of a plain copy.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <restride/error.hpp>

#include "src/cpu/team/team.h"
#include "tools/bench/bench.h"
#include "tools/bench/results.h"
#include "tools/commands.h"
#include "tools/draw/bench_page.h"
#include "tools/io/file.h"
#include "tools/io/json_text.h"
#include "tools/io/report_file.h"
#include "tools/io/text.h"
#include "tools/layout_arrow.h"
#include "tools/list_values.h"
#include "tools/result_file.h"
#include "tools/run_options.h"
#include "tools/view_options.h"
#include "tools/whole_number.h"

namespace restride::tools {
namespace {

constexpr const char* kFooter = R"(
Examples:
  restride bench 'f32 (64,512,512,3) -> (0,3,1,2)' --peers
  restride bench 'f32 (4096,4096) -> (1,0)' --threads 1 --peers numpy,torch
  restride bench 'u8 (1080,1920,3):(6144,3,1) -> f32' 'bf16 (4096,4096) -> bf16 (4096,4096):(1,4096)'
  restride bench --only transpose --threads 1,2 --json result.json
  restride bench --cases bench/cases/ttc57.json --dtype u8,f32 --reps 15
  restride bench --cases mine.json --max-mib 64 --peers
  restride bench --from result.json --against older.json --html result.html

Every output is compared with a naive loop before it is timed. The ceiling is the best plain copy of the same
bytes with the same threads in the same run; ratio = ceiling time / our time. With neither a layout nor
--cases the shipped files field.json and ttc57.json are run; `--cases extra` and `--cases odd` add the
others. `man restride` has the format of case files.)";

// CLI::PositiveNumber lets infinities pass, and names its limits by 309 digits.
std::string is_size(const std::string& text) {
  constexpr double kLeast = 1.0 / (1 << 20), kMost = 1e6;
  double mib = 0;
  const bool number = CLI::detail::lexical_cast(text, mib);
  if (number && mib >= kLeast && mib <= kMost) return "";
  return "'" + text + "' is no size; give MiB above 0 and up to a million, as in 64 or 0.5";
}

/// The options about pages.
struct PageOptions {
  std::string html, from, against;
};

/// A result file's content. Errors: IoError, ParseError; IoError where it holds something else.
nlohmann::ordered_json read_results(const std::string& path) {
  nlohmann::ordered_json file = io::parse_report(io::read_text(path, path));
  if (!bench::is_result_file(file))
    throw IoError(path + " holds no results; give a file that `restride bench --json` wrote");
  return file;
}

/// Measures, or takes the file of --from, and writes the page. Returns the exit code.
int run_with_page(const bench::Settings& settings, const PageOptions& page) {
  if (page.html.empty()) {
    if (!page.from.empty() || !page.against.empty())
      throw UsageError("--from and --against are for a page; add --html OUT");
    return bench::run(settings);
  }
  io::require_drawing(page.html, "<!doctype html>");
  std::optional<nlohmann::ordered_json> against;
  if (!page.against.empty()) against = read_results(page.against);  // before the work
  nlohmann::ordered_json content;
  const int code = page.from.empty() ? bench::run(settings, &content) : 0;
  if (!page.from.empty()) content = read_results(page.from);
  const auto shown = [](const std::string& path) { return std::filesystem::path(path).filename().string(); };
  const std::string name = !page.from.empty()            ? shown(page.from)
                           : !settings.json_path.empty() ? shown(settings.json_path)
                                                         : "this run";
  io::write_report(page.html, draw::bench_page(content, name, against ? &*against : nullptr, shown(page.against)));
  return code;
}

void refuse_result_in_case_file(const bench::Settings& settings) {
  for (const std::string& file : settings.case_files) {
    std::error_code unknown;  // one of them does not exist, or opening it will tell
    if (std::filesystem::equivalent(file, settings.json_path, unknown))
      throw UsageError("--json " + settings.json_path + " is a case file that is read; name another file");
  }
}

/// A line as a case. Errors: those of parse_arrow; UsageError where a case cannot say it.
bench::CaseSpec case_of(const std::string& what) {
  if (!has_arrow(what))
    throw UsageError(
        fmt::format("bench '{}': write what it is copied into behind '->', as in 'f32 (64,512) -> (1,0)'; "
                    "case files go behind --cases",
                    what));
  const LayoutArrow arrow = parse_arrow("bench", what);
  const auto extents_of = [](const Layout& layout) {
    std::vector<std::int64_t> out;
    for (const Mode& m : layout.modes) out.push_back(m.extent);
    return out;
  };
  const auto strides_of = [](const Layout& layout) {
    std::vector<std::int64_t> out;
    for (const Mode& m : layout.modes) out.push_back(m.stride_bytes);
    return is_contiguous(layout) ? std::vector<std::int64_t>() : out;
  };
  bench::CaseSpec spec;
  spec.name = io::escaped(what);
  spec.shape = extents_of(arrow.src);
  spec.strides_bytes = strides_of(arrow.src);
  if (arrow.axes) spec.axes = *arrow.axes;
  spec.src = arrow.src.element;
  spec.dst = arrow.dst ? arrow.dst->element : arrow.dtype.value_or(spec.src);
  if (arrow.src.offset_bytes != 0 || (arrow.dst && arrow.dst->offset_bytes != 0))
    throw UsageError(fmt::format("bench '{}': memory is bench's own, and begins at a page; leave out '@'", what));
  if (!arrow.dst) return spec;
  if (extents_of(*arrow.dst) != spec.shape)
    throw UsageError(
        fmt::format("bench '{}': both sides need the same shape; what pairs by count is a case with dst_shape "
                    "in a file for --cases",
                    what));
  spec.dst_strides_bytes = strides_of(*arrow.dst);
  return spec;
}

/// Options that take several words take a layout, too.
void refuse_arrow(const std::string& option, const std::string& word) {
  if (has_arrow(word))
    throw UsageError(
        fmt::format("'{}' stands behind {}, which takes all words up to the next option; write it in front "
                    "of the options",
                    word, option));
}

/// Adds an option that takes words, or several times one.
CLI::Option* add_words(CLI::App& command, const std::string& option, std::vector<std::string>& to,
                       const std::string& type, const std::string& help) {
  return command.add_option(option, to, help)->type_name(type)->take_all()->each([option](const std::string& word) {
    refuse_arrow(option, word);
  });
}

/// An option that takes a list between commas, or words, and hands each entry to `take`.
template <class Take>
CLI::Option* add_list(CLI::App& command, const std::string& option, const std::string& help, Take take) {
  const auto read = [option, take](const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      refuse_arrow(option, word);
      for (std::string& entry : entries_of(option, word, "write it or leave out its comma")) take(std::move(entry));
    }
  };
  return command.add_option_function<std::vector<std::string>>(option, read, help);
}

}  // namespace

void add_bench_command(CLI::App& app) {
  auto settings = std::make_shared<bench::Settings>();
  auto fresh_destination = std::make_shared<std::string>("off");
  CLI::App* command = app.add_subcommand("bench", "Measure layouts against the speed of a plain copy");
  command->footer(kFooter);
  command
      ->add_option_function<std::vector<std::string>>(
          "WHAT",
          [settings](const std::vector<std::string>& lines) {
            for (const std::string& line : lines) settings->own.push_back(case_of(line));
          },
          "Layouts of your own: 'LAYOUT -> (AXES)', 'LAYOUT -> DTYPE', 'LAYOUT -> LAYOUT'")
      ->type_name("");
  add_words(*command, "--cases", settings->case_files, "FILE", "Case files, or the shipped field, ttc57, extra, odd");
  add_words(*command, "--only", settings->only, "PATTERN",
            "Only cases whose name or class has this in it, or matches this glob");
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
  command->add_flag("--fresh", settings->fresh,
                    "The CPU's destinations have no pages before each copy; the ceiling is memcpy into such memory");
  add_fresh_destination(*command, *fresh_destination);
  command
      ->add_option("--load", settings->load,
                   "Keep N busy loops beside: single calls are timed, against one thread of ours under the same load")
      ->check(whole_number(0, 4096))
      ->type_name("N");
  command->add_flag("--warm", settings->warm,
                    "Time cases of all sizes in the same memory again and again, so that what fits the CPU's caches is "
                    "in them, as small ones are timed anyway");
  add_words(*command, "--peers", settings->run.only_peers, "[NAME...]",
            "Time the other libraries found on this machine as well, or these of them: naive, OpenBLAS, HPTT, Eigen, "
            "oneDNN, numpy, torch")
      ->delimiter(',')
      ->expected(0, CLI::detail::expected_max_vector_size);
  command->add_flag_callback(
      "--no-check", [settings] { settings->run.check = false; }, "Skip the comparison with the naive loop");
  command->add_flag("--list", settings->list, "Print the cases and their layouts, measure nothing");
  auto page = std::make_shared<PageOptions>();
  command->add_option("--html", page->html, "Write the results as a page")->check(result_file())->type_name("OUT");
  command->add_option("--from", page->from, "With --html: of this result file; nothing is measured")
      ->type_name("RESULT");
  command->add_option("--against", page->against, "With --html: beside this older result file")->type_name("RESULT");
  command->callback([settings, fresh_destination, page, command] {
    settings->run.peers = command->count("--peers") > 0;
    std::erase(settings->run.only_peers, "");  // of --peers alone
    if ((settings->fresh || settings->load > 0 || *fresh_destination != "off") && settings->device == "cuda")
      throw UsageError("--fresh, --fresh-destination and --load are about the CPU; leave them out with --device cuda");
    if (settings->warm && (settings->fresh || settings->load > 0 || settings->device == "cuda"))
      throw UsageError(
          "--warm is about what is in the CPU's caches; leave it out with --fresh, --load and --device cuda");
    settings->run.fresh_destination = fresh_destination_named(*fresh_destination);
    settings->run.loaded = settings->load > 0;
    if (!page->from.empty() && !settings->json_path.empty())
      throw UsageError("--from measures nothing, so there is nothing for --json; leave one out");
    if (settings->huge_pages && settings->device == "cuda")
      throw UsageError("--huge-pages is about the CPU's tensors; leave it out with --device cuda");
    refuse_result_in_case_file(*settings);
    require_family(settings->run.family);
    if (const int code = run_with_page(*settings, *page); code != 0) throw Exit{code};
  });
}

}  // namespace restride::tools
