#include "src/api/measure.h"

#include <fmt/format.h>
#include <hwy/targets.h>

#include <algorithm>
#include <limits>

#include "src/api/plan_impl.h"
#include "src/cpu/scratch.h"
#include "src/cuda/runtime/scratch.h"

namespace restride::api {
namespace {

using plan::Candidate;
using plan::Decision;

constexpr int kRounds = 7;           // the median of so many samples counts
constexpr double kSampleNs = 100e3;  // one sample lasts about so long
constexpr double kWorthIt = 0.98;    // the planner's choice stays unless another takes less than this share of its time

/// A layout as records name it: at the offset that copies of a moving slice have in common.
std::string text_of(Layout layout) {
  layout.offset_bytes &= kOffsetPeriod - 1;
  return to_string(layout);
}

/// What a record is valid for: the machine as planning sees it, and the two sides.
std::string key_of(const Plan::Impl& p, const Options& options) {
  std::string machine;
  if (p.decision.device == DeviceKind::kCuda) {
    const cuda::CudaMachine m = cuda_machine(p.cuda_device);
    machine = fmt::format("cuda sm_{}{} {} multiprocessors", m.cc_major, m.cc_minor, m.sm_count);
  } else {
    const std::int64_t isas = hwy::SupportedTargets() & HWY_TARGETS;  // better ones have lower bits
    machine = fmt::format("cpu {} {} thread{}", hwy::TargetName(isas & -isas), p.threads, p.threads == 1 ? "" : "s");
    if (options.fresh_destination != FreshDestination::kOff) machine += " fresh";
    if (options.result != ResultUse::kUnknown)
      machine += options.result == ResultUse::kSoon ? " read soon" : " read later";
  }
  return fmt::format("{} | {} -> {} | align {} -> {}", machine, text_of(p.src), text_of(p.dst), p.src_align,
                     p.dst_align);
}

std::map<std::string, std::int64_t> params_of(const Candidate& k) {
  std::map<std::string, std::int64_t> out;
  for (const plan::Param& q : k.params) out[std::string(plan::name(q.id))] = q.value;
  return out;
}

/// The candidates that apply, the planner's choice first.
std::vector<Candidate> candidates_of(const Decision& d) {
  std::vector<Candidate> out{d.chosen};
  for (const Candidate& k : d.others)
    if (k.applies) out.push_back(k);
  return out;
}

/// `decision` with candidate `winner` chosen and the others behind it, fastest first.
Decision reordered(const Decision& decision, std::vector<Candidate> all, std::size_t winner) {
  Decision out = decision;
  out.chosen = all[winner];
  out.chosen.reason = "fastest when measured";
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(winner));
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.measured_ns < b.measured_ns; });
  out.others.clear();
  for (Candidate& k : all) {
    k.reason = "slower when measured";
    out.others.push_back(k);
  }
  for (const Candidate& k : decision.others)
    if (!k.applies) out.others.push_back(k);
  return out;
}

std::size_t fastest(const std::vector<Candidate>& all) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i].measured_ns < all[best].measured_ns) best = i;
  return all[best].measured_ns < all[0].measured_ns * kWorthIt ? best : 0;
}

/// Fills in measured_ns from a record; false when the record does not name all of the candidates.
bool recall(std::vector<Candidate>& all, const std::vector<MeasuredCandidate>& record) {
  for (Candidate& k : all) {
    const auto params = params_of(k);
    const auto found = std::find_if(record.begin(), record.end(), [&](const MeasuredCandidate& r) {
      return r.kernel == k.kernel.text && r.params == params;
    });
    if (found == record.end()) return false;
    k.measured_ns = found->time_ns;
  }
  return true;
}

base::ScratchSide side(const Layout& layout, std::int64_t align) {
  const auto [first, last] = byte_range(layout);
  return {first, last, align};
}

/// Fills in measured_ns by running every candidate, in turns, so that a machine that slows down slows all of them.
void measure(const Plan::Impl& p, const Options& options, std::vector<Candidate>& all) {
  const base::ScratchSide dst = side(p.dst, p.dst_align);
  const base::ScratchSide src = side(p.src, p.src_align);
  const auto scratch =
      p.decision.device == DeviceKind::kCuda ? cuda::scratch(p.cuda_device, dst, src) : cpu::scratch(dst, src);
  std::vector<base::Scratch::Copy> copies;
  for (const Candidate& k : all) {
    Decision d = p.decision;
    d.chosen = k;
    copies.push_back([plan = with_decision(p, d), to = scratch->dst(), from = scratch->src(),
                      executor = options.executor](void* stream) {
      return run_plan(*plan, to, from, executor, plan->threads, stream);
    });
  }
  // A fast wrong kernel must not win. This also loads and warms every candidate.
  const std::uint64_t right = scratch->fingerprint(copies[0]);
  for (std::size_t i = 1; i < all.size(); ++i)
    if (scratch->fingerprint(copies[i]) != right)
      throw InternalError(fmt::format("kernels '{}' and '{}' write different bytes for {} -> {}; please report this",
                                      all[0].kernel.text, all[i].kernel.text, to_string(p.src), to_string(p.dst)));
  std::vector<std::vector<double>> samples(all.size());
  std::vector<int> repeats(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double once = std::max(scratch->time_ns(copies[i], 1), 10.0);
    repeats[i] = static_cast<int>(std::clamp(kSampleNs / once, 1.0, 1000.0));
  }
  for (int round = 0; round < kRounds; ++round)
    for (std::size_t i = 0; i < all.size(); ++i) samples[i].push_back(scratch->time_ns(copies[i], repeats[i]));
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::nth_element(samples[i].begin(), samples[i].begin() + kRounds / 2, samples[i].end());
    all[i].measured_ns = samples[i][kRounds / 2];
  }
}

std::vector<MeasuredCandidate> record_of(const std::vector<Candidate>& all) {
  std::vector<MeasuredCandidate> out;
  out.reserve(all.size());
  for (const Candidate& k : all) out.push_back({std::string(k.kernel.text), params_of(k), k.measured_ns});
  return out;
}

}  // namespace

void choose_by_time(Plan::Impl& p, const Options& options) {
  if ((!options.measure && options.measurements == nullptr) || !options.family.empty() || p.canonical.units == 0)
    return;
  if (p.decision.device == DeviceKind::kCuda && p.cuda_device == kModelDevice) return;  // a model has no clock
  std::vector<Candidate> all = candidates_of(p.decision);
  if (all.size() < 2) return;
  Measurements::State* kept = options.measurements != nullptr ? &options.measurements->state() : nullptr;
  const std::string key = key_of(p, options);
  bool known = false;
  if (kept != nullptr) {
    const std::lock_guard lock(kept->mutex);
    const auto found = kept->records.find(key);
    known = found != kept->records.end() && recall(all, found->second);
  }
  if (!known) {
    if (!options.measure) return;
    measure(p, options, all);
    if (kept != nullptr) {
      const std::lock_guard lock(kept->mutex);
      kept->records[key] = record_of(all);
      ++kept->generation;
    }
  }
  p.decision = reordered(p.decision, all, fastest(all));
}

}  // namespace restride::api
