#include "tools/tune/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

namespace restride::tune {
namespace {

using plan::Decision;

constexpr double kWorthIt = 1.02;    // a gain below this is noise, or not worth another plan
constexpr double kOneLayout = 1.05;  // more that one layout alone has to gain; of many the noise averages out
constexpr double kMayLose = 0.95;    // what a layout may lose by a number that many gain by
constexpr int kAgain = 3;            // so often both ways are timed before a number changes; the median counts
constexpr int kPasses = 2;           // a cost may go two steps, and other costs move beneath it

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

template <class Machine>
class Fitter {
 public:
  Fitter(const Machine& start, std::span<const layout::Canonical> layouts, Clock& clock)
      : layouts_(layouts), clock_(clock), times_(clock) {
    fit_.machine = start;
    for (const layout::Canonical& c : layouts) plans_.push_back(plan(c, start));
  }

  Fit<Machine> run() {
    bool changed = true;
    for (int pass = 0; pass < kPasses && changed; ++pass) {
      changed = false;
      for (const Tried& t : tried_numbers(fit_.machine)) {
        if (clock_.is_over()) return result(pass > 0);
        changed |= try_number(t);
      }
    }
    return result(true);
  }

 private:
  Fit<Machine> result(bool complete) {
    std::erase_if(fit_.changes, [](const Change& c) { return c.was == c.is; });
    fit_.complete = complete;
    fit_.timed = times_.timed();
    return fit_;
  }

  bool try_number(const Tried& t) {
    const double now = number(fit_.machine, t.number);
    Machine best = fit_.machine;
    Gain most;
    for (const double v : t.values) {
      Machine other = fit_.machine;
      set_number(&other, t.number, t.factors ? v * now : v);
      if (number(other, t.number) == now) continue;
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

  Gain gain_of(const Machine& other, bool fresh) {
    Gain gain;
    for (std::size_t i = 0; i < layouts_.size(); ++i) {
      const Decision d = plan(layouts_[i], other);
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

  void take(std::string_view name, double was, const Machine& machine, const Gain& gain) {
    fit_.machine = machine;
    for (std::size_t i = 0; i < layouts_.size(); ++i) plans_[i] = plan(layouts_[i], machine);
    auto known =
        std::find_if(fit_.changes.begin(), fit_.changes.end(), [&](const Change& c) { return c.number == name; });
    if (known == fit_.changes.end()) known = fit_.changes.insert(known, {std::string(name), was});
    known->is = number(machine, name);
    known->layouts = std::max(known->layouts, gain.layouts);
    known->gain *= gain.mean();
  }

  std::span<const layout::Canonical> layouts_;
  Clock& clock_;
  Times times_;
  Fit<Machine> fit_;
  std::vector<Decision> plans_;  ///< by fit_.machine
};

}  // namespace

template <class Machine>
Fit<Machine> fit(const Machine& start, std::span<const layout::Canonical> layouts, Clock& clock) {
  return Fitter<Machine>(start, layouts, clock).run();
}
template Fit<cpu::CpuMachine> fit(const cpu::CpuMachine&, std::span<const layout::Canonical>, Clock&);
template Fit<Gpu> fit(const Gpu&, std::span<const layout::Canonical>, Clock&);

std::string text(const Decision& d) {
  std::string out(d.chosen.kernel.text);
  for (const plan::Param& p : d.chosen.params)
    out += ' ' + std::to_string(static_cast<int>(p.id)) + '=' + std::to_string(p.value);
  return out;
}

bool same_plan(const Decision& a, const Decision& b) {
  return a.chosen.kernel == b.chosen.kernel &&
         std::equal(a.chosen.params.begin(), a.chosen.params.end(), b.chosen.params.begin(), b.chosen.params.end());
}

}  // namespace restride::tune
