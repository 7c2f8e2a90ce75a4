// Plans in words.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "src/api/plan_impl.h"

namespace restride {
namespace {

using plan::Candidate;

std::string params_of(const Candidate& k) {
  std::string out;
  for (const plan::Param& p : k.params)
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", plan::name(p.id), p.value);
  return out;
}

/// Four digits and the unit that keeps them in front of the point: 38.15 ms.
std::string in_time_units(double ns) {
  constexpr const char* kUnits[] = {"ns", "us", "ms", "s"};
  int unit = 0;
  for (; unit < 3 && ns >= 999.95; ++unit) ns /= 1000;
  return fmt::format("{:.4g} {}", ns, kUnits[unit]);
}

std::string line_of(const Candidate& k, std::string_view reason, const char* sector) {
  if (!k.applies) return fmt::format("{:<8} does not apply: {}", plan::name(k.family), k.reason);
  std::string out = fmt::format("{:<8} {:>8}", plan::name(k.family), in_time_units(k.predicted.time_ns));
  if (k.measured_ns > 0) out += fmt::format(", measured {}", in_time_units(k.measured_ns));
  if (!k.params.empty()) out += fmt::format("  [{}]", params_of(k));
  out += fmt::format("  {} + {} {} for {} + {} bytes", k.predicted.read_sectors, k.predicted.written_sectors, sector,
                     k.predicted.read_bytes, k.predicted.written_bytes);
  if (!reason.empty()) out += fmt::format("  ({})", reason);
  return out;
}

/// What follows "cuda" in the device line.
std::string gpu_of(const Plan::Impl& p) {
  const plan::CudaMachine m = api::cuda_machine(p.cuda_device);
  const std::string chip = fmt::format("sm_{}{}, {} multiprocessors", m.cc_major, m.cc_minor, m.sm_count);
  if (p.cuda_device == kModelDevice) return fmt::format(", no GPU here: planned for a model of an H200 ({})\n", chip);
  return fmt::format(":{}, {}\n", p.cuda_device, chip);
}

/// What the sectors of a device are called.
const char* sectors_of(const plan::Decision& d) { return d.device == DeviceKind::kCpu ? "lines" : "sectors"; }

}  // namespace

std::string api::why_lost(const plan::Decision& d, const Candidate& k) {
  const bool measured = k.measured_ns > 0 && d.chosen.measured_ns > 0;
  const plan::Prediction &a = d.chosen.predicted, &b = k.predicted;
  const double behind = measured ? k.measured_ns - d.chosen.measured_ns : b.time_ns - a.time_ns;
  if (behind == 0) return "as fast, but not the first of such";
  std::string out = fmt::format("{} {}", in_time_units(std::abs(behind)), behind > 0 ? "behind" : "ahead");
  if (measured) return out + (behind > 0 ? " when measured" : " when measured, too little to leave the prediction");
  if (behind < 0) return out + ", but another was asked for";
  const double sectors_ns = b.sectors_ns - a.sectors_ns, starts_ns = b.starts_ns - a.starts_ns;
  const char* before = ":";
  const auto add = [&](double part_ns, std::string_view what) {
    if (part_ns < 0.1 * behind) return;
    out += fmt::format("{} +{} for {}", before, in_time_units(part_ns), what);
    before = ",";
  };
  const std::int64_t more = b.read_sectors + b.written_sectors - a.read_sectors - a.written_sectors;
  add(sectors_ns, more > 0 ? fmt::format("{} more {}", more, sectors_of(d))
                           : fmt::format("{} again or out of order", sectors_of(d)));
  add(starts_ns, "starts");
  add(behind - sectors_ns - starts_ns, "moving units");
  return out;
}

std::string Plan::explain() const {
  const Impl& p = *impl_;
  const bool cpu = p.decision.device == DeviceKind::kCpu;
  const char* sector = sectors_of(p.decision);
  std::string out = fmt::format("src        {}\ndst        {}\n", to_string(p.src), to_string(p.dst));
  out += fmt::format("canonical  {}\n", layout::to_string(p.canonical));
  out += fmt::format("device     {}", name(p.decision.device));
  out += cpu ? fmt::format(", {} thread{}\n", p.threads, p.threads == 1 ? "" : "s") : gpu_of(p);
  out += fmt::format("chosen     {}\n", line_of(p.decision.chosen, p.decision.chosen.reason, sector));
  const char* others = "others";
  for (const Candidate& k : p.decision.others)
    out += fmt::format("{:<10} {}\n", std::exchange(others, ""), line_of(k, api::why_lost(p.decision, k), sector));
  return out;
}

}  // namespace restride
