#include "tools/draw/explain.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "src/api/plan_impl.h"
#include "src/cpu/planner.h"
#include "src/cpu/trace.h"
#include "src/cuda/trace.h"
#include "src/layout/canonical.h"
#include "src/layout/describe.h"
#include "tools/draw/page.h"
#include "tools/draw/panels.h"
#include "tools/draw/steps_panel.h"
#include "tools/draw/style.h"
#include "tools/io/json_text.h"

namespace restride::draw {
namespace {

using api::in_time_units;

std::vector<layout::CanonicalStep> steps_of(const Plan::Impl& p) {
  const bool cpu = p.decision.device == DeviceKind::kCpu;
  return layout::canonical_steps(p.dst, p.src, p.dst_align, p.src_align,
                                 cpu ? layout::UnitRule::kAnywhere : layout::UnitRule::kAligned);
}

const char* sector_of(const Plan::Impl& p) { return p.decision.device == DeviceKind::kCpu ? "line" : "sector"; }

std::string device_words(const Explained& e) {
  const Plan::Impl& p = e.plan.impl();
  if (e.model != nullptr) return fmt::format("a model of {}", e.model->machine.name);
  return p.decision.device == DeviceKind::kCpu ? "this CPU"
         : p.cuda_device == kModelDevice       ? "a model of an H200"
                                               : "this GPU";
}

/// The copy in a few sentences.
void words(Markup& m, const Explained& e) {
  const Plan::Impl& p = e.plan.impl();
  const std::int64_t elements = p.dst.elements();
  m.open("p");
  if (elements == 0) {
    m.text("There are no elements, so nothing is copied.").close();
    return;
  }
  const bool cast = !(p.dst.element == p.src.element);
  m.text(fmt::format("{} of {} {} {}", layout::counted(static_cast<std::size_t>(elements), "element"),
                     to_string(p.src.element), elements == 1 ? "moves" : "move",
                     cast ? fmt::format("and become {}", to_string(p.dst.element)) : "as they are"));
  const auto fastest = [](const Layout& l) {
    int best = -1;
    for (int i = 0; i < l.rank(); ++i) {
      const Mode& mode = l.modes[static_cast<std::size_t>(i)];
      if (mode.extent > 1 &&
          (best < 0 || std::abs(mode.stride_bytes) < std::abs(l.modes[static_cast<std::size_t>(best)].stride_bytes)))
        best = i;
    }
    return best;
  };
  const int in_dst = fastest(p.dst), in_src = fastest(p.src);
  if (in_dst >= 0 && in_src >= 0 && p.dst.rank() == p.src.rank()) {
    if (in_dst == in_src)
      m.text(
          fmt::format(". Axis {} is the one with the shortest step on both sides, so rows are moved as rows.", in_dst));
    else
      m.text(
          fmt::format(". In src axis {} has the shortest step, in dst axis {}: what lies side by side on one side is "
                      "spread on the other.",
                      in_src, in_dst));
  } else {
    m.text(".");
  }
  m.text(fmt::format(" On {} the kernel ", device_words(e)));
  m.leaf("code", {{"data-figure", "kernel"}}, p.decision.chosen.kernel.text);
  const plan::Candidate* faster = nullptr;
  for (const plan::Candidate& k : p.decision.others)
    if (k.applies && k.predicted.time_ns < p.decision.chosen.predicted.time_ns &&
        (faster == nullptr || k.predicted.time_ns < faster->predicted.time_ns))
      faster = &k;
  if (faster == nullptr)
    m.text(" is predicted to be the fastest that applies.").close();
  else if (p.decision.chosen.measured_ns > 0)
    m.text(" was measured to be the fastest that applies.").close();
  else
    m.text(" moves it because it was asked for; ")
        .leaf("code", {}, faster->kernel.text)
        .text(" is predicted to be faster.")
        .close();
}

void fact(Markup& m, const char* name, const char* figure, const std::string& value) {
  m.open("div").leaf("dt", {}, name).leaf("dd", {{"data-figure", figure}}, value).close();
}

void facts(Markup& m, const Explained& e) {
  const Plan::Impl& p = e.plan.impl();
  const plan::Prediction& t = p.decision.chosen.predicted;
  m.open("dl", {{"class", "facts"}});
  fact(m, "predicted time", "predicted_time", in_time_units(t.time_ns));
  fact(m, "bytes read", "read_bytes", std::to_string(t.read_bytes));
  fact(m, fmt::format("{}s read", sector_of(p)).c_str(), "read_sectors", std::to_string(t.read_sectors));
  fact(m, "bytes written", "written_bytes", std::to_string(t.written_bytes));
  fact(m, fmt::format("{}s written", sector_of(p)).c_str(), "written_sectors", std::to_string(t.written_sectors));
  if (e.measured && e.measured->error.empty()) {
    fact(m, "measured time", "measured_time", in_time_units(e.measured->median_ns));
    fact(m, "best plain copy of the same bytes", "plain_time", in_time_units(e.measured->plain_ns));
    fact(m, "plain copy / ours", "ratio", fmt::format("{:.2f}", e.measured->plain_ns / e.measured->median_ns));
  }
  m.close();
  if (e.measured && !e.measured->error.empty())
    m.leaf("p", {{"class", "bad"}}, "Not measured: " + e.measured->error);
  else if (e.measured)
    m.leaf("p", {{"class", "soft"}},
           fmt::format("Measured with cold caches, the output {}; noise {:.1f} %. The plain copy is {}.",
                       e.measured->checked ? "compared with a naive loop" : "not checked", 100 * e.measured->noise,
                       e.measured->plain_by));
}

void figure(Markup& m, const Drawing& d, const std::string& caption) {
  m.open("figure", {{"tabindex", "0"}, {"role", "group"}, {"aria-label", d.title}});
  m.raw(inline_svg(d));
  if (!caption.empty()) m.leaf("figcaption", {}, caption);
  m.close();
}

void canonical(Markup& m, const Plan::Impl& p) {
  m.leaf("h2", {{"id", "canonical"}}, "The canonical form, step by step");
  m.leaf(
      "p", {},
      "Every kernel sees one form of a copy: modes that both sides walk together, in dst's order. Boxes are modes with "
      "their extents, innermost to the right; below them the bytes of a step on each side. Tinted boxes are new.");
  m.open("div", {{"class", "steps"}});
  const std::vector<layout::CanonicalStep> steps = steps_of(p);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const layout::CanonicalStep* before = i == 0 ? nullptr : &steps[i - 1];
    const bool same = before != nullptr && before->modes == steps[i].modes && before->src_modes == steps[i].src_modes;
    m.open("figure", {{"tabindex", "0"},
                      {"role", "group"},
                      {"aria-label", "step " + std::string(steps[i].name)},
                      {"data-step", steps[i].name}});
    m.leaf("figcaption", {},
           fmt::format("{}. {}: {}{}", i + 1, steps[i].name, step_words(steps[i]), same ? " Nothing to do here." : ""));
    m.raw(inline_svg(step_drawing(steps[i], before))).close();
  }
  m.close();
  m.open("p").text("The result: ").leaf("code", {{"data-figure", "canonical"}}, layout::to_string(p.canonical)).close();
}

std::string counted(std::int64_t n, const char* what) { return layout::counted(static_cast<std::size_t>(n), what); }

/// How the kernel works, in words that follow from the piece.
std::string way_words(const plan::Candidate& k, const plan::Trace& t, const Figures& f, const Grain& grain) {
  std::string out;
  const auto part = [](std::int64_t used, std::int64_t all) {
    return 100.0 * static_cast<double>(used) / static_cast<double>(std::max<std::int64_t>(all, 1));
  };
  out = fmt::format("This copy is cut into {} {}. Number {} is drawn; it has {}. ", t.pieces,
                    pieces(t.piece_is, t.pieces != 1), t.piece,
                    layout::counted(static_cast<std::size_t>(t.units_of_piece), "unit"));
  if (grain.gpu) {
    out += fmt::format("{} threads move it. ", t.threads);
    if (f.first_load.warp >= 0)
      out += fmt::format("The first load of a warp asks for {} bytes, which lie in {} of {}. ", f.first_load_is.bytes,
                         counted(f.first_load_is.sectors, "sector"), counted(f.first_load_is.lines, "line"));
    else
      out += "The copy engine brings it in, box by box, without the threads. ";
    out += t.load_is;
    out += fmt::format("The first store writes {} bytes in {}. ", f.first_store_is.bytes,
                       counted(f.first_store_is.sectors, "sector"));
    if (f.stage_bytes == 0) out += "Nothing is staged: a thread stores what it loaded. ";
  } else {
    out += f.stage_bytes > 0
               ? fmt::format("It is put together by way of {} bytes that stay in the caches. ", f.stage_bytes)
               : "Nothing is staged. ";
    if (k.get(plan::ParamId::kStream) == 1)
      out += "Whole lines of dst go past the caches (stream=1), so that memory need not read them before. ";
    if (t.vector_bytes > 0)
      out += fmt::format("Dst is stored by vectors of {} bytes, those of the processor's instruction set. ",
                         t.vector_bytes);
    if (!t.ahead_is.empty())
      out += fmt::format("Prefetched meanwhile: {}. ", t.ahead_is);
    else if (k.get(plan::ParamId::kNear) == 1)
      out += "What comes next of src is prefetched into the first cache, a few KiB ahead (near=1). ";
  }
  out += fmt::format("Of the {}s that the piece touches it uses {:.0f} % of the bytes in src and {:.0f} % in dst.",
                     grain.gpu ? "sector" : "line", part(f.src.used, f.src.sectors * grain.sector_bytes),
                     part(f.dst.used, f.dst.sectors * grain.sector_bytes));
  return out;
}

/// Whether lanes wait for each other in shared memory, and why; empty where a kernel has none.
std::string bank_words(const plan::Trace& t, const Figures& f) {
  if (f.taken.least == 0) return "";
  const auto waits = [](const char* what, const BankFigures& b) {
    return fmt::format("{} of shared memory take {:.2f} times the cycles that they would take without bank conflicts. ",
                       what, static_cast<double>(b.cycles) / static_cast<double>(b.least));
  };
  const bool put_waits = f.put.cycles > f.put.least, taken_waits = f.taken.cycles > f.taken.least;
  std::string out;
  if (!put_waits && !taken_waits && f.put.least > 0)
    out =
        "Lanes that write or read shared memory together want different banks or the same word, so neither a write nor "
        "a read waits. ";
  else if (put_waits)
    out = waits("Writes", f.put);
  else if (f.put.least > 0)
    out = "Lanes that write shared memory together want different banks, so no write waits. ";
  if (taken_waits)
    out += waits("Reads", f.taken);
  else if (put_waits || f.put.least == 0)
    out += "Lanes that read shared memory together want different banks or the same word, so no read waits. ";
  out += t.stage_is;
  if (f.plain.cycles > f.taken.cycles)
    out += fmt::format("If nothing kept lanes apart, the reads of this {} would take {} cycles instead of {}.",
                       t.piece_is, f.plain.cycles, f.taken.cycles);
  else if (f.plain.least > 0 && f.plain.cycles < f.taken.cycles)
    out += fmt::format("Over this whole {} that gains nothing: otherwise its reads would take {} cycles instead of {}.",
                       t.piece_is, f.plain.cycles, f.taken.cycles);
  return out;
}

/// Nanoseconds that a kernel took: in --run, else in --measure; 0: it was not timed.
double measured_ns(const Explained& e, const plan::Candidate& k) {
  if (!e.measured || !e.measured->error.empty()) return k.measured_ns;
  if (&k == &e.plan.impl().decision.chosen) return e.measured->median_ns;
  const auto at = e.measured->others.find(k.kernel.text);
  return at == e.measured->others.end() ? 0 : at->second;
}

/// Why --run has no time of a kernel that it was to time; may be empty.
std::string not_timed(const Explained& e, const plan::Candidate& k) {
  if (!e.measured) return "";
  const auto at = e.measured->other_errors.find(k.kernel.text);
  return at == e.measured->other_errors.end() ? "" : "; not timed: " + at->second;
}

void bids(Markup& m, const Explained& e) {
  const plan::Decision& d = e.plan.impl().decision;
  const char* sector = sector_of(e.plan.impl());
  m.leaf("h2", {{"id", "bids"}}, "What the kernels bid");
  m.open("p").text("Each kernel that applies says how long it would take, and what the time goes into: ");
  m.close();
  m.open("p", {{"class", "key"}});
  m.leaf("span", {{"class", "b1"}}, "").text(fmt::format("\u00a0{}s that come and go\u2003", sector));
  m.leaf("span", {{"class", "b2"}}, "").text("\u00a0beginnings and ends of rows and tiles\u2003");
  m.leaf("span", {{"class", "b3"}}, "").text("\u00a0moving the units").close();
  double most = d.chosen.predicted.time_ns;
  std::vector<const plan::Candidate*> order{&d.chosen};
  for (const plan::Candidate& k : d.others)
    if (k.applies) order.push_back(&k);
  for (const plan::Candidate* k : order) most = std::max(most, k->predicted.time_ns);
  m.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "group"}, {"aria-label", "bids"}});
  m.open("table", {{"class", "stack"}})
      .open("thead")
      .open("tr")
      .leaf("th", {{"scope", "col"}}, "kernel")
      .leaf("th", {{"scope", "col"}, {"class", "n"}}, "predicted");
  const bool measured =
      std::any_of(order.begin(), order.end(), [&](const plan::Candidate* k) { return measured_ns(e, *k) > 0; });
  if (measured) m.leaf("th", {{"scope", "col"}, {"class", "n"}}, "measured");
  m.leaf("th", {{"scope", "col"}}, "goes into").leaf("th", {{"scope", "col"}}, "why").close().close();
  m.open("tbody");
  for (const plan::Candidate* k : order) {
    const plan::Prediction& t = k->predicted;
    m.open("tr", {{"data-bid", k->kernel.text}, {"data-ns", t.time_ns}});
    m.open("th", {{"scope", "row"}}).leaf("code", {}, k->kernel.text).close();
    m.leaf("td", {{"class", "n"}, {"data-label", "predicted"}}, in_time_units(t.time_ns));
    if (const double ns = measured_ns(e, *k); measured)
      m.leaf("td", {{"class", "n"}, {"data-label", "measured"}, {"data-measured-ns", ns}},
             ns > 0 ? in_time_units(ns) : "-");
    const double sectors = std::max(t.sectors_ns, 0.0), starts = std::max(t.starts_ns, 0.0);
    const double units = std::max(t.time_ns - sectors - starts, 0.0), scale = most > 0 ? 100 / most : 0;
    m.open("td").open("div", {{"class", "bar"},
                              {"role", "img"},
                              {"aria-label", fmt::format("{} {}, {} starts, {} units", in_time_units(t.sectors_ns),
                                                         fmt::format("{}s", sector), in_time_units(t.starts_ns),
                                                         in_time_units(t.time_ns - t.sectors_ns - t.starts_ns))}});
    for (const auto& [name, ns] : {std::pair{"b1", sectors}, {"b2", starts}, {"b3", units}})
      if (ns > 0) m.leaf("span", {{"class", name}, {"style", fmt::format("width:{}%", number(ns * scale))}}, "");
    m.close().close();
    m.leaf("td", {{"class", "w"}},
           k == &d.chosen ? (d.chosen.reason.empty() ? "chosen" : "chosen: " + std::string(d.chosen.reason))
                          : api::why_lost(d, *k) + not_timed(e, *k));
    m.close();
  }
  m.close().close().close();
  std::vector<const plan::Candidate*> unfit;
  for (const plan::Candidate& k : d.others)
    if (!k.applies) unfit.push_back(&k);
  if (!unfit.empty()) {
    m.open("details")
        .leaf("summary", {}, fmt::format("{} that do not apply", layout::counted(unfit.size(), "kernel")))
        .open("ul");
    for (const plan::Candidate* k : unfit)
      m.open("li").leaf("code", {}, k->kernel.text).text(": " + std::string(k->reason)).close();
    m.close().close();
  }
  m.leaf("h3", {}, "What was decided");
  m.open("p").text(d.chosen.params.empty() ? "The kernel has no parameters." : "");
  bool first = true;
  for (const plan::Param& param : d.chosen.params) {
    m.text(first ? "" : ", ")
        .leaf("code", {{"data-param", plan::name(param.id)}}, fmt::format("{}={}", plan::name(param.id), param.value));
    first = false;
  }
  m.close();
}

}  // namespace

Plan planned_for(const cpu::CpuModel& model, const Plan& here, std::string_view family) {
  const Plan::Impl& p = here.impl();
  return Plan(api::with_decision(p, cpu::plan_cpu(p.canonical, model.machine, family, p.threads)));
}

plan::Trace trace_of(const Explained& e, std::int64_t n) {
  const Plan::Impl& p = e.plan.impl();
  if (p.decision.device == DeviceKind::kCuda) return cuda::trace(p.cuda, n);
  plan::Trace t = cpu::trace(p.cpu, p.canonical, n);
  if (e.model != nullptr && t.vector_bytes > 0) t.vector_bytes = e.model->vector_bytes;
  return t;
}

Grain grain_of(const Plan& plan) { return plan.impl().decision.device == DeviceKind::kCpu ? kCpuGrain : kGpuGrain; }

std::vector<Drawing> drawings(const Explained& e, std::size_t most_rows) {
  const Plan::Impl& p = e.plan.impl();
  std::vector<Drawing> out{layouts_drawing(p.dst, p.src)};
  const plan::Trace t = trace_of(e, e.piece);
  if (t.pieces == 0) return out;
  const Grain grain = grain_of(e.plan);
  const Figures f = figures_of(t, grain);
  out.push_back(memory_drawing(t, f, grain, plan::Space::kSrc, most_rows));
  for (Drawing& d : stage_drawings(t, f, grain, most_rows)) out.push_back(std::move(d));
  out.push_back(memory_drawing(t, f, grain, plan::Space::kDst, most_rows));
  for (Drawing& d : ahead_drawings(t, most_rows)) out.push_back(std::move(d));
  out.push_back(order_drawing(p.canonical, t.piece, [&](std::int64_t n) { return trace_of(e, n); }));
  return out;
}

Drawing whole_drawing(const Explained& e) {
  const Plan::Impl& p = e.plan.impl();
  Drawing title{"copy", "", 0, 40, {}};
  const plan::Trace t = trace_of(e, e.piece);
  std::string head =
      fmt::format("{}, {} {} of {}", p.decision.chosen.kernel.text, pieces(t.piece_is, false), t.piece, t.pieces);
  if (e.model != nullptr) head += fmt::format(", as {} does it", e.model->machine.name);
  if (p.cuda_device == kModelDevice) head += ", as an H200 does it";
  Markup m;
  m.leaf("text", {{"class", "head"}, {"x", 0}, {"y", 14}}, head);
  m.leaf("text", {{"class", "note code"}, {"x", 0}, {"y", 32}}, to_string(p.src) + " -> " + to_string(p.dst));
  title.markup = m.str();
  title.width = 7.2 * static_cast<double>(to_string(p.src).size() + to_string(p.dst).size() + 4);
  std::vector<Drawing> parts = drawings(e, 8);  // for papers and slides
  parts.insert(parts.begin(), std::move(title));
  return stacked("restride",
                 fmt::format("{} to {} by {}", to_string(p.src), to_string(p.dst), p.decision.chosen.kernel.text),
                 parts);
}

std::string page(const Explained& e, const nlohmann::ordered_json& json) {
  const Plan::Impl& p = e.plan.impl();
  Markup m;
  words(m, e);
  if (!e.views.empty()) m.leaf("p", {}, "On the way: " + e.views + ".");
  facts(m, e);
  m.leaf("h2", {{"id", "layouts-of-both"}}, "The two layouts");
  const std::vector<Drawing> all = drawings(e);
  figure(m, all.front(),
         "Both tensors under the same indices: a row of cells that counts up by one is a run of memory.");
  canonical(m, p);
  const plan::Trace t = trace_of(e, e.piece);
  if (t.pieces > 0) {
    const Grain grain = grain_of(e.plan);
    const Figures f = figures_of(t, grain);
    m.leaf("h2", {{"id", "way"}}, fmt::format("How {} moves it", p.decision.chosen.kernel.text));
    m.leaf("p", {{"id", "way-words"}}, way_words(p.decision.chosen, t, f, grain));
    if (const std::string banks = bank_words(t, f); grain.gpu && !banks.empty())
      m.leaf("p", {{"id", "bank-words"}}, banks);
    std::string boxes =
        "The boxes are drawn by the functions from which the kernel takes its addresses, for data pointers that lie on "
        "whole lines. A row begins at the byte beside it, counted from the data pointer or in the stage. A stroke "
        "across a box marks bytes that are touched and not used.";
    if (grain.gpu && f.put.least + f.taken.least > 0)
      boxes +=
          " Shared memory has 32 banks of 4 bytes and serves each once a cycle: 32 lanes of 4 bytes together, lanes of "
          "16 bytes 8 at a time. Lanes that want different words of one bank wait for each other.";
    m.leaf("p", {{"class", "soft"}}, boxes);
    for (std::size_t i = 1; i < all.size(); ++i) figure(m, all[i], "");
  }
  bids(m, e);
  m.leaf("h2", {{"id", "again"}}, "Again, and elsewhere");
  const std::string data = io::json_text(json);
  m.open("p").text("The decision and all numbers of this page as JSON: ");
  m.leaf("a", {{"download", "plan.json"}, {"href", data_uri("application/json", data)}}, "save plan.json")
      .text(".")
      .close();
  m.open("details")
      .leaf("summary", {}, "Show the JSON")
      .open("pre", {{"tabindex", "0"}})
      .leaf("code", {{"id", "json"}}, data)
      .close()
      .close();
  return html_page(fmt::format("{}: {}", p.decision.chosen.kernel.text, e.what), fmt::format("{}", e.what), m.str());
}

nlohmann::ordered_json steps_json(const Plan& plan) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const layout::CanonicalStep& step : steps_of(plan.impl())) {
    nlohmann::ordered_json one{{"step", step.name}};
    const auto list = [](const layout::CopyModes& modes, bool dst, bool src) {
      nlohmann::ordered_json all = nlohmann::ordered_json::array();
      for (const layout::CopyMode& m : modes) {
        nlohmann::ordered_json mode{{"extent", m.extent}};
        if (dst) mode["dst_stride_bytes"] = m.dst_stride;
        if (src) mode["src_stride_bytes"] = m.src_stride;
        all.push_back(std::move(mode));
      }
      return all;
    };
    if (step.two_sided) {
      one["dst_modes"] = list(step.modes, true, false);
      one["src_modes"] = list(step.src_modes, false, true);
    } else {
      one["modes"] = list(step.modes, true, true);
    }
    out.push_back(std::move(one));
  }
  return out;
}

nlohmann::ordered_json piece_json(const Explained& e) {
  const plan::Trace t = trace_of(e, e.piece);
  return to_json(t, figures_of(t, grain_of(e.plan)));
}

}  // namespace restride::draw
