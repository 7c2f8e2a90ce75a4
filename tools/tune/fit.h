// The fit of `restride tune`: the numbers of a processor or a GPU, one after the other, by the times of the plans that
// they lead to.
//
// A number matters only through what planning decides with it. So a number is changed, every layout is planned again,
// and the layouts that are now planned otherwise are timed both ways. Nothing is known of what a number means, and a
// time is taken once for each plan of a layout.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "src/layout/canonical.h"
#include "src/plan/decision.h"
#include "tools/tune/numbers.h"

namespace restride::tune {

/// Times what a decision makes of a layout, here or in a test.
class Clock {
 public:
  virtual ~Clock() = default;
  /// The time of a copy, in plain copies of as many bytes that were made in turns with it.
  virtual double time(std::size_t layout, const plan::Decision& decision) = 0;
  /// True when no more than what is under way should be timed.
  virtual bool is_over() = 0;
};

/// A number that is another one now.
struct Change {
  std::string number;
  double was = 0;
  double is = 0;
  int layouts = 0;  ///< planned otherwise by it
  double gain = 1;  ///< of those, the mean of time before over time after
};

template <class Machine>
struct Fit {
  Machine machine;
  std::vector<Change> changes;
  int timed = 0;          ///< plans
  bool complete = false;  ///< every number was tried
};

/// The numbers, a cpu::CpuMachine's or a Gpu's, with which these layouts are copied fastest, from `start` on. A number
/// changes only where the layouts that it decides gain 2 % and a little more, the more the fewer they are, and gain 2 %
/// when they are timed again, in turns, while none of them loses more than 5 %. So what makes no difference beyond
/// noise stays.
template <class Machine>
Fit<Machine> fit(const Machine& start, std::span<const layout::Canonical> layouts, Clock& clock);

/// The chosen kernel and its parameters.
std::string text(const plan::Decision& d);
/// The same kernel with the same parameters.
bool same_plan(const plan::Decision& a, const plan::Decision& b);

}  // namespace restride::tune
