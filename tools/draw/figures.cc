#include "tools/draw/figures.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>

namespace restride::draw {
namespace {

constexpr int kBankBytes = 4, kWarp = 32;

/// Grains of `bytes` that the accesses touch.
std::int64_t touched(const std::vector<plan::Access>& accesses, std::int64_t grain) {
  std::unordered_set<std::int64_t> seen;
  for (const plan::Access& a : accesses)
    for (std::int64_t at = floor_to(a.at, grain); at < a.at + a.bytes; at += grain) seen.insert(at);
  return static_cast<std::int64_t>(seen.size());
}

SideFigures side_of(const std::vector<plan::Access>& accesses, const Grain& grain) {
  SideFigures f;
  f.bytes = touched(accesses, 1);
  f.sectors = touched(accesses, grain.sector_bytes);
  f.lines = touched(accesses, grain.line_bytes);
  return f;
}

/// Instructions by warp and step; the copy engine's are one a step.
std::vector<Instruction> instructions(const std::vector<plan::Access>& accesses, plan::Space space, bool store,
                                      bool gpu) {
  std::map<std::tuple<std::int32_t, std::int32_t>, Instruction> by;
  for (const plan::Access& a : accesses) {
    if (a.space != space || a.store != store) continue;
    const std::int32_t warp = gpu ? (a.thread < 0 ? -1 : a.thread / kWarp) : 0;
    Instruction& i = by[{warp, a.step}];
    i.space = space;
    i.store = store;
    i.step = a.step;
    i.warp = warp;
    i.lanes.push_back(a);
  }
  std::vector<Instruction> out;
  out.reserve(by.size());
  for (auto& [key, i] : by) out.push_back(std::move(i));
  return out;
}

}  // namespace

BankFigures banks_of(const Instruction& i) {
  BankFigures out;
  // Lanes are served in groups that together want at most 128 bytes: all, halves for 8 bytes each, quarters for 16.
  std::map<std::int32_t, std::array<std::set<std::int64_t>, kBanks>> groups;
  for (const plan::Access& a : i.lanes) {
    const int width = a.bytes > 8 ? 4 : a.bytes > 4 ? 2 : 1;
    const std::int32_t lane = a.thread < 0 ? 0 : a.thread % kWarp;
    auto& banks = groups[lane / (kWarp / width)];
    for (std::int64_t at = floor_to(a.at, kBankBytes); at < a.at + a.bytes; at += kBankBytes)
      banks[static_cast<std::size_t>(at / kBankBytes % kBanks)].insert(at);
  }
  for (const auto& [group, banks] : groups) {
    std::int64_t most = 0;
    for (const auto& words : banks) most = std::max(most, static_cast<std::int64_t>(words.size()));
    out.cycles += most;
    out.least += 1;
    out.worst = std::max(out.worst, most);
  }
  return out;
}

std::vector<std::int32_t> clashing(const Instruction& i) {
  std::vector<std::int32_t> out;
  if (banks_of(i).worst == 1) return out;
  for (const plan::Access& a : i.lanes) {
    const auto group = [&](const plan::Access& b) {
      return b.thread % kWarp / (kWarp / (b.bytes > 8 ? 4 : b.bytes > 4 ? 2 : 1));
    };
    const bool meets = std::any_of(i.lanes.begin(), i.lanes.end(), [&](const plan::Access& b) {
      if (group(a) != group(b)) return false;
      for (std::int64_t x = floor_to(a.at, 4); x < a.at + a.bytes; x += 4)
        for (std::int64_t y = floor_to(b.at, 4); y < b.at + b.bytes; y += 4)
          if (x != y && x / 4 % kBanks == y / 4 % kBanks) return true;
      return false;
    });
    if (meets) out.push_back(a.thread);
  }
  return out;
}

Figures figures_of(const plan::Trace& t, const Grain& grain) {
  Figures f;
  const auto sum = [&](plan::Space space, bool store, SideFigures* side, Instruction* first, SideFigures* first_is) {
    std::vector<plan::Access> all;
    for (const plan::Access& a : t.accesses)
      if (a.space == space && a.store == store) all.push_back(a);
    *side = side_of(all, grain);
    std::vector<Instruction> each = instructions(t.accesses, space, store, grain.gpu);
    side->accesses = grain.gpu ? static_cast<std::int64_t>(each.size()) : static_cast<std::int64_t>(all.size());
    if (!each.empty()) *first = std::move(each.front());
    *first_is = side_of(first->lanes, grain);
  };
  sum(plan::Space::kSrc, false, &f.src, &f.first_load, &f.first_load_is);
  sum(plan::Space::kDst, true, &f.dst, &f.first_store, &f.first_store_is);
  std::unordered_set<std::int64_t> src;
  for (const plan::UnitWay& u : t.units) src.insert(u.src);
  f.src.used = static_cast<std::int64_t>(src.size()) * t.src_unit;
  f.dst.used = static_cast<std::int64_t>(t.units.size()) * t.dst_unit;
  for (const plan::Access& a : t.accesses)
    if (a.space == plan::Space::kStage) f.stage_bytes = std::max(f.stage_bytes, a.at + a.bytes);
  if (!grain.gpu) return f;
  const auto banks = [](const std::vector<plan::Access>& accesses, bool store, BankFigures* out, Instruction* first) {
    std::vector<Instruction> each = instructions(accesses, plan::Space::kStage, store, true);
    for (const Instruction& i : each) {
      if (i.warp < 0) continue;  // the copy engine has its own way in
      const BankFigures b = banks_of(i);
      out->cycles += b.cycles;
      out->least += b.least;
      out->worst = std::max(out->worst, b.worst);
    }
    if (each.empty() || first == nullptr) return;
    // The first of those with the most lanes: a few lanes move ends that are no whole words.
    *first = std::move(*std::max_element(each.begin(), each.end(), [](const Instruction& a, const Instruction& b) {
      const auto lanes = [](const Instruction& i) { return i.warp < 0 ? 0 : i.lanes.size(); };
      return lanes(a) < lanes(b);
    }));
  };
  banks(t.accesses, true, &f.put, &f.first_put);
  banks(t.accesses, false, &f.taken, &f.first_take);
  banks(t.plain_reads, false, &f.plain, nullptr);
  return f;
}

nlohmann::ordered_json to_json(const plan::Trace& t, const Figures& f) {
  const auto side = [](const SideFigures& s) {
    return nlohmann::ordered_json{{"bytes", s.bytes},
                                  {"used_bytes", s.used},
                                  {"sectors", s.sectors},
                                  {"lines", s.lines},
                                  {"accesses", s.accesses}};
  };
  const auto banks = [](const BankFigures& b) {
    return nlohmann::ordered_json{{"cycles", b.cycles}, {"least", b.least}, {"worst", b.worst}};
  };
  nlohmann::ordered_json out{{"is", t.piece_is},
                             {"number", t.piece},
                             {"of", t.pieces},
                             {"blocks", t.blocks},
                             {"threads", t.threads},
                             {"src_unit_bytes", t.src_unit},
                             {"dst_unit_bytes", t.dst_unit},
                             {"units", t.units_of_piece},
                             {"units_told", t.units.size()},
                             {"src", side(f.src)},
                             {"dst", side(f.dst)},
                             {"stage_bytes", f.stage_bytes}};
  if (t.vector_bytes > 0) out["vector_bytes"] = t.vector_bytes;
  if (!t.ahead_is.empty()) {
    const std::unordered_set<std::int64_t> lines(t.ahead.begin(), t.ahead.end());
    out["prefetched"] = {{"lines", lines.size()}, {"is", t.ahead_is}};
  }
  if (f.put.least > 0) out["stage_written"] = banks(f.put);
  if (f.taken.least > 0) out["stage_read"] = banks(f.taken);
  if (f.plain.least > 0) out["stage_read"]["plain_cycles"] = f.plain.cycles;
  return out;
}

}  // namespace restride::draw
