// `restride explain`: what a copy becomes, which family takes it, what lost and why.
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <restride/distributed.hpp>
#include <restride/restride.hpp>

#include "src/api/plan_impl.h"
#include "src/cpu/models.h"
#include "src/cpu/team/team.h"
#include "src/layout/canonical.h"
#include "src/layout/describe.h"
#include "tools/array_request.h"
#include "tools/bench/runner.h"
#include "tools/commands.h"
#include "tools/draw/bars.h"
#include "tools/draw/explain.h"
#include "tools/explain_exchange.h"
#include "tools/input_options.h"
#include "tools/io/json_text.h"
#include "tools/io/open_array.h"
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

constexpr const char* kExplainExamples = R"(
What it takes:
  'LAYOUT -> (AXES)'    permuted into a contiguous tensor:  'f32 (64,512,512,3) -> (0,3,1,2)'
  'LAYOUT -> DTYPE'     converted into a contiguous tensor: 'f32 (64,512) -> f16'
  'LAYOUT -> LAYOUT'    any two of equal shape:             'f32 (4,4):(1,4) -> f32 (4,4)'
                        with --reshape of equal count:      'f32 (4,4):(1,4) -> f32 (16)' --reshape 16
  LAYOUT or a file      with --axes, --rearrange, --slice ... as `restride copy` takes them;
                        a file also with --in-layout and --in-dtype
  'DTYPE DIST -> DIST'  one distribution over ranks into another, as restride/distributed.hpp writes them:
                        'f32 (8192,512) as (block[0],*) over (4) -> (8192,512) as (*,block[0]) over (4)'
                        with --rank also whom that rank sends to and gets from

A layout is a dtype, extents and strides in elements, outermost first: f32 (8,64):(64,1).
Without strides it is contiguous; `b` behind them makes them bytes.

With --device cuda on a machine without a GPU, a model of an H200 stands in for it. --model names a processor that was
measured, by whose numbers and vectors the copy is planned and drawn: xeon, zen5, zen4, zen3, or h200.

Examples:
  restride explain 'f32 (64,512,512,3) -> (0,3,1,2)'
  restride explain 'f32 (4096,4096) -> (1,0)' --model h200
  restride explain 'u8 (1080,1920,3):(6144,3,1) -> (2,0,1)' --threads 1
  restride explain images.npy --rearrange 'b h w c -> b c h w' --dtype f16 --json
  restride explain 'f32 (60,70) as (cyclic:8[0],*) over (4) -> f16 (60,70) as (*,block[0]) over (2)@2' --rank 0)";

struct ExplainArguments {
  std::string what;
  bool json = false;
  int rank = -1;
  distributed::LinkCosts link;
  std::string svg, html, model;
  std::int64_t piece = 0;
  bool run_it = false;
  ViewOptions view;
  InputOptions input;
  RunOptions run;
};

struct Sides {
  Layout dst, src;
  std::vector<ViewStep> views;  // of options only: behind an arrow everything is said
  bool reshape = false;         // elements pair in C order
};

// A layout says itself what the elements are and how they lie.
void refuse_input_options(const ExplainArguments& a) {
  if (any(a.input))
    throw UsageError("--in-layout and --in-dtype say what a file holds; '" + a.what + "' is no file but a layout");
}

/// True with --reshape alone, which of two layouts says that elements pair in C order. Errors: ShapeError, UsageError
/// where its extents are not those of the right side.
bool asks_reshape(const ViewOptions& view, const Layout& src, const Layout& dst) {
  if (view.views.empty()) return false;
  const Layout asked = reshape(contiguous(dst.element, {src.elements()}), view.views[0].numbers);
  if (layout::equal_shapes(asked, dst)) return true;
  throw UsageError(fmt::format("--reshape '{}' is not the shape of the right side, {}", view.views[0].text,
                               layout::join_extents(dst.modes)));
}

Sides sides_of_arrow(const ExplainArguments& a) {
  ViewOptions others = a.view;
  const auto reshapes = [](const View& v) { return v.kind == ViewKind::kReshape; };
  std::erase_if(others.views, reshapes);
  if (any(others)) throw UsageError("with '->' the right side says it all; leave out --axes, --slice, --dtype ...");
  refuse_input_options(a);
  const LayoutArrow arrow = parse_arrow("explain", a.what);
  if (arrow.dst) return {*arrow.dst, arrow.src, {}, asks_reshape(a.view, arrow.src, *arrow.dst)};
  if (any(a.view))
    throw UsageError("--reshape goes with a layout on both sides of '->'; behind it stands '" + arrow.right + "'");
  ViewOptions view;
  if (arrow.dtype) view.dtype = to_string(*arrow.dtype);
  if (arrow.axes && !arrow.axes->empty()) view.views.push_back({ViewKind::kAxes, arrow.right, *arrow.axes});
  const CopyRequest r = apply(view, arrow.src);
  return {r.dst, r.src, {}, false};
}

// Of a word that is no file's name. It begins with an element, or has parentheses; what has a dot may be a file's name
// that is written wrong.
bool looks_like_layout(std::string_view what) {
  const std::string_view text = io::trimmed(what);
  if (parse_element(text.substr(0, text.find_first_of(" \t([{:")))) return true;
  return text.find('(') != std::string_view::npos && text.find('.') == std::string_view::npos;
}

Layout layout_alone(const ExplainArguments& a) {
  refuse_input_options(a);
  if (a.what.find('>') != std::string::npos || a.what.find("\u2192") != std::string::npos)
    throw UsageError(
        fmt::format("explain '{}': write '->' between the two sides, as in 'f32 (64,512) -> (1,0)'", a.what));
  return layout_named(a.what);
}

io::ArrayEntry entry_of(const Layout& layout) {
  io::ArrayEntry entry;
  entry.layout = layout;
  return entry;
}

Sides sides_of(const ExplainArguments& a) {
  std::error_code unknown;  // whatever it is, it is no file
  const bool exists = std::filesystem::exists(a.what, unknown);
  if (!exists && has_arrow(a.what)) return sides_of_arrow(a);
  const bool is_layout = !exists && looks_like_layout(a.what);
  const io::ArrayEntry entry =
      is_layout ? entry_of(layout_alone(a)) : io::open_array(a.what, to_open_options(a.input)).entry;
  note_typed_order(a.view);
  const CopyRequest r = request_for(a.view, entry);
  return {r.dst, r.src, r.views, r.reshape};
}

/// `reason`: why it was chosen, lost, or does not apply; may be empty.
nlohmann::ordered_json candidate_json(const plan::Candidate& k, const std::string& reason) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  out["kernel"] = k.kernel.text;
  out["applies"] = k.applies;
  if (!reason.empty()) out["reason"] = reason;
  if (!k.applies) return out;
  nlohmann::ordered_json params = nlohmann::ordered_json::object();
  for (const plan::Param& p : k.params) params[std::string(plan::name(p.id))] = p.value;
  out["params"] = params;
  out["predicted_ns"] = k.predicted.time_ns;
  out["read_bytes"] = k.predicted.read_bytes;
  out["written_bytes"] = k.predicted.written_bytes;
  out["read_sectors"] = k.predicted.read_sectors;
  out["written_sectors"] = k.predicted.written_sectors;
  out["sectors_ns"] = k.predicted.sectors_ns;
  out["starts_ns"] = k.predicted.starts_ns;
  if (k.measured_ns > 0) out["measured_ns"] = k.measured_ns;
  return out;
}

nlohmann::ordered_json explained_json(const draw::Explained& e, const std::vector<ViewStep>& views) {
  const Plan& plan = e.plan;
  const plan::Decision& decision = plan.impl().decision;
  nlohmann::ordered_json out;
  out["views"] = views_json(views);
  out["src"] = to_string(plan.src());
  out["dst"] = to_string(plan.dst());
  out["device"] = name(plan.device());
  if (plan.device() == DeviceKind::kCuda)
    out["model"] = plan.cuda_device() == kModelDevice;
  else
    out["threads"] = plan.threads();
  out["canonical"] = layout::to_string(plan.impl().canonical);
  out["steps"] = draw::steps_json(plan);
  out["chosen"] = candidate_json(decision.chosen, std::string(decision.chosen.reason));
  out["others"] = nlohmann::ordered_json::array();
  for (const plan::Candidate& k : decision.others)
    out["others"].push_back(candidate_json(k, k.applies ? api::why_lost(decision, k) : std::string(k.reason)));
  out["piece"] = draw::piece_json(e);
  if (e.measured && e.measured->error.empty())
    out["run"] = {{"median_ns", e.measured->median_ns},       {"noise", e.measured->noise},
                  {"plain_copy_ns", e.measured->plain_ns},    {"plain_copy", e.measured->plain_by},
                  {"checked", e.measured->checked},           {"others_ns", e.measured->others},
                  {"others_errors", e.measured->other_errors}};
  else if (e.measured)
    out["run"] = {{"error", e.measured->error}};
  out["plan"] = io::parse_report(plan.serialize());
  return out;
}

/// The copy timed beside plain copies of the same bytes, as `bench` does it, and where `others` the other kernels that
/// apply, by fewer repetitions.
draw::Measured measured(const Sides& sides, const Options& options, const plan::Decision& decision, bool others) {
  const auto side = [](Layout l) {
    const auto [first, last] = byte_range(l);
    l.offset_bytes -= first / 4096 * 4096 - (first < 0 ? 4096 : 0);  // its place inside a page is its own
    return bench::Side{l, byte_range(l).second, last - first};
  };
  bench::Case c;
  c.spec.name = "explained";
  c.reshape = sides.reshape;
  c.src = side(sides.src);
  c.dst = side(sides.dst);
  const std::unique_ptr<bench::Device> device =
      options.device == DeviceKind::kCuda
          ? bench::make_cuda_device()
          : bench::make_cpu_device(options.threads > 0 ? options.threads : cpu::cores_granted());
  bench::RunSettings settings;
  settings.less_memory = "time a smaller layout";
  settings.family = decision.chosen.kernel.text;  // also where measurements, not predictions, chose it
  const bench::CaseResult r = bench::run_case(c, *device, settings);
  draw::Measured m{r.time.median_ns, r.time.noise, r.ceiling.median_ns, r.ceiling_by, r.checked, r.error};
  settings.reps = 3;
  for (const plan::Candidate& k : decision.others) {
    if (!others || !k.applies || !m.error.empty()) continue;
    settings.family = k.kernel.text;
    const bench::CaseResult other = bench::run_case(c, *device, settings);
    if (other.error.empty())
      m.others[settings.family] = other.time.median_ns;
    else
      m.other_errors[settings.family] = other.error;
  }
  return m;
}

constexpr std::string_view kGpuModel = "h200";

std::vector<std::string> model_names() {
  std::vector<std::string> out;
  for (const cpu::CpuModel& model : cpu::cpu_models()) out.emplace_back(model.word);
  out.emplace_back(kGpuModel);
  return out;
}

/// The processor that --model names; null where it names none, or a GPU, which `o` has then.
const cpu::CpuModel* model_named(const ExplainArguments& a, Options& o) {
  if (a.model.empty()) return nullptr;
  const DeviceKind kind = a.model == kGpuModel ? DeviceKind::kCuda : DeviceKind::kCpu;
  if (o.device != DeviceKind::kAuto && o.device != kind)
    throw UsageError(fmt::format("--model {} is no {}; leave out --device", a.model, a.run.device));
  o.device = kind;
  if (kind == DeviceKind::kCuda) o.cuda_device = kModelDevice;
  for (const cpu::CpuModel& model : cpu::cpu_models())
    if (model.word == a.model) return &model;
  return nullptr;
}

/// The line of --run in text.
std::string in_words(const draw::Measured& m) {
  if (!m.error.empty()) return fmt::format("run        not timed: {}\n", m.error);
  return fmt::format("run        {}; a plain copy of the same bytes takes {} ({}): ratio {:.2f}, noise {:.0f} %\n",
                     api::in_time_units(m.median_ns), api::in_time_units(m.plain_ns), m.plain_by,
                     m.plain_ns / m.median_ns, 100 * m.noise);
}

constexpr int kColumns = 100;  // of what is printed

void run_explain(ExplainArguments& a) {
  if (names_exchange(a.what)) {
    const bool of_a_copy = a.run.threads != 0 || a.run.device != "auto" || !a.run.family.empty() || a.run.measure ||
                           !a.run.measurements.empty() || !a.model.empty();
    const bool draws = !a.svg.empty() || !a.html.empty() || a.piece != 0 || a.run_it;
    if (any(a.view) || any(a.input) || of_a_copy || draws)
      throw UsageError(
          "two distributions say it all; of the options only --rank and --json, --link-gbps and --message-us go with "
          "them");
    return explain_exchange(a.what, a.rank, a.json, a.link);
  }
  if (a.rank >= 0)
    throw UsageError("--rank goes with two distributions, as in 'f32 (8) as (block[0]) over (2) -> ...'");
  if (a.link.link_gbps != distributed::LinkCosts{}.link_gbps ||
      a.link.message_us != distributed::LinkCosts{}.message_us)
    throw UsageError("--link-gbps and --message-us go with two distributions");
  if (!a.model.empty() && (a.run_it || a.run.measure || !a.run.measurements.empty()))
    throw UsageError("--model has no clock; leave out --run, --measure and --measurements");
  if (!a.svg.empty()) io::require_drawing(a.svg, "<svg");
  if (!a.html.empty()) io::require_drawing(a.html, "<!doctype html>");
  const Sides sides = sides_of(a);
  // Memory of one's own is aligned to a cache line at least, as every allocator of large blocks does.
  constexpr std::int64_t kAlign = 64;
  Options options = to_options(a.run);
  options.reshape = sides.reshape;
  const cpu::CpuModel* model = model_named(a, options);
  // Explaining needs no GPU: a model stands in for it, and the output says so.
  if (options.device == DeviceKind::kCuda && cuda_status().devices.empty()) options.cuda_device = kModelDevice;
  Plan plan(sides.dst, sides.src, options, kAlign, kAlign);
  if (model != nullptr) plan = draw::planned_for(*model, plan, options.family);
  save_measurements(a.run);
  draw::Explained e{plan, a.piece, a.what, sides.views.empty() ? "" : in_words(sides.views)};
  e.model = model;
  if (a.run_it && plan.device() == DeviceKind::kCuda && plan.cuda_device() == kModelDevice)
    e.measured.emplace().error = "there is no GPU here";
  else if (a.run_it)
    e.measured = measured(sides, options, plan.impl().decision, a.json || !a.html.empty());
  if (!a.svg.empty()) io::write_report(a.svg, draw::svg_file(draw::whole_drawing(e)));
  if (!a.html.empty()) io::write_report(a.html, draw::page(e, explained_json(e, sides.views)));
  if (a.json) {
    fmt::print("{}\n", io::json_text(explained_json(e, sides.views)));
    return;
  }
  if (!a.svg.empty() || !a.html.empty()) return;
  if (!sides.views.empty()) fmt::print("views      {}\n", in_words(sides.views));
  const bool coloured = ::isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  fmt::print("{}{}{}", plan.explain(), draw::bars(plan.impl().decision, kColumns, coloured),
             e.measured ? in_words(*e.measured) : "");
}

}  // namespace

void add_explain_command(CLI::App& app) {
  auto a = std::make_shared<ExplainArguments>();
  CLI::App* sub = app.add_subcommand("explain", "Show how a copy would be done, and why so");
  sub->footer(kExplainExamples);
  sub->add_option("WHAT", a->what, "'LAYOUT -> ...', a layout or a file")->required()->type_name("");
  add_view_options(*sub, a->view);
  add_input_options(*sub, a->input);
  add_run_options(*sub, a->run);
  sub->add_option("--rank", a->rank, "With two distributions: list this rank's messages")
      ->type_name("N")
      ->check(CLI::Range(0, distributed::kMaxRanks - 1));
  sub->add_option("--link-gbps", a->link.link_gbps, "With two distributions: what a rank sends in 10^9 bytes a second")
      ->type_name("G");
  sub->add_option("--message-us", a->link.message_us, "With two distributions: what a message costs in microseconds")
      ->type_name("US");
  sub->add_flag("--json", a->json, "As JSON, with the plan that Plan::deserialize replays");
  sub->add_option("--svg", a->svg, "Write a drawing: both layouts, a tile's way, the order of tiles")
      ->check(result_file())
      ->type_name("OUT");
  sub->add_option("--html", a->html, "Write a page: the drawing, the steps to it, what was bid and what is predicted")
      ->check(result_file())
      ->type_name("OUT");
  sub->add_option("--model", a->model, "Plan and draw for a processor that was measured, not for this one")
      ->check(CLI::IsMember(model_names()))
      ->type_name("NAME");
  sub->add_option("--piece", a->piece, "The tile, block or task that is drawn, at most the last; the first unless told")
      ->check(whole_number(0, INT64_MAX).description(""))
      ->type_name("N");
  sub->add_flag("--run", a->run_it,
                "Time the copy beside a plain one, as bench does; for a page also the other kernels");
  sub->callback([a] { run_explain(*a); });
}

}  // namespace restride::tools
