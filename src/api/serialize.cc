// Plans as JSON, and back.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "src/api/plan_impl.h"
#include "src/base/json_text.h"
#include "src/base/json_value.h"
#include "src/cpu/share.h"
#include "src/cpu/team/team.h"
#include "src/plan/numbers.h"

namespace restride {
namespace {

using base::JsonValue;
using plan::Candidate;

constexpr int kPlanFormat = 2;                        // 1 named families, not kernels
constexpr base::JsonLimits kPlanLimits{1 << 20, 16};  // the longest plans have some KiB and two levels

ParseError fail(const std::string& what) {
  return ParseError(fmt::format("plan: {}; use the text that Plan::serialize made", what));
}

/// The object that the text is.
JsonValue parsed_object(std::string_view text) {
  try {
    JsonValue in = base::parse_json(text, kPlanLimits);
    if (in.object() == nullptr) throw ParseError("no JSON object");
    return in;
  } catch (const ParseError& e) {
    throw fail(e.what());
  }
}

template <class Id, class Count>
std::optional<Id> by_name(std::string_view text, Count count) {
  for (int i = 0; i < count; ++i)
    if (plan::name(static_cast<Id>(i)) == text) return static_cast<Id>(i);
  return std::nullopt;
}

std::int64_t integer(const JsonValue& in, const char* key) {
  const JsonValue* value = in.find(key);
  const auto n = value != nullptr ? value->integer() : std::nullopt;
  if (!n) throw fail(fmt::format("no integer '{}' of 63 bits", key));
  return *n;
}

const std::string& string(const JsonValue& in, const char* key) {
  const JsonValue* value = in.find(key);
  if (value == nullptr || value->text() == nullptr) throw fail(fmt::format("no text '{}'", key));
  return *value->text();
}

plan::Params params_of(const JsonValue& in) {
  const JsonValue* object = in.find("params");
  if (object == nullptr || object->object() == nullptr) throw fail("no object 'params'");
  plan::Params params;
  for (const auto& [key, value] : *object->object()) {
    const auto id = by_name<plan::ParamId>(key, plan::kParamCount);
    if (!id || !value.integer() || params.full()) throw fail(fmt::format("'{}' is no integer parameter", key));
    params.push_back({*id, *value.integer()});
  }
  return params;
}

/// The machine whose numbers chose the parameters, where it is not the decision's; a text need not name it.
std::string costs_of(const JsonValue& in, const plan::Decision& decision) {
  if (in.find("costs") == nullptr) return {};
  const std::string& name = string(in, "costs");
  if (name.empty() || name.size() > plan::kMostMachineName)
    throw fail(fmt::format("'costs' is no name of 1 to {} bytes", plan::kMostMachineName));
  return name == decision.costs ? std::string() : name;
}

/// How to plan afresh what the text is a plan of.
Options options_of(const JsonValue& in, std::string_view kernel) {
  Options options;
  if (kernel != plan::KernelName{}.text) options.family = kernel;
  const std::int64_t threads = integer(in, "threads");
  if (threads < 1 || threads > cpu::kMostThreads) throw fail(fmt::format("{} threads", threads));
  options.threads = static_cast<int>(threads);
  const std::string& device = string(in, "device");
  if (device == "cuda") options.device = DeviceKind::kCuda;
  if (device != "cuda" && device != "cpu") throw fail(fmt::format("'{}' is no device", device));
  if (in.find("model") != nullptr) options.cuda_device = kModelDevice;
  if (const JsonValue* value = in.find("reshape")) {
    const bool* reshape = std::get_if<bool>(&value->held);
    if (reshape == nullptr) throw fail("'reshape' is neither true nor false");
    options.reshape = *reshape;
  }
  return options;
}

std::shared_ptr<Plan::Impl> plan_afresh(const JsonValue& in, const Layout& dst, const Layout& src,
                                        const Options& options) {
  try {
    return api::make_plan(dst, src, options, integer(in, "dst_align"), integer(in, "src_align"));
  } catch (const ArgumentError& e) {  // an alignment or a kernel that no plan of these layouts has
    throw fail(e.what());
  }
}

/// On the CPU any values do that fit, but of the parameters that the family has here.
void require_same_keys(const Candidate& fresh, const plan::Params& params) {
  const auto has = [](const plan::Params& in, plan::ParamId id) {
    return std::any_of(in.begin(), in.end(), [&](const plan::Param& p) { return p.id == id; });
  };
  for (const plan::Param& p : params)
    if (!has(fresh.params, p.id))
      throw fail(fmt::format("{} has no '{}' for these layouts", fresh.kernel.text, plan::name(p.id)));
  for (const plan::Param& p : fresh.params)
    if (!has(params, p.id)) throw fail(fmt::format("{} needs '{}'", fresh.kernel.text, plan::name(p.id)));
}

/// True when the planner itself offers `kernel` with these parameters, in any order.
bool offers(const plan::Decision& d, std::string_view kernel, const plan::Params& params) {
  const auto is = [&](const Candidate& k) {
    return k.applies && k.kernel.text == kernel && k.params.size() == params.size() &&
           std::all_of(k.params.begin(), k.params.end(), [&](const plan::Param& p) {
             return std::find(params.begin(), params.end(), p) != params.end();
           });
  };
  return is(d.chosen) || std::any_of(d.others.begin(), d.others.end(), is);
}

}  // namespace

std::string Plan::serialize() const {
  const Impl& p = impl();
  std::string params;
  for (const plan::Param& q : p.decision.chosen.params)
    params += fmt::format("{}\"{}\":{}", params.empty() ? "" : ",", plan::name(q.id), q.value);
  // No name and no layout has a character that JSON wants escaped.
  return fmt::format(
      R"({{"restride_plan":{},"dst":"{}","src":"{}","dst_align":{},"src_align":{},"device":"{}","threads":{},)"
      R"("kernel":"{}","params":{{{}}}{},"costs":{}{}}})",
      kPlanFormat, to_string(p.dst), to_string(p.src), p.dst_align, p.src_align, name(p.decision.device), p.threads,
      p.decision.chosen.kernel.text, params, p.reshape ? R"(,"reshape":true)" : "",
      base::json_quoted(p.costs_of.empty() ? p.decision.costs : p.costs_of),
      p.cuda_device == kModelDevice ? R"(,"model":true)" : "");
}

Plan Plan::deserialize(std::string_view text) {
  const JsonValue in = parsed_object(text);
  if (const std::int64_t format = integer(in, "restride_plan"); format != kPlanFormat)
    throw ParseError(fmt::format("plan: it is of format {}, this version reads {}; plan again", format, kPlanFormat));
  const Layout dst = parse_layout(string(in, "dst"));
  const Layout src = parse_layout(string(in, "src"));
  const std::string kernel = string(in, "kernel");
  const plan::Params params = params_of(in);
  const Options options = options_of(in, kernel);
  // The kernel is forced, then the recorded parameters take the place of the planner's.
  const auto fresh = plan_afresh(in, dst, src, options);
  if (fresh->decision.device == DeviceKind::kCpu)  // the text's, also in a parallel region, which allows one
    fresh->threads = cpu::threads_that_pay(fresh->canonical, options.threads);
  plan::Decision decision = fresh->decision;
  if (decision.chosen.kernel.text != kernel) throw fail(fmt::format("'{}' names no kernel of such a copy", kernel));
  if (decision.device == DeviceKind::kCpu) require_same_keys(decision.chosen, params);
  // A GPU's kernels rely on what the planner has proved of its own candidates.
  if (decision.device == DeviceKind::kCuda && !offers(decision, kernel, params))
    throw ParseError(fmt::format("plan: no planner offers {} with these parameters for {} here; plan again", kernel,
                                 layout::to_string(fresh->canonical)));
  decision.chosen.params = params;
  const auto plan = api::with_decision(*fresh, decision);
  plan->costs_of = costs_of(in, decision);
  return Plan(plan);
}

}  // namespace restride
