// Shared memory as its 32 banks.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "tools/draw/panels.h"
#include "tools/draw/style.h"

namespace restride::draw {
namespace {

constexpr std::size_t kMostRows = 18;

std::int64_t one_bytes(const Instruction& i) {
  std::int64_t bytes = 0;
  for (const plan::Access& a : i.lanes) bytes += a.bytes;
  return bytes;
}

Drawing banks_drawing(const plan::Trace& t, const Instruction& i, const BankFigures& all, bool store) {
  constexpr double kLeft = 74, kTop = 66, kRow = 15, kWide = 20, kCell = 14;
  const BankFigures one = banks_of(i);
  const bool engine = i.warp < 0;  // no lane waits for it
  const std::vector<std::int32_t> clash = engine ? std::vector<std::int32_t>{} : clashing(i);
  Drawing out{store ? "put" : "taken", {}, kLeft + kBanks * kWide + 12, 0, {}};
  out.title = engine ? fmt::format("shared memory, {} by the copy engine", store ? "written" : "read")
                     : fmt::format("shared memory, {} by one instruction of warp {}: {} cycles, {} without conflicts",
                                   store ? "written" : "read", i.warp, one.cycles, one.least);
  Markup m;
  m.leaf("text", {{"class", "head"}, {"x", 0}, {"y", 14}},
         fmt::format("shared memory, 32 banks of 4 bytes: one {} of {}", store ? "write" : "read",
                     engine ? "the copy engine" : fmt::format("warp {}", i.warp)));
  m.open("text", {{"class", "note"}, {"x", 0}, {"y", 31}});
  if (engine) {
    m.text(fmt::format("{} bytes; threads do not take part", one_bytes(i)));
  } else {
    m.text(fmt::format("{} cycle{}, {} without conflicts. All of the {}: ", one.cycles, one.cycles == 1 ? "" : "s",
                       one.least, t.piece_is));
    m.leaf("tspan", {{"data-figure", store ? "stage_written.cycles" : "stage_read.cycles"}},
           std::to_string(all.cycles));
    m.text(" cycles, ");
    m.leaf("tspan", {{"data-figure", store ? "stage_written.least" : "stage_read.least"}}, std::to_string(all.least));
    m.text(" without conflicts");
  }
  m.close();
  m.leaf("text", {{"class", "note"}, {"x", 0}, {"y", 46}},
         engine ? "the engine's own order decides which banks it meets; no lane waits here"
         : clash.empty()
             ? "no two lanes want different words of one bank in the same cycle; numbers are lanes"
             : fmt::format("framed in red: {} lanes that wait for each other; numbers are lanes", clash.size()));
  for (int bank = 0; bank < kBanks; ++bank)
    m.leaf("text", {{"class", "note tiny mid"}, {"x", kLeft + (bank + .5) * kWide}, {"y", kTop - 4}},
           std::to_string(bank));
  std::map<std::int64_t, std::vector<plan::Access>> rows;  // by row of all banks
  for (const plan::Access& a : i.lanes)
    for (std::int64_t row = a.at / 128; row * 128 < a.at + a.bytes; ++row) rows[row].push_back(a);
  double y = kTop;
  std::size_t shown = 0;
  for (const auto& [row, lanes] : rows) {
    if (shown++ == kMostRows) break;
    m.leaf("text", {{"class", "note code tiny end"}, {"x", kLeft - 6}, {"y", y + 10}}, fmt::format("+{}", row * 128));
    for (int bank = 0; bank < kBanks; ++bank)
      m.leaf("rect", {{"class", "free"}, {"x", kLeft + bank * kWide}, {"y", y}, {"width", kWide}, {"height", kCell}});
    for (const plan::Access& a : lanes) {
      const std::int64_t from = std::max(a.at, row * 128), to = std::min(a.at + a.bytes, row * 128 + 128);
      const double x = kLeft + static_cast<double>(from - row * 128) * kWide / 4,
                   w = static_cast<double>(to - from) * kWide / 4;
      const bool clashes = std::find(clash.begin(), clash.end(), a.thread) != clash.end();
      const int lane = a.thread < 0 ? 0 : a.thread % 32;
      m.leaf("rect", {{"class", "cell " + lane_class(lane)}, {"x", x}, {"y", y}, {"width", w}, {"height", kCell}});
      if (clashes)
        m.leaf("rect", {{"class", "clash"}, {"x", x + 1}, {"y", y + 1}, {"width", w - 2}, {"height", kCell - 2}});
      const std::string who = a.thread < 0 ? "copy" : std::to_string(lane);
      if (w >= 5.2 * static_cast<double>(who.size()))
        m.leaf("text", {{"class", "tiny mid on"}, {"x", x + w / 2}, {"y", y + 10}}, who);
    }
    y += kRow;
  }
  if (rows.size() > kMostRows) {
    m.leaf("text", {{"class", "note"}, {"x", kLeft}, {"y", y + 12}},
           fmt::format("and {} more rows of banks, left out", rows.size() - kMostRows));
    y += kRow + 3;
  }
  out.height = y + 6;
  out.markup = m.str();
  return out;
}

}  // namespace

std::vector<Drawing> stage_drawings(const plan::Trace& t, const Figures& f, const Grain& grain, std::size_t most_rows) {
  std::vector<Drawing> out;
  if (f.stage_bytes == 0) return out;
  if (!grain.gpu) return {memory_drawing(t, f, grain, plan::Space::kStage, most_rows)};
  if (!f.first_put.lanes.empty()) out.push_back(banks_drawing(t, f.first_put, f.put, true));
  if (!f.first_take.lanes.empty()) out.push_back(banks_drawing(t, f.first_take, f.taken, false));
  return out;
}

}  // namespace restride::draw
