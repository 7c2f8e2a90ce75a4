#include "tools/bench/report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace restride::bench {
namespace {

std::string time_text(double ns) {
  if (ns <= 0) return "-";
  if (ns < 1e4) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e7) return fmt::format("{:.1f} us", ns / 1e3);
  return fmt::format("{:.2f} ms", ns / 1e6);
}

}  // namespace

std::string table_heading() {
  return fmt::format("{:<30} {:<16} {:>3} {:>8} {:>10} {:>8} {:>8} {:>6} {:>6} {:>9} {:<5} {}", "name", "kernel", "thr",
                     "MB", "median", "GB/s", "ceiling", "ratio", "noise", "plan", "check", "layouts");
}

std::string table_row(const CaseResult& r) {
  const std::string layouts = r.src.empty() ? "" : r.src + " -> " + r.dst;
  if (!r.error.empty())
    return fmt::format("{:<30} {:<16} {:>3} {}: {}   {}", r.name, r.kernel, r.threads, r.skipped ? "skipped" : "FAILED",
                       r.error, layouts);
  std::string row = fmt::format(
      "{:<30} {:<16} {:>3} {:>8.1f} {:>10} {:>8.2f} {:>8.2f} {:>6.3f} {:>5.1f}% {:>9} {:<5} {}", r.name, r.kernel,
      r.threads, static_cast<double>(r.bytes) / 1e6, time_text(r.time.median_ns), r.gbps(), r.ceiling_gbps(), r.ratio(),
      100 * r.time.noise, time_text(r.plan_ns), r.checked ? "yes" : "no", layouts);
  if (r.copy_ns > 0)
    row += fmt::format("\n{:<30} through copy() {}{}", "", time_text(r.copy_ns),
                       r.floor_ns > 0 ? fmt::format(", an empty kernel {}", time_text(r.floor_ns)) : "");
  for (const auto& [name, ratio] : r.peers) row += fmt::format("\n{:<30} {:<20} {:>43.3f}", "", name, ratio);
  for (const auto& [name, note] : r.peer_notes) row += fmt::format("\n{:<30} {:<20} {}", "", name, note);
  return row;
}

std::vector<ClassSummary> summarize_classes(const std::vector<CaseResult>& results) {
  std::vector<ClassSummary> out;
  const auto add = [&out](const CaseResult& r, const std::string& case_class) {
    ClassSummary* s = nullptr;
    for (ClassSummary& candidate : out)
      if (candidate.case_class == case_class && candidate.threads == r.threads) s = &candidate;
    if (s == nullptr) {
      out.push_back({case_class, r.threads, 0, 0, 0, 0, ""});
      s = &out.back();
    }
    if (!r.error.empty() && !r.skipped) ++s->failed;
    const double ratio = r.ratio();
    if (!r.error.empty() || ratio <= 0) return;
    s->geometric_mean += std::log(ratio);  // a sum of logarithms until the end
    if (s->cases++ == 0 || ratio < s->worst) {
      s->worst = ratio;
      s->worst_case = r.name;
    }
  };
  for (const CaseResult& r : results)
    if (!r.case_class.empty()) add(r, r.case_class);
  for (const CaseResult& r : results) add(r, "all");
  for (ClassSummary& s : out) s.geometric_mean = s.cases > 0 ? std::exp(s.geometric_mean / s.cases) : 0;
  return out;
}

std::string summary_table(const std::vector<ClassSummary>& summaries) {
  std::string out =
      fmt::format("{:<30} {:>3} {:>6} {:>9} {:>7}  {}", "class", "thr", "cases", "geo.mean", "worst", "worst case");
  const auto ratio = [](const ClassSummary& s, double value) {
    return s.cases > 0 ? fmt::format("{:.3f}", value) : "-";
  };
  for (const ClassSummary& s : summaries) {
    out += fmt::format("\n{:<30} {:>3} {:>6} {:>9} {:>7}  {}", s.case_class, s.threads, s.cases,
                       ratio(s, s.geometric_mean), ratio(s, s.worst), s.worst_case);
    if (s.failed > 0) out += fmt::format("  ({} FAILED)", s.failed);
  }
  return out;
}

}  // namespace restride::bench
