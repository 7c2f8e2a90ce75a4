// Memory as lines and sectors.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "src/layout/describe.h"
#include "tools/draw/panels.h"
#include "tools/draw/style.h"

namespace restride::draw {
namespace {

constexpr double kCell = 13;  // high

/// A row's bytes for the width of the drawing: more where memory is touched in long runs, and no more than that one
/// thread's are still to be seen.
constexpr double scale_of(std::int64_t window) { return window <= 64 ? 8 : window <= 128 ? 5 : 2.5; }

/// Bytes that one thread accesses, or that one run of src makes up.
struct Cell {
  std::int64_t at = 0, bytes = 0;
  std::int32_t who = 0;
  bool first = false;  ///< of the first instruction
};

/// What is drawn as coloured boxes, by address, none over another.
std::vector<Cell> cells_of(const plan::Trace& t, const Figures& f, const Grain& grain, plan::Space space) {
  std::map<std::int64_t, Cell> by;
  const auto first_of = [&](const plan::Access& a) {
    const Instruction& i = space == plan::Space::kSrc   ? f.first_load
                           : space == plan::Space::kDst ? f.first_store
                                                        : f.first_put;
    return grain.gpu && a.step == i.step && (a.thread < 0 ? -1 : a.thread / 32) == i.warp;
  };
  if (grain.gpu || space == plan::Space::kSrc) {
    const bool store = space == plan::Space::kDst;
    for (const plan::Access& a : t.accesses)
      if (a.space == space && a.store == store) by.try_emplace(a.at, Cell{a.at, a.bytes, a.thread, first_of(a)});
  } else if (space == plan::Space::kDst) {
    // On the CPU the run of src that units of dst come from is what colours tell.
    for (const plan::UnitWay& u : t.units) by.try_emplace(u.dst, Cell{u.dst, t.dst_unit, u.loader, false});
  } else {
    for (const plan::UnitWay& u : t.units)
      if (u.stage >= 0) by.try_emplace(u.stage, Cell{u.stage, t.dst_unit, u.loader, false});
  }
  std::vector<Cell> out;
  for (const auto& [at, cell] : by) {
    if (!out.empty() && at < out.back().at + out.back().bytes) {  // a second look at the same bytes
      const std::int64_t over = out.back().at + out.back().bytes - at;
      if (over >= cell.bytes) continue;
      out.push_back({at + over, cell.bytes - over, cell.who, cell.first});
      continue;
    }
    const bool joins =
        !grain.gpu && !out.empty() && out.back().who == cell.who && out.back().at + out.back().bytes == at;
    if (joins)
      out.back().bytes += cell.bytes;
    else
      out.push_back(cell);
  }
  return out;
}

/// Used bytes as ranges [first, last), in order.
std::vector<std::pair<std::int64_t, std::int64_t>> used_ranges(const plan::Trace& t, plan::Space space) {
  std::vector<std::int64_t> at;
  const std::int64_t unit = space == plan::Space::kSrc ? t.src_unit : t.dst_unit;
  for (const plan::UnitWay& u : t.units) at.push_back(space == plan::Space::kSrc ? u.src : u.dst);
  std::sort(at.begin(), at.end());
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (const std::int64_t a : at)
    if (!out.empty() && a <= out.back().second)
      out.back().second = std::max(out.back().second, a + unit);
    else
      out.emplace_back(a, a + unit);
  return out;
}

/// A row of the drawing: bytes [at, at + window) of memory, of which lines up to `end` are touched.
struct Row {
  std::int64_t at = 0, end = 0;
};

std::vector<Row> rows_of(const std::vector<Cell>& cells, std::int64_t line, std::int64_t window) {
  std::vector<Row> rows;
  for (const Cell& c : cells)
    for (std::int64_t at = floor_to(c.at, line); at < c.at + c.bytes; at += line) {
      if (!rows.empty() && at < rows.back().end) continue;
      if (!rows.empty() && at == rows.back().end && rows.back().end - rows.back().at < window)
        rows.back().end += line;
      else
        rows.push_back({at, at + line});
    }
  return rows;
}

/// As many as there is room for: of each run of rows its first ones, of the runs the first ones.
std::vector<Row> some_rows(const std::vector<Row>& all, std::size_t most) {
  if (all.size() <= most + 2) return all;
  std::size_t runs = 0;
  for (std::size_t i = 0; i < all.size(); ++i) runs += i == 0 || all[i].at != all[i - 1].end ? 1 : 0;
  const std::size_t each = std::max<std::size_t>(most / std::max<std::size_t>(runs, 1), 1);
  std::vector<Row> out;
  std::size_t of_run = 0;
  for (std::size_t i = 0; i < all.size() && out.size() < most; ++i) {
    of_run = i == 0 || all[i].at != all[i - 1].end ? 0 : of_run + 1;
    if (of_run < each) out.push_back(all[i]);
  }
  return out;
}

/// Strokes between the vectors by which a store leaves: on lines where it goes past the caches, else from its start.
template <class X>
void vector_strokes(const plan::Trace& t, std::int64_t first, std::int64_t end, const X& x_of, double y, Markup& m) {
  if (t.vector_bytes == 0) return;
  std::string path;
  for (const plan::Access& a : t.accesses) {
    if (a.space != plan::Space::kDst || !a.store || a.at >= end || a.at + a.bytes <= first) continue;
    const std::int64_t from = t.past_caches ? floor_to(a.at, t.vector_bytes) : a.at;
    for (std::int64_t v = from + t.vector_bytes; v < a.at + a.bytes; v += t.vector_bytes)
      if (v > first && v < end) path += fmt::format("M{} {}v{}", number(x_of(v)), number(y), number(kCell));
  }
  if (!path.empty()) m.leaf("path", {{"class", "way"}, {"d", path}});
}

std::string side_words(plan::Space space, const Grain& grain) {
  if (space == plan::Space::kStage) return "stage";
  return fmt::format("{} {}", space == plan::Space::kSrc ? "src, read in" : "dst, written in",
                     grain.gpu ? "sectors of 32 and lines of 128 bytes" : "lines of 64 bytes");
}

}  // namespace

Drawing memory_drawing(const plan::Trace& t, const Figures& f, const Grain& grain, plan::Space space,
                       std::size_t most_rows) {
  constexpr double kLeft = 74, kTop = 62, kRow = 17;
  const bool is_src = space == plan::Space::kSrc, stage = space == plan::Space::kStage;
  const SideFigures& side = is_src ? f.src : f.dst;
  const std::vector<Cell> cells = cells_of(t, f, grain, space);
  std::int64_t window = grain.gpu ? 128 : 64;
  std::int64_t least = window;  // bytes of the smallest cell
  for (const Cell& c : cells) least = std::min(least, c.bytes);
  while (window < 256 && static_cast<double>(least) * scale_of(window * 2) >= 8 &&
         rows_of(cells, grain.line_bytes, window).size() * 4 >= rows_of(cells, grain.line_bytes, window * 2).size() * 6)
    window *= 2;
  const std::vector<Row> all = rows_of(cells, grain.line_bytes, window);
  const std::vector<Row> rows = some_rows(all, most_rows);
  const double scale = scale_of(window);  // of a byte
  Drawing out{stage ? "stage" : is_src ? "src" : "dst", {}, kLeft + static_cast<double>(window) * scale + 12, 0, {}};
  out.title = fmt::format("{} number {} of {} in {}: {} of {} touched bytes are used", t.piece_is, t.piece, t.pieces,
                          is_src  ? "src"
                          : stage ? "the stage"
                                  : "dst",
                          side.used, side.sectors * grain.sector_bytes);
  Markup m;
  m.leaf("text", {{"class", "head"}, {"x", 0}, {"y", 14}}, side_words(space, grain));
  if (!stage) {
    const char* what = grain.gpu ? "sector" : "line";
    m.open("text", {{"class", "note"}, {"x", 0}, {"y", 31}});
    m.leaf("tspan", {{"data-figure", is_src ? "src.used_bytes" : "dst.used_bytes"}}, std::to_string(side.used));
    m.text(fmt::format(" bytes used of {} in ", side.sectors * grain.sector_bytes));
    m.leaf("tspan", {{"data-figure", is_src ? "src.sectors" : "dst.sectors"}}, std::to_string(side.sectors));
    m.text(fmt::format(" {}{}", what, side.sectors == 1 ? "" : "s"));
    if (grain.gpu) {
      m.text(" of ").leaf("tspan", {{"data-figure", is_src ? "src.lines" : "dst.lines"}}, std::to_string(side.lines));
      m.text(side.lines == 1 ? " line, by " : " lines, by ");
      m.leaf("tspan", {{"data-figure", is_src ? "src.accesses" : "dst.accesses"}}, std::to_string(side.accesses));
      const bool one_access = side.accesses == 1;
      if ((is_src ? f.first_load : f.first_store).warp < 0)
        m.text(one_access ? " access of the copy engine" : " accesses of the copy engine or of warps");
      else
        m.text(one_access ? " instruction of a warp" : " instructions of warps");
    }
    m.close();
    const Instruction& one = is_src ? f.first_load : f.first_store;
    const SideFigures& is = is_src ? f.first_load_is : f.first_store_is;
    if (grain.gpu && !one.lanes.empty())
      m.leaf("text", {{"class", "note"}, {"x", 0}, {"y", 46}},
             one.warp < 0
                 ? fmt::format("in full colour: the first box, {} bytes", is.bytes)
                 : fmt::format("in full colour: the first {} of warp {}, {} bytes in {} sectors; numbers are threads",
                               is_src ? "load" : "store", one.warp, is.bytes, is.sectors));
    else if (!grain.gpu)
      m.leaf("text", {{"class", "note"}, {"x", 0}, {"y", 46}},
             !is_src && t.vector_bytes > 0
                 ? fmt::format("numbers and colours are runs of src; strokes part vectors of {} bytes{}",
                               t.vector_bytes, t.past_caches ? ", whole lines go past the caches" : "")
                 : "numbers and colours are runs of src, in the order read");
  } else {
    m.leaf("text", {{"class", "note"}, {"x", 0}, {"y", 31}},
           fmt::format("{} bytes in the caches; numbers are the runs of src that lie there", f.stage_bytes));
  }

  const std::vector<std::pair<std::int64_t, std::int64_t>> used = used_ranges(t, space);
  double y = kTop;
  std::size_t at = 0;
  for (std::size_t r = 0; r < rows.size(); ++r, y += kRow) {
    const Row& row = rows[r];
    if (r > 0 && row.at != rows[r - 1].end && rows.size() < all.size()) y += 5;  // something lies between
    const auto x_of = [&](std::int64_t byte) { return kLeft + static_cast<double>(byte - row.at) * scale; };
    m.leaf("text", {{"class", "note code tiny end"}, {"x", kLeft - 6}, {"y", y + 10}}, fmt::format("+{}", row.at));
    while (at < cells.size() && cells[at].at + cells[at].bytes <= row.at) ++at;
    for (std::size_t i = at; i < cells.size() && cells[i].at < row.end; ++i) {
      const Cell& c = cells[i];
      const std::int64_t from = std::max(c.at, row.at), to = std::min(c.at + c.bytes, row.end);
      const double x = x_of(from), w = static_cast<double>(to - from) * scale;
      m.leaf("rect", {{"class", fmt::format("cell {}{}", lane_class(c.who),
                                            c.first     ? " first"
                                            : grain.gpu ? " pale"
                                                        : "")},
                      {"x", x},
                      {"y", y},
                      {"width", w},
                      {"height", kCell}});
      const std::string who = c.who < 0 ? "copy" : std::to_string(c.who);
      const double room = 5.2 * static_cast<double>(who.size()) + 2;
      if (w < room) continue;
      // In the middle of the first sector that has room, so that no stroke between sectors goes through it.
      double left = x, right = x_of(std::min(to, floor_to(from, grain.sector_bytes) + grain.sector_bytes));
      for (std::int64_t s = floor_to(from, grain.sector_bytes) + grain.sector_bytes; right - left < room && s < to;
           s += grain.sector_bytes) {
        left = x_of(s);
        right = x_of(std::min(to, s + grain.sector_bytes));
      }
      if (right - left < room) std::tie(left, right) = std::pair(x, x + w);
      m.leaf("text",
             {{"class", grain.gpu && !c.first ? "tiny mid" : "tiny mid on"}, {"x", (left + right) / 2}, {"y", y + 9.6}},
             who);
    }
    if (space == plan::Space::kDst) vector_strokes(t, row.at, row.end, x_of, y, m);
    // Sectors and lines as one path each, and a stroke across bytes of them that no unit uses.
    const auto box = [&](std::int64_t from, std::int64_t bytes) {
      const std::string wide = number(static_cast<double>(bytes) * scale);
      return fmt::format("M{} {}h{}v{}h-{}z", number(x_of(from)), number(y), wide, number(kCell), wide);
    };
    std::string touched, untouched, lines, unused;
    const auto stroke = [&](std::int64_t from, std::int64_t to) {
      if (from < to)
        unused += fmt::format("M{} {}L{} {}", number(x_of(from)), number(y + kCell), number(x_of(to)), number(y));
    };
    for (std::int64_t s = row.at; s < row.end; s += grain.sector_bytes) {
      const bool is_touched =
          std::any_of(cells.begin() + static_cast<std::ptrdiff_t>(at), cells.end(),
                      [&](const Cell& c) { return c.at < s + grain.sector_bytes && c.at + c.bytes > s; });
      (is_touched ? touched : untouched) += box(s, grain.sector_bytes);
      if (!is_touched || stage) continue;
      std::int64_t from = s;
      auto u = std::upper_bound(used.begin(), used.end(), std::pair{s, INT64_MAX});
      if (u != used.begin()) --u;
      for (; u != used.end() && u->first < s + grain.sector_bytes; ++u) {
        stroke(from, std::min(u->first, s + grain.sector_bytes));
        from = std::max(from, u->second);
      }
      stroke(from, s + grain.sector_bytes);
    }
    for (std::int64_t l = row.at; grain.line_bytes > grain.sector_bytes && l < row.end; l += grain.line_bytes)
      lines += box(l, grain.line_bytes);
    for (const auto& [name, path] :
         {std::pair{"sector", &touched}, {"empty", &untouched}, {"unused", &unused}, {"line", &lines}})
      if (!path->empty()) m.leaf("path", {{"class", name}, {"d", *path}});
  }
  if (rows.size() < all.size()) {
    m.leaf("text", {{"class", "note"}, {"x", kLeft}, {"y", y + 12}},
           fmt::format("and {} more rows, left out", all.size() - rows.size()));
    y += kRow;
  }
  if (t.units_of_piece > static_cast<std::int64_t>(t.units.size())) {
    m.leaf("text", {{"class", "note"}, {"x", kLeft}, {"y", y + 12}},
           fmt::format("of the {}'s {} units the first {} are told", t.piece_is, t.units_of_piece, t.units.size()));
    y += kRow;
  }
  out.height = y + 6;
  out.markup = m.str();
  out.width = std::max(out.width, 520.0);
  return out;
}

}  // namespace restride::draw
