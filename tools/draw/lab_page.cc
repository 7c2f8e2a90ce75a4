#include "tools/draw/lab_page.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "lab/rungs.h"
#include "tools/draw/figures.h"
#include "tools/draw/json_fields.h"
#include "tools/draw/lab_story.h"
#include "tools/draw/page.h"
#include "tools/draw/panels.h"
#include "tools/draw/story.h"
#include "tools/io/json_text.h"

namespace restride::draw {
namespace {

constexpr int kDrawnSize = 512;   // a square that is whole for every tile
constexpr std::size_t kRows = 8;  // of a drawing: there are many

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) out.push_back(part);
  return out;
}

const Json* row_of(const Json& rows, const std::string& rung, double size, double element) {
  for (const Json& r : rows)
    if (text_in(r, "rung") == rung && number_in(r, "size") == size && number_in(r, "element_bytes") == element)
      return &r;
  return nullptr;
}

/// Speed beside memcpy's, at every size and element that was measured.
void speed(Markup& m, const Json& rows, const std::vector<std::string>& rungs) {
  std::set<double> sizes, elements;
  for (const Json& r : rows) sizes.insert(number_in(r, "size")), elements.insert(number_in(r, "element_bytes"));
  m.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "group"}, {"aria-label", "speed"}})
      .open("table", {{"class", "stack"}})
      .open("thead")
      .open("tr");
  m.leaf("th", {{"scope", "col"}}, "rung")
      .leaf("th", {{"scope", "col"}}, "matrix")
      .leaf("th", {{"scope", "col"}, {"class", "n"}}, "GB/s");
  m.leaf("th", {{"scope", "col"}, {"class", "n"}}, "of memcpy")
      .leaf("th", {{"scope", "col"}}, "")
      .close()
      .close()
      .open("tbody");
  for (const std::string& rung : rungs)
    for (auto e = elements.rbegin(); e != elements.rend(); ++e)
      for (const double size : sizes) {
        const Json* r = row_of(rows, rung, size, *e);
        if (r == nullptr || number_in(*r, "ratio") <= 0) continue;
        const double ratio = number_in(*r, "ratio");
        m.open("tr", {{"data-rung", rung}, {"data-size", size}, {"data-element", *e}})
            .open("th", {{"scope", "row"}})
            .leaf("code", {}, rung)
            .close();
        m.leaf("td", {{"class", "n"}},
               fmt::format("{0} x {0}, {1} byte{2}", number(size), number(*e), *e == 1 ? "" : "s"));
        m.leaf("td", {{"class", "n"}, {"data-label", "GB/s"}}, fmt::format("{:.0f}", number_in(*r, "gbps")))
            .leaf("td", {{"class", "n"}, {"data-label", "of memcpy"}}, fmt::format("{:.2f}", ratio))
            .open("td");
        m.open("div", {{"class", "bar"}, {"role", "img"}, {"aria-label", fmt::format("{:.2f} of memcpy", ratio)}});
        m.leaf("span",
               {{"class", "b1"}, {"style", fmt::format("width:{}%", number(100 * std::clamp(ratio, 0.0, 1.0)))}}, "")
            .close()
            .close()
            .close();
      }
  m.close().close().close();
}

/// Sectors a request and conflicts, from the map and, where a profiler counted, beside it.
void traffic(Markup& m, const Json& rows, const std::vector<std::string>& rungs) {
  const auto cell = [&](const Json& map, const char* key) {
    m.leaf("td", {{"class", "n"}}, map.is_object() && map.contains(key) ? number(number_in(map, key)) : "-");
  };
  m.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "group"}, {"aria-label", "sectors and conflicts"}})
      .open("table")
      .open("thead")
      .open("tr");
  for (const char* head :
       {"rung", "element", "sectors a load", "sectors a store", "conflicts of stores", "conflicts of loads"})
    m.leaf("th", {{"scope", "col"}}, head);
  m.close().close().open("tbody");
  std::set<std::pair<std::string, double>> told;
  for (const std::string& rung : rungs)
    for (const Json& r : rows) {
      const Json& map = part_of(r, "map");
      if (text_in(r, "rung") != rung || map.empty() || !told.emplace(rung, number_in(r, "element_bytes")).second)
        continue;
      m.open("tr", {{"data-map", rung}}).open("th", {{"scope", "row"}}).leaf("code", {}, rung).close();
      m.leaf("td", {},
             fmt::format("{} byte{}", text_in(r, "element_bytes"), number_in(r, "element_bytes") == 1 ? "" : "s"));
      for (const char* key : {"load_sectors", "store_sectors", "put_conflicts", "get_conflicts"}) cell(map, key);
      m.close();
    }
  m.close().close().close();
}

void draw_rung(Markup& m, const std::string& name) {
  const lab::Rung& rung = lab::find_rung(name);
  if (rung.trace == nullptr) return;
  const plan::Trace t = rung.trace(rung.measured_shape(kDrawnSize), 4, 0);
  const Figures f = figures_of(t, kGpuGrain);
  std::vector<Drawing> parts{memory_drawing(t, f, kGpuGrain, plan::Space::kSrc, kRows)};
  for (Drawing& d : stage_drawings(t, f, kGpuGrain)) parts.push_back(std::move(d));
  parts.push_back(memory_drawing(t, f, kGpuGrain, plan::Space::kDst, kRows));
  m.open("details", {{"id", "rung-" + name}, {"data-sectors", f.src.sectors}})
      .open("summary")
      .text("A tile of ")
      .leaf("code", {}, name);
  m.text(fmt::format(" of 4-byte elements: a load of a warp touches {} sectors, a store {}{}", f.first_load_is.sectors,
                     f.first_store_is.sectors,
                     f.taken.least > 0
                         ? f.taken.cycles == f.taken.least
                               ? ", reads of shared memory meet no conflict"
                               : fmt::format(", reads of shared memory take {:.3g} times as long by bank conflicts",
                                             static_cast<double>(f.taken.cycles) / static_cast<double>(f.taken.least))
                         : ""));
  m.close();
  for (Drawing& d : parts) {
    d.id = "rung-" + name + "-" + d.id;
    m.open("figure", {{"tabindex", "0"}, {"role", "group"}, {"aria-label", d.title}}).raw(inline_svg(d)).close();
  }
  m.close();
}

}  // namespace

std::string lab_page(const Json& result) {
  const Json& rows = part_of(result, "rows");
  Markup m;
  const Json& machine = part_of(result, "machine");
  const bool measured = std::any_of(rows.begin(), rows.end(), [](const Json& r) { return number_in(r, "ratio") > 0; });
  if (measured)
    m.leaf("p", {{"class", "soft"}},
           fmt::format("{}, driver {}, CUDA {}; commit {}.", text_in(machine, "device"), text_in(machine, "driver"),
                       text_in(machine, "cuda"), text_in(result, "commit")));
  else
    m.leaf("p", {{"class", "soft"}},
           fmt::format("Nothing was timed ({}): sectors, conflicts and drawings follow from the maps alone.",
                       text_in(machine, "why_not")));
  std::set<std::string> drawn;
  std::vector<std::string> of_section;
  const auto every_rung = [&] {
    std::vector<std::string> out;
    for (const lab::Rung& rung : lab::rungs())
      if (!rung.faulty) out.emplace_back(rung.name);
    return out;
  };
  const auto figures = [&](Markup& to, std::string_view words) {
    const std::vector<std::string> word = split(std::string(words), ' ');
    if (word.empty() || (word[0] != "lab_speed" && word[0] != "lab_counters"))
      return word.empty() || word[0] == "lab_machine";
    const bool all = word.size() < 4 || word.back().find_first_not_of("0123456789") == std::string::npos;
    const std::vector<std::string> rungs = all ? every_rung() : split(word.back(), ',');
    for (const std::string& rung : rungs)
      if (!all && drawn.insert(rung).second) of_section.push_back(rung);
    if (word[0] == "lab_counters") {
      if (!all || drawn.insert("all counters").second) traffic(to, rows, rungs);
    } else if (measured && (!all || drawn.insert("all speeds").second)) {
      speed(to, rows, rungs);
    }
    return true;
  };
  const auto section = [&](Markup& to) {
    for (const std::string& rung : of_section) draw_rung(to, rung);
    of_section.clear();
  };
  tell_story(kLabStory, figures, section, m);
  m.leaf("h2", {{"id", "file"}}, "The figures");
  m.open("p")
      .text("All of them as JSON: ")
      .leaf("a", {{"download", "lab.json"}, {"href", data_uri("application/json", io::json_rows(result))}},
            "save lab.json")
      .text(".")
      .close();
  return html_page("restride lab", "The lab: from the naive transpose to the copy engine", m.str());
}

}  // namespace restride::draw
