// Plans in words.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "src/api/machines.h"
#include "src/api/plan_impl.h"
#include "src/layout/describe.h"

namespace restride {
namespace {

using api::in_time_units;
using plan::Candidate;

constexpr std::size_t kColumns = 100;
constexpr std::size_t kLabel = 11;   // the width of "canonical  "
constexpr std::size_t kKernel = 16;  // of a kernel's name behind it

/// Where a line that may have `room` columns ends: behind its last space, else its last comma, else where it must.
std::size_t break_of(std::string_view text, std::size_t room) {
  if (text.size() <= room) return text.size();
  for (const char mark : {' ', ','})
    if (const std::size_t at = text.rfind(mark, mark == ' ' ? room : room - 1); at != std::string_view::npos && at > 0)
      return at + 1;
  return room;
}

/// `start`, and behind it `text` in lines of 100 columns that begin at column `indent`.
std::string lines_of(std::string start, std::size_t indent, std::string_view text) {
  std::string out;
  start.resize(std::max(start.size(), indent), ' ');
  do {
    const std::size_t end = break_of(text, kColumns - start.size());
    out += start;
    out += text.substr(0, end);
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
    text.remove_prefix(end);
    start.assign(indent, ' ');
  } while (!text.empty());
  return out;
}

std::string labelled(std::string_view label, std::string_view text) {
  return lines_of(std::string(label), kLabel, text);
}

/// A line about a kernel: text behind its name.
std::string of_kernel(std::string_view label, const Candidate& k, std::string_view text) {
  return lines_of(fmt::format("{:<{}}{:<{}} ", label, kLabel, k.kernel.text, kKernel - 1), kLabel + kKernel, text);
}

std::string params_of(const Candidate& k) {
  std::string out;
  for (const plan::Param& p : k.params)
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", plan::name(p.id), p.value);
  return out;
}

/// Those that say something, with commas between them.
std::string joined(std::vector<std::string> parts) {
  std::erase(parts, "");
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Whose numbers made the plan.
std::string costs_of(const Plan::Impl& p) {
  return fmt::format("by the costs of {}", p.costs_of.empty() ? p.decision.costs : p.costs_of);
}

/// What follows "cpu" in the device line.
std::string cpu_of(const Plan::Impl& p) {
  return fmt::format(", {} thread{}, {}", p.threads, p.threads == 1 ? "" : "s", costs_of(p));
}

/// What follows "cuda" in the device line.
std::string gpu_of(const Plan::Impl& p) {
  const cuda::CudaMachine m = api::cuda_machine(p.cuda_device);
  const std::string chip = fmt::format("sm_{}{}, {} multiprocessors", m.cc_major, m.cc_minor, m.sm_count);
  if (p.cuda_device == kModelDevice) return fmt::format(", planned for a model of an H200 ({})", chip);
  return fmt::format(":{}, {}, {}", p.cuda_device, chip, costs_of(p));
}

/// What a sector of a device is called.
const char* sector_of(const plan::Decision& d) { return d.device == DeviceKind::kCpu ? "line" : "sector"; }

/// How far a candidate is behind the chosen one, and the parts that this is made of.
struct Gap {
  bool measured = false;  ///< by what was measured; then the parts, which are predicted, are not of it
  double behind_ns = 0;
  double sectors_ns = 0;
  double starts_ns = 0;
  double units_ns = 0;
};

Gap gap_of(const plan::Decision& d, const Candidate& k) {
  const plan::Prediction &a = d.chosen.predicted, &b = k.predicted;
  if (k.measured_ns > 0 && d.chosen.measured_ns > 0) return {true, k.measured_ns - d.chosen.measured_ns, 0, 0, 0};
  const double behind = b.time_ns - a.time_ns;
  const double sectors = b.sectors_ns - a.sectors_ns, starts = b.starts_ns - a.starts_ns;
  return {false, behind, sectors, starts, behind - sectors - starts};
}

/// Bytes, and the sectors that they lie in. Sectors that hold half as much again say how many times the bytes they are.
std::string in_sectors(std::int64_t bytes, std::int64_t sectors, const plan::Decision& d) {
  constexpr std::int64_t kTold = 4096;  // of fewer bytes the ends of runs make most of it
  std::string out = fmt::format("{} in {}", layout::counted(bytes, "byte"), layout::counted(sectors, sector_of(d)));
  const double times = static_cast<double>(sectors) * (d.device == DeviceKind::kCpu ? 64 : 32) /
                       static_cast<double>(std::max<std::int64_t>(bytes, 1));
  return bytes >= kTold && times >= 1.5 ? out + fmt::format(" ({:.1f} times the bytes)", times) : out;
}

std::string traffic_of(const plan::Decision& d) {
  const plan::Prediction& p = d.chosen.predicted;
  return fmt::format("reads {}, writes {}", in_sectors(p.read_bytes, p.read_sectors, d),
                     in_sectors(p.written_bytes, p.written_sectors, d));
}

/// The candidates' times in columns; behind them what else is to be said of a candidate.
class TimeTable {
 public:
  explicit TimeTable(const plan::Decision& d) : d_(d), measured_(d.chosen.measured_ns > 0) {
    for (const Candidate& k : d.others) {
      if (!k.applies) continue;
      const Gap gap = gap_of(d, k);
      measured_ = measured_ || k.measured_ns > 0;
      in_parts_ = in_parts_ || !gap.measured;
      asked_for_ = asked_for_ || (!gap.measured && gap.behind_ns < 0);
    }
  }

  std::string heading() const {
    std::string out = fmt::format("{:{}}{:>9}", "", kLabel + kKernel, "time");
    if (measured_) out += "  measured";
    out += fmt::format("{:>10}", "behind");
    if (in_parts_) out += fmt::format(" ={:>8}s +{:>8} +{:>8}", sector_of(d_), "starts", "units");
    return out + '\n';
  }

  std::string chosen() const {
    const std::string_view why = d_.chosen.reason.empty() && asked_for_ ? "asked for" : d_.chosen.reason;
    return of_kernel("chosen", d_.chosen, times(d_.chosen) + "  " + joined({std::string(why), params_of(d_.chosen)}));
  }

  std::string loser(std::string_view label, const Candidate& k) const {
    const Gap gap = gap_of(d_, k);
    const auto part = [&](double ns) {
      return std::abs(ns) < 5e-4 * std::abs(gap.behind_ns) ? std::string("-") : in_time_units(ns);
    };
    std::string out = times(k) + fmt::format(" {:>9}", gap.behind_ns == 0 ? "-" : in_time_units(gap.behind_ns));
    if (!gap.measured && gap.behind_ns > 0)
      out += fmt::format(" {:>10} {:>9} {:>9}", part(gap.sectors_ns), part(gap.starts_ns), part(gap.units_ns));
    return of_kernel(label, k, out + "  " + remarks(k, gap));
  }

 private:
  std::string times(const Candidate& k) const {
    std::string out = fmt::format("{:>9}", in_time_units(k.predicted.time_ns));
    if (measured_) out += fmt::format(" {:>9}", k.measured_ns > 0 ? in_time_units(k.measured_ns) : "-");
    return out;
  }

  std::string remarks(const Candidate& k, const Gap& gap) const {
    std::vector<std::string> out;
    if (gap.behind_ns == 0) out.emplace_back("as fast, but not the first of such");
    if (gap.behind_ns < 0 && gap.measured) out.emplace_back("too little to leave the prediction");
    const plan::Prediction &a = d_.chosen.predicted, &b = k.predicted;
    if (a.read_sectors != b.read_sectors) out.push_back("reads " + layout::counted(b.read_sectors, sector_of(d_)));
    if (a.written_sectors != b.written_sectors)
      out.push_back("writes " + layout::counted(b.written_sectors, sector_of(d_)));
    return joined(out);
  }

  const plan::Decision& d_;
  bool measured_;           ///< some were
  bool in_parts_ = false;   ///< some are behind by prediction, which tells the parts
  bool asked_for_ = false;  ///< the chosen one is not the fastest
};

}  // namespace

std::string api::in_time_units(double ns) {
  constexpr const char* kUnits[] = {"ns", "us", "ms", "s"};
  int unit = 0;
  for (; unit < 3 && std::abs(ns) >= 999.95; ++unit) ns /= 1000;
  return fmt::format("{:.4g} {}", ns, kUnits[unit]);
}

std::string api::why_lost(const plan::Decision& d, const Candidate& k) {
  const Gap gap = gap_of(d, k);
  if (gap.behind_ns == 0) return "as fast, but not the first of such";
  const bool slower = gap.behind_ns > 0;
  std::string out = fmt::format("{} {}", in_time_units(std::abs(gap.behind_ns)), slower ? "behind" : "ahead");
  if (gap.measured) return out + (slower ? " when measured" : " when measured, too little to leave the prediction");
  if (!slower) return out + ", but another was asked for";
  const char* before = ":";
  const auto add = [&](double part_ns, std::string_view what) {
    if (part_ns < 0.1 * gap.behind_ns) return;
    out += fmt::format("{} +{} for {}", before, in_time_units(part_ns), what);
    before = ",";
  };
  const plan::Prediction &a = d.chosen.predicted, &b = k.predicted;
  const std::int64_t more = b.read_sectors + b.written_sectors - a.read_sectors - a.written_sectors;
  add(gap.sectors_ns, more > 0 ? fmt::format("{} more {}s", more, sector_of(d))
                               : fmt::format("{}s again or out of order", sector_of(d)));
  add(gap.starts_ns, "starts");
  add(gap.units_ns, "moving units");
  return out;
}

std::string Plan::explain() const {
  const Impl& p = impl();
  const plan::Decision& d = p.decision;
  const bool cpu = d.device == DeviceKind::kCpu;
  std::string out = labelled("src", to_string(p.src)) + labelled("dst", to_string(p.dst));
  out += labelled("canonical", layout::to_string(p.canonical));
  const std::string where = cpu ? cpu_of(p) : gpu_of(p);
  out += labelled("device", std::string(name(d.device)) + where);
  if (const api::Machines& machines = api::machines(); !machines.error.empty())
    out += labelled("", fmt::format("{} is not used: {}", machines.path, machines.error));
  out += labelled("traffic", traffic_of(d));

  const TimeTable table(d);
  std::string losers, unfit;
  for (const Candidate& k : d.others) {
    if (k.applies)
      losers += table.loser(losers.empty() ? "others" : "", k);
    else
      unfit += of_kernel("", k, k.reason);
  }
  if (!losers.empty()) out += table.heading();
  out += table.chosen() + losers;
  return unfit.empty() ? out : out + "do not apply\n" + unfit;
}

}  // namespace restride
