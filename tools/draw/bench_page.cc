#include "tools/draw/bench_page.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <restride/layout.hpp>

#include "src/api/plan_impl.h"
#include "tools/draw/json_fields.h"
#include "tools/draw/markup.h"
#include "tools/draw/page.h"
#include "tools/draw/panels.h"
#include "tools/io/json_text.h"

namespace restride::draw {
namespace {

constexpr std::size_t kMostEmbedded = 1 << 20;

/// A measured case, and where it ran.
struct Row {
  std::string name, case_class, src, dst, kernel, device, error;
  int threads = 1;
  bool skipped = false;
  double ratio = 0, gbps = 0, ceiling_gbps = 0, median_ns = 0, noise = 0;
  std::vector<std::pair<std::string, double>> peers;  ///< the fastest first

  std::tuple<std::string, int, std::string, std::string> key() const { return {device, threads, name, src}; }
  std::string where() const {
    return device == "cuda" ? device : fmt::format("{}, {} thread{}", device, threads, threads == 1 ? "" : "s");
  }
};

std::vector<Row> rows_of(const Json& file) {
  std::map<std::tuple<std::string, int, std::string, std::string>, Row>
      last;  // of a case that two runs hold the last counts
  for (const Json& run : part_of(file, "runs"))
    for (const Json& c : part_of(run, "cases")) {
      if (!c.is_object()) continue;
      Row r;
      r.name = text_in(c, "name");
      r.case_class = text_in(c, "class");
      r.src = text_in(c, "src");
      r.dst = text_in(c, "dst");
      r.kernel = text_in(c, "kernel");
      r.device = text_in(run, "device");
      r.error = text_in(c, "error");
      if (r.kernel.empty()) r.kernel = text_in(c, "family");
      r.threads = static_cast<int>(std::clamp(number_in(run, "threads"), 0.0, 1e6));
      r.skipped = c.contains("skipped");
      if (r.skipped && r.error.empty()) r.error = text_in(c, "skipped");
      r.ratio = number_in(c, "ratio");
      r.gbps = number_in(c, "gbps");
      r.ceiling_gbps = number_in(c, "ceiling_gbps");
      r.median_ns = number_in(c, "median_ns");
      r.noise = number_in(c, "noise");
      const Json& peers = part_of(c, "peers");
      for (const auto& [name, ratio] : peers.items())
        if (peers.is_object() && ratio.is_number()) r.peers.emplace_back(name, ratio.get<double>());
      std::stable_sort(r.peers.begin(), r.peers.end(), [](auto& a, auto& b) { return a.second > b.second; });
      last[r.key()] = std::move(r);
    }
  std::vector<Row> out;
  out.reserve(last.size());
  for (auto& [key, r] : last) out.push_back(std::move(r));
  return out;
}

struct Mean {
  double log_sum = 0, worst = 0;
  int cases = 0;
  std::string worst_case;
  void add(const Row& r) {
    if (cases == 0 || r.ratio < worst) worst = r.ratio, worst_case = r.name;
    log_sum += std::log(r.ratio);
    ++cases;
  }
  double geometric() const { return cases > 0 ? std::exp(log_sum / cases) : 0; }
};

bool is_measured(const Row& r) { return r.ratio > 0 && r.error.empty() && !r.skipped; }

/// A number under a title, which a narrow screen shows in front of it: page_style().
void numeric(Markup& m, const char* label, std::string_view text) {
  m.leaf("td", {{"class", "n"}, {"data-label", label}}, text);
}

/// A ratio as a bar that is full at 1.
void bar(Markup& m, double ratio) {
  m.open("div", {{"class", "bar"}, {"role", "img"}, {"aria-label", fmt::format("{:.2f} of a plain copy", ratio)}});
  m.leaf("span",
         {{"class", ratio < 0.5 ? "b3" : "b1"},
          {"style", fmt::format("width:{}%", number(100 * std::clamp(ratio, 0.0, 1.0)))}},
         "");
  m.close();
}

/// Where the elements of a case lie, shown while its row is pointed at: page_style().
void layouts_on_hover(Markup& m, const Row& r) {
  std::string grids;
  try {
    grids = layouts_text(parse_layout(r.dst), parse_layout(r.src));
  } catch (const std::exception&) {  // a file may hold anything
  }
  if (grids.empty()) return;
  m.open("div", {{"class", "hover"}, {"aria-hidden", "true"}});
  m.text(fmt::format("{}: the first cells along two axes; numbers say where an element lies, in elements\n", r.name))
      .text(grids)
      .close();
}

void open_table(Markup& m, const char* name, std::initializer_list<std::pair<const char*, bool>> columns) {
  m.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "group"}, {"aria-label", name}});
  m.open("table", {{"class", "stack"}}).open("thead").open("tr");
  for (const auto& [title, numeric] : columns) m.leaf("th", {{"scope", "col"}, {"class", numeric ? "n" : ""}}, title);
  m.close().close().open("tbody");
}
void close_table(Markup& m) { m.close().close().close(); }

void headlines(Markup& m, const std::vector<Row>& rows) {
  std::map<std::string, Mean> means;
  int failed = 0;
  for (const Row& r : rows) {
    if (is_measured(r)) means[r.where()].add(r);
    failed += !r.error.empty() && !r.skipped ? 1 : 0;
  }
  m.leaf("p", {},
         "Ratios are the time of the best plain copy of the same bytes, on the same device in the same run, over ours: "
         "at 1 "
         "a permutation costs what a copy does.");
  m.open("dl", {{"class", "facts"}});
  for (const auto& [where, mean] : means) {
    m.open("div", {{"data-where", where}});
    m.leaf("dt", {}, fmt::format("{}, geometric mean of {}", where, mean.cases));
    m.leaf("dd", {{"data-figure", "geometric_mean"}}, fmt::format("{:.2f}", mean.geometric()));
    m.close();
    m.open("div");
    m.leaf("dt", {}, fmt::format("{}, worst: {}", where, mean.worst_case));
    m.leaf("dd", {{"data-figure", "worst"}}, fmt::format("{:.2f}", mean.worst));
    m.close();
  }
  m.close();
  if (means.empty()) m.leaf("p", {{"class", "bad"}}, "No case was measured.");
  if (failed > 0)
    m.leaf(
        "p", {{"class", "bad"}},
        fmt::format("{} case{} failed; the errors stand in the table of all cases.", failed, failed == 1 ? "" : "s"));
}

void classes(Markup& m, const std::vector<Row>& rows) {
  std::map<std::pair<std::string, std::string>, Mean> means;
  for (const Row& r : rows)
    if (is_measured(r)) means[{r.where(), r.case_class.empty() ? "no class" : r.case_class}].add(r);
  m.leaf("h2", {{"id", "classes"}}, "By class");
  open_table(m, "by class",
             {{"class", false},
              {"on", false},
              {"cases", true},
              {"mean", true},
              {"of a plain copy", false},
              {"worst", true},
              {"its case", false}});
  for (const auto& [key, mean] : means) {
    m.open("tr").leaf("th", {{"scope", "row"}}, key.second).leaf("td", {}, key.first);
    numeric(m, "cases", std::to_string(mean.cases));
    numeric(m, "mean", fmt::format("{:.2f}", mean.geometric()));
    m.open("td");
    bar(m, mean.geometric());
    m.close();
    numeric(m, "worst", fmt::format("{:.2f}", mean.worst));
    m.leaf("td", {}, mean.worst_case).close();
  }
  close_table(m);
}

void peers(Markup& m, const std::vector<Row>& rows) {
  struct Tally {
    int met = 0, ahead = 0, behind = 0;
  };
  std::map<std::pair<std::string, std::string>, Tally> tallies;
  for (const Row& r : rows)
    for (const auto& [name, ratio] : r.peers) {
      Tally& t = tallies[{r.where(), name}];
      ++t.met;
      t.ahead += is_measured(r) && r.ratio >= ratio ? 1 : 0;
      t.behind += is_measured(r) && r.ratio < ratio ? 1 : 0;
    }
  if (tallies.empty()) return;
  m.leaf("h2", {{"id", "peers"}}, "Beside other libraries");
  open_table(m, "peers",
             {{"peer", false},
              {"on", false},
              {"cases", true},
              {"restride is as fast or faster", true},
              {"the peer is faster", true}});
  for (const auto& [key, t] : tallies) {
    m.open("tr").leaf("th", {{"scope", "row"}}, key.second).leaf("td", {}, key.first);
    numeric(m, "cases", std::to_string(t.met));
    numeric(m, "restride is as fast or faster", std::to_string(t.ahead));
    numeric(m, "the peer is faster", std::to_string(t.behind));
    m.close();
  }
  close_table(m);
}

void all_cases(Markup& m, std::vector<Row> rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.ratio < b.ratio; });
  m.leaf("h2", {{"id", "cases"}}, "Every case, the worst first");
  const bool any_peers = std::any_of(rows.begin(), rows.end(), [](const Row& r) { return !r.peers.empty(); });
  open_table(m, "every case",
             {{"case and layouts", false},
              {"on", false},
              {"ratio", true},
              {"of a plain copy", false},
              {"time", true},
              {"GB/s", true},
              {"copy's GB/s", true},
              {"noise", true},
              {"kernel", false},
              {any_peers ? "peers" : "notes", false}});
  for (const Row& r : rows) {
    m.open("tr", {{"data-case", r.name}});
    m.open("th", {{"scope", "row"}})
        .text(r.name)
        .open("div", {{"class", "code soft"}})
        .text(r.src + " → " + r.dst)
        .close();
    layouts_on_hover(m, r);
    m.close();
    m.leaf("td", {}, r.where());
    if (!is_measured(r)) {
      m.leaf("td", {{"class", "bad"}, {"colspan", "8"}}, (r.skipped ? "skipped: " : "failed: ") + r.error).close();
      continue;
    }
    m.leaf("td", {{"class", "n"}, {"data-label", "ratio"}, {"data-figure", "ratio"}}, fmt::format("{:.2f}", r.ratio))
        .open("td");
    bar(m, r.ratio);
    m.close();
    numeric(m, "time", api::in_time_units(r.median_ns));
    numeric(m, "GB/s", fmt::format("{:.1f}", r.gbps));
    numeric(m, "copy's GB/s", fmt::format("{:.1f}", r.ceiling_gbps));
    numeric(m, "noise", fmt::format("{:.1f} %", 100 * r.noise));
    m.open("td").leaf("code", {}, r.kernel).close().open("td", {{"class", "w"}});
    const char* separator = "";
    for (const auto& [name, ratio] : r.peers) {
      m.text(separator);
      const std::string text = fmt::format("{} {:.2f}", name, ratio);
      ratio > r.ratio ? m.leaf("b", {}, text + " (wins)") : m.text(text);
      separator = ", ";
    }
    m.close().close();
  }
  close_table(m);
}

/// Two files case by case: how much faster this one is.
void compared(Markup& m, const std::vector<Row>& now, const std::vector<Row>& before, const std::string& name) {
  struct Pair {
    const Row *now, *before;
    double faster() const { return before->median_ns / now->median_ns; }
    bool beyond_noise() const { return std::abs(faster() - 1) > std::max(now->noise + before->noise, 0.02); }
  };
  std::map<std::tuple<std::string, int, std::string, std::string>, const Row*> by;
  for (const Row& r : before)
    if (is_measured(r)) by[r.key()] = &r;
  std::vector<Pair> pairs;
  std::size_t only_here = 0;
  for (const Row& r : now) {
    if (!is_measured(r)) continue;
    const auto at = by.find(r.key());
    if (at == by.end() || at->second->dst != r.dst || r.median_ns <= 0 || at->second->median_ns <= 0) {
      ++only_here;
      continue;
    }
    pairs.push_back({&r, at->second});
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.faster() < b.faster(); });
  m.leaf("h2", {{"id", "against"}}, "Against " + name);
  if (pairs.empty()) {
    m.leaf("p", {}, "The two files have no measured case in common.");
    return;
  }
  double log_sum = 0;
  int slower = 0, faster = 0;
  for (const Pair& p : pairs) {
    log_sum += std::log(p.faster());
    slower += p.beyond_noise() && p.faster() < 1 ? 1 : 0;
    faster += p.beyond_noise() && p.faster() > 1 ? 1 : 0;
  }
  m.open("p").text(fmt::format("{} cases in common, geometric mean of old time / new time ", pairs.size()));
  m.leaf("b", {{"data-figure", "faster"}},
         fmt::format("{:.3f}", std::exp(log_sum / static_cast<double>(pairs.size()))));
  m.text(fmt::format("; beyond both files' noise (and 2 %) {} are faster and {} slower. {} are in this file only.",
                     faster, slower, only_here))
      .close();
  open_table(m, "compared",
             {{"case", false},
              {"old / new", true},
              {"", false},
              {"before", true},
              {"now", true},
              {"on", false},
              {"kernel before", false},
              {"kernel now", false}});
  for (const Pair& p : pairs) {
    m.open("tr").open("th", {{"scope", "row"}}).text(p.now->name);
    layouts_on_hover(m, *p.now);
    m.close();
    numeric(m, "old / new", fmt::format("{:.3f}", p.faster()));
    m.leaf("td", {}, !p.beyond_noise() ? "within the noise" : p.faster() > 1 ? "▲ faster" : "▼ slower");
    numeric(m, "before", api::in_time_units(p.before->median_ns));
    numeric(m, "now", api::in_time_units(p.now->median_ns));
    m.leaf("td", {}, p.now->where());
    m.open("td", {{"data-label", "before"}}).leaf("code", {}, p.before->kernel).close();
    m.open("td", {{"data-label", "now"}}).leaf("code", {}, p.now->kernel).close().close();
  }
  close_table(m);
}

void machines(Markup& m, const Json& file) {
  m.leaf("h2", {{"id", "runs"}}, "The runs");
  for (const Json& run : part_of(file, "runs")) {
    m.open("details", {{"open", ""}})
        .leaf("summary", {},
              fmt::format("{}, {} thread{}, commit {}", text_in(run, "device"), text_in(run, "threads"),
                          number_in(run, "threads") == 1 ? "" : "s", text_in(run, "commit")));
    m.open("p").leaf("code", {}, text_in(run, "command")).close();
    m.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "group"}, {"aria-label", "machine"}})
        .open("table", {{"class", "stack"}})
        .open("tbody");
    const Json& machine = part_of(run, "machine");
    for (const auto& [key, value] : machine.items())
      if (machine.is_object())
        m.open("tr").leaf("th", {{"scope", "row"}}, key).leaf("td", {}, text_in(machine, key.c_str())).close();
    m.close().close().close().close();
  }
}

}  // namespace

std::string bench_page(const Json& file, const std::string& name, const Json* against,
                       const std::string& against_name) {
  const std::vector<Row> rows = rows_of(file);
  Markup m;
  headlines(m, rows);
  classes(m, rows);
  peers(m, rows);
  if (against != nullptr) compared(m, rows, rows_of(*against), against_name);
  all_cases(m, rows);
  machines(m, file);
  const std::string data = io::json_rows(file);
  m.leaf("h2", {{"id", "file"}}, "The file");
  if (data.size() <= kMostEmbedded)
    m.open("p")
        .text("All of it as JSON: ")
        .leaf("a", {{"download", "results.json"}, {"href", data_uri("application/json", data)}}, "save results.json")
        .text(".")
        .close();
  else
    m.leaf("p", {}, fmt::format("The file has {} bytes and is left out of this page.", data.size()));
  return html_page("restride bench: " + name, "restride bench: " + name, m.str());
}

}  // namespace restride::draw
