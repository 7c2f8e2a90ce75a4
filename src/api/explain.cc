// Plans in words and as JSON.
#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "src/api/plan_impl.h"

namespace restride {
namespace {

using json = nlohmann::ordered_json;  // parameters keep the planner's order
using plan::Candidate;

constexpr int kFormat = 1;

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
  const plan::CudaMachine& m = api::cuda_machine(p.cuda_device);
  const std::string chip = fmt::format("sm_{}{}, {} multiprocessors", m.cc_major, m.cc_minor, m.sm_count);
  if (p.cuda_device == kModelDevice) return fmt::format(", no GPU here: planned for a model of an H200 ({})\n", chip);
  return fmt::format(":{}, {}\n", p.cuda_device, chip);
}

template <class Id, class Count>
std::optional<Id> by_name(std::string_view text, Count count) {
  for (int i = 0; i < count; ++i)
    if (plan::name(static_cast<Id>(i)) == text) return static_cast<Id>(i);
  return std::nullopt;
}

/// True when the planner itself offers `family` with these parameters, in any order.
bool offers(const plan::Decision& d, plan::Family family, const plan::Params& params) {
  const auto is = [&](const Candidate& k) {
    return k.applies && k.family == family && k.params.size() == params.size() &&
           std::all_of(k.params.begin(), k.params.end(), [&](const plan::Param& p) {
             return std::find(params.begin(), params.end(), p) != params.end();
           });
  };
  return is(d.chosen) || std::any_of(d.others.begin(), d.others.end(), is);
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

std::string Plan::serialize() const {
  const Impl& p = *impl_;
  json params = json::object();
  for (const plan::Param& q : p.decision.chosen.params) params[std::string(plan::name(q.id))] = q.value;
  json out = {{"restride_plan", kFormat}, {"dst", to_string(p.dst)},
              {"src", to_string(p.src)},  {"dst_align", p.dst_align},
              {"src_align", p.src_align}, {"device", name(p.decision.device)},
              {"threads", p.threads},     {"family", plan::name(p.decision.chosen.family)},
              {"params", params}};
  if (p.cuda_device == kModelDevice) out["model"] = true;
  return out.dump();
}

Plan Plan::deserialize(std::string_view text) {
  const auto fail = [](const std::string& what) -> ParseError {
    return ParseError(fmt::format("plan: {}; use the text that Plan::serialize made", what));
  };
  const json in = json::parse(text, nullptr, false);
  if (in.is_discarded() || !in.is_object()) throw fail("no JSON object");
  const auto integer = [&](const char* key) {
    if (!in.contains(key) || !in[key].is_number_integer()) throw fail(fmt::format("no integer '{}'", key));
    return in[key].get<std::int64_t>();
  };
  const auto string = [&](const char* key) {
    if (!in.contains(key) || !in[key].is_string()) throw fail(fmt::format("no text '{}'", key));
    return in[key].get<std::string>();
  };
  if (integer("restride_plan") != kFormat)
    throw fail(fmt::format("format {} is not {}", integer("restride_plan"), kFormat));
  const Layout dst = parse_layout(string("dst"));
  const Layout src = parse_layout(string("src"));
  const auto family = by_name<plan::Family>(string("family"), plan::kFamilyCount);
  if (!family) throw fail(fmt::format("'{}' is no family", string("family")));
  const std::int64_t threads = integer("threads");
  if (threads < 1 || threads > 4096) throw fail(fmt::format("{} threads", threads));
  if (!in.contains("params") || !in["params"].is_object()) throw fail("no object 'params'");
  plan::Params params;
  for (const auto& [key, value] : in["params"].items()) {
    const auto id = by_name<plan::ParamId>(key, plan::kParamCount);
    if (!id || !value.is_number_integer() || params.full())
      throw fail(fmt::format("'{}' is no integer parameter", key));
    params.push_back({*id, value.get<std::int64_t>()});
  }
  Options options;
  if (*family != plan::Family::kNoop) options.family = plan::name(*family);
  options.threads = static_cast<int>(threads);
  const std::string device = string("device");
  if (device == "cuda") options.device = DeviceKind::kCuda;
  if (in.contains("model")) options.cuda_device = kModelDevice;
  if (device != "cuda" && device != "cpu") throw fail(fmt::format("'{}' is no device", device));
  // Plan afresh with the family forced, then put the recorded parameters in place of the planner's.
  const auto replan = [&] {
    try {
      return api::make_plan(dst, src, options, integer("dst_align"), integer("src_align"));
    } catch (const ArgumentError& e) {  // an alignment or a family that no plan of these layouts has
      throw fail(e.what());
    }
  };
  auto fresh = replan();
  fresh->threads = static_cast<int>(threads);
  plan::Decision decision = fresh->decision;
  if (decision.chosen.family != *family) throw fail("family 'noop' is for copies of nothing");
  // On the CPU any parameters do that fit; a GPU's kernels rely on what the planner has proved of its own.
  if (decision.device == DeviceKind::kCuda && !offers(decision, decision.chosen.family, params))
    throw ParseError(fmt::format("plan: no planner offers family {} with these parameters for {} here; plan again",
                                 plan::name(decision.chosen.family), layout::to_string(fresh->canonical)));
  decision.chosen.params = params;
  return Plan(api::with_decision(*fresh, decision));
}

}  // namespace restride
