#include "tools/tune/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "src/cpu/planner.h"

namespace restride::tune {
namespace {

using cpu::CpuMachine;
using plan::Decision;

constexpr double kWorthIt = 1.02;    // a gain below this is noise, or not worth another plan
constexpr double kOneLayout = 1.05;  // more that one layout alone has to gain; of many the noise averages out
constexpr double kMayLose = 0.95;    // what a layout may lose by a number that many gain by
constexpr int kAgain = 3;            // so often both ways are timed before a number changes; the median counts
constexpr int kPasses = 2;           // a cost may go two steps, and other costs move beneath it

const plan::Number<CpuMachine>& entry(std::string_view name) {
  return *std::find_if(std::begin(cpu::kCpuNumbers), std::end(cpu::kCpuNumbers),
                       [&](const auto& n) { return n.name == name; });
}

/// What plans of each layout take, each timed once.
class Times {
 public:
  explicit Times(Clock& clock) : clock_(clock) {}

  double of(std::size_t layout, const Decision& d) {
    const auto [at, is_new] = known_.try_emplace({layout, text(d)}, 0.0);
    if (is_new) at->second = fresh(layout, d);
    return at->second;
  }
  /// Timed once more, whatever is known.
  double fresh(std::size_t layout, const Decision& d) {
    ++timed_;
    return clock_.time(layout, d);
  }
  void set(std::size_t layout, const Decision& d, double time) { known_[{layout, text(d)}] = time; }
  int timed() const { return timed_; }

 private:
  static std::string text(const Decision& d) {
    std::string out(d.chosen.kernel.text);
    for (const plan::Param& p : d.chosen.params)
      out += ' ' + std::to_string(static_cast<int>(p.id)) + '=' + std::to_string(p.value);
    return out;
  }
  Clock& clock_;
  std::map<std::pair<std::size_t, std::string>, double> known_;
  int timed_ = 0;
};

double middle(std::array<double, kAgain> times) {
  std::nth_element(times.begin(), times.begin() + kAgain / 2, times.end());
  return times[kAgain / 2];
}

/// What another machine's numbers bring.
struct Gain {
  double log_sum = 0;  ///< of the layouts that are planned otherwise
  int layouts = 0;
  double least = 1;  ///< of the layout that loses most
  double needed() const { return layouts * std::log(kWorthIt) + std::log(kOneLayout); }
  double mean() const { return layouts == 0 ? 1 : std::exp(log_sum / layouts); }
};

class Fitter {
 public:
  Fitter(const CpuMachine& start, std::span<const layout::Canonical> layouts, Clock& clock)
      : layouts_(layouts), clock_(clock), times_(clock) {
    fit_.machine = start;
    for (const layout::Canonical& c : layouts) plans_.push_back(cpu::plan_cpu(c, start));
  }

  Fit run() {
    bool changed = true;
    for (int pass = 0; pass < kPasses && changed; ++pass) {
      changed = false;
      for (const Tried& t : tried_numbers()) {
        if (clock_.is_over()) return result(pass > 0);
        changed |= try_number(t);
      }
    }
    return result(true);
  }

 private:
  Fit result(bool complete) {
    std::erase_if(fit_.changes, [](const Change& c) { return c.was == c.is; });
    fit_.complete = complete;
    fit_.timed = times_.timed();
    return fit_;
  }

  bool try_number(const Tried& t) {
    const double now = number(fit_.machine, t.number);
    CpuMachine best = fit_.machine;
    Gain most;
    for (const double v : t.values) {
      CpuMachine other = fit_.machine;
      set_number(&other, t.number, t.factors ? v * now : v);
      if (other == fit_.machine) continue;
      const Gain gain = gain_of(other, false);
      if (gain.log_sum < gain.needed() || gain.log_sum <= most.log_sum) continue;
      most = gain;
      best = other;
    }
    if (most.layouts == 0) return false;
    // The best of several is the luckiest of several, too.
    const Gain again = gain_of(best, true);
    if (again.log_sum < again.layouts * std::log(kWorthIt) || again.least < kMayLose) return false;
    take(t.number, now, best, again);
    return true;
  }

  Gain gain_of(const CpuMachine& other, bool fresh) {
    Gain gain;
    for (std::size_t i = 0; i < layouts_.size(); ++i) {
      const Decision d = cpu::plan_cpu(layouts_[i], other);
      if (same_plan(d, plans_[i])) continue;
      double before = times_.of(i, plans_[i]), after = times_.of(i, d);
      if (fresh) {
        std::array<double, kAgain> befores, afters;
        for (int k = 0; k < kAgain; ++k) {  // in turns
          befores[k] = times_.fresh(i, plans_[i]);
          afters[k] = times_.fresh(i, d);
        }
        before = middle(befores);
        after = middle(afters);
        times_.set(i, plans_[i], before);
        times_.set(i, d, after);
      }
      gain.log_sum += std::log(before / after);
      gain.least = std::min(gain.least, before / after);
      ++gain.layouts;
    }
    return gain;
  }

  void take(std::string_view name, double was, const CpuMachine& machine, const Gain& gain) {
    fit_.machine = machine;
    for (std::size_t i = 0; i < layouts_.size(); ++i) plans_[i] = cpu::plan_cpu(layouts_[i], machine);
    auto known =
        std::find_if(fit_.changes.begin(), fit_.changes.end(), [&](const Change& c) { return c.number == name; });
    if (known == fit_.changes.end()) known = fit_.changes.insert(known, {name, was});
    known->is = number(machine, name);
    known->layouts = std::max(known->layouts, gain.layouts);
    known->gain *= gain.mean();
  }

  std::span<const layout::Canonical> layouts_;
  Clock& clock_;
  Times times_;
  Fit fit_;
  std::vector<Decision> plans_;  ///< by fit_.machine
};

}  // namespace

std::span<const Tried> tried_numbers() {
  const std::vector<double> steps = {0.35, 0.6, 1.6, 2.8};
  static const std::vector<Tried> kAll = {
      {"near", {0, 1}},
      {"tile_near", {0, 1}},
      {"tile_least_in_place_bytes", {1, 2, 4, 32}},
      {"tile_side_by_side", {0, 1}},
      {"tile_late", {0, 1}},
      {"tile_column_bytes", {64, 128, 256}},
      {"tile_byte_rows", {64, 128}},
      {"tile_band_columns", {256, 512, 1024, 2048}},
      {"tile_least_rows", {1, 16, 32, 64}},
      {"tile_read_bytes", {128, 256, 512}},
      {"pick_unit_ns", steps, true},
      {"shuffle_line_ns", steps, true},
      {"unit_ns", steps, true},
      {"row_ns", steps, true},
      {"tile_row_ns", steps, true},
      {"tile_column_ns", steps, true},
      {"tile_ragged_column_ns", steps, true},
      {"tile_on_lines_start", {0.1, 0.2, 0.5, 1}},
      {"tile_line_ns", steps, true},
      {"tile_record_line_ns", steps, true},
      {"rows_reversed_byte_ns", steps, true},
      {"rows_record_ns", steps, true},
      {"packed_cycle_ns", {0.25, 0.5, 0.8, 1.2}},
      {"packed_pages", {1, 1.1, 1.3, 1.6}},
      {"packed_short_run_pages", {0, 0.15, 0.4}},
      {"packed_many_runs", {1, 1.3, 1.6, 2.2}},
      {"buffered_dst_run_ns", steps, true},
      {"buffered_src_run_ns", steps, true},
      {"buffered_one_run_pages", {1, 1.15, 1.4, 1.8}},
      {"buffered_pages", {1, 1.3, 1.6, 2.2}},
      {"buffered_meeting_pages", {1.3, 2, 3}},
      {"channels_join_ragged_rows", steps, true},
      {"channels_split_ragged_rows", steps, true},
      {"channels_no_permutes", {1, 1.4, 2}},
      {"gather_unit_ns", steps, true},
  };
  return kAll;
}

Fit fit(const CpuMachine& start, std::span<const layout::Canonical> layouts, Clock& clock) {
  return Fitter(start, layouts, clock).run();
}

double number(const CpuMachine& machine, std::string_view name) {
  const auto& n = entry(name);
  if (n.flag != nullptr) return machine.*n.flag ? 1 : 0;
  return n.whole != nullptr ? static_cast<double>(machine.*n.whole) : machine.*n.real;
}

void set_number(CpuMachine* machine, std::string_view name, double value) {
  const auto& n = entry(name);
  if (n.flag != nullptr)
    machine->*n.flag = value != 0;
  else if (n.whole != nullptr)
    machine->*n.whole = std::llround(value);
  else
    machine->*n.real = std::round(value * 1e4) / 1e4;  // more digits say nothing
}

bool same_plan(const Decision& a, const Decision& b) {
  return a.chosen.kernel == b.chosen.kernel &&
         std::equal(a.chosen.params.begin(), a.chosen.params.end(), b.chosen.params.begin(), b.chosen.params.end());
}

}  // namespace restride::tune
