// Plans in words.
#include <fmt/format.h>

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

std::string line_of(const Candidate& k, const char* sector) {
  if (!k.applies) return fmt::format("{:<8} does not apply: {}", plan::name(k.family), k.reason);
  std::string out = fmt::format("{:<8} {:>8}", plan::name(k.family), in_time_units(k.predicted.time_ns));
  if (k.measured_ns > 0) out += fmt::format(", measured {}", in_time_units(k.measured_ns));
  if (!k.params.empty()) out += fmt::format("  [{}]", params_of(k));
  out += fmt::format("  {} + {} {} for {} + {} bytes", k.predicted.read_sectors, k.predicted.written_sectors, sector,
                     k.predicted.read_bytes, k.predicted.written_bytes);
  if (!k.reason.empty()) out += fmt::format("  ({})", k.reason);
  return out;
}

/// What follows "cuda" in the device line.
std::string gpu_of(const Plan::Impl& p) {
  const plan::CudaMachine m = api::cuda_machine(p.cuda_device);
  const std::string chip = fmt::format("sm_{}{}, {} multiprocessors", m.cc_major, m.cc_minor, m.sm_count);
  if (p.cuda_device == kModelDevice) return fmt::format(", no GPU here: planned for a model of an H200 ({})\n", chip);
  return fmt::format(":{}, {}\n", p.cuda_device, chip);
}

}  // namespace

std::string Plan::explain() const {
  const Impl& p = *impl_;
  const bool cpu = p.decision.device == DeviceKind::kCpu;
  const char* sector = cpu ? "lines" : "sectors";
  std::string out = fmt::format("src        {}\ndst        {}\n", to_string(p.src), to_string(p.dst));
  out += fmt::format("canonical  {}\n", layout::to_string(p.canonical));
  out += fmt::format("device     {}", name(p.decision.device));
  out += cpu ? fmt::format(", {} thread{}\n", p.threads, p.threads == 1 ? "" : "s") : gpu_of(p);
  out += fmt::format("chosen     {}\n", line_of(p.decision.chosen, sector));
  for (std::size_t i = 0; i < p.decision.others.size(); ++i)
    out += fmt::format("{:<10} {}\n", i == 0 ? "others" : "", line_of(p.decision.others[i], sector));
  return out;
}

}  // namespace restride
