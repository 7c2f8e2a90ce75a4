// Measurements as text: one JSON object, one record a copy.
#include <restride/measurements.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include <restride/error.hpp>

#include "src/api/measure.h"
#include "src/base/json_text.h"
#include "src/base/json_value.h"
#include "src/base/text_file.h"
#include "src/base/whole_file.h"

namespace restride {
namespace {

using base::json_quoted;
using base::JsonValue;
constexpr int kFormat = 2;                                     // 1 named families, not kernels
constexpr base::JsonLimits kLimits{base::kMostTextBytes, 16};  // six levels are in use

ParseError broken(const std::string& what) {
  return ParseError(
      fmt::format("measurements: {}; use the text that Measurements::to_json made, or measure again", what));
}

MeasuredCandidate candidate_from(const JsonValue& in) {
  MeasuredCandidate out;
  const JsonValue* kernel = in.find("kernel");
  if (kernel == nullptr || kernel->text() == nullptr) throw broken("a candidate without a kernel");
  const JsonValue* time = in.find("time_ns");
  if (time == nullptr || !time->number()) throw broken("a candidate without a time_ns");
  const JsonValue* params = in.find("params");
  if (params == nullptr || params->object() == nullptr) throw broken("a candidate without params");
  out.kernel = *kernel->text();
  out.time_ns = *time->number();
  if (!(out.time_ns > 0) || !std::isfinite(out.time_ns)) throw broken(fmt::format("a time of {} ns", out.time_ns));
  for (const auto& [name, value] : *params->object()) {
    if (!value.integer()) throw broken(fmt::format("'{}' is no integer parameter", name));
    out.params[name] = *value.integer();
  }
  return out;
}

JsonValue parsed(std::string_view text) {
  try {
    return base::parse_json(text, kLimits);
  } catch (const ParseError& e) {
    throw broken(e.what());
  }
}

std::string candidate_json(const MeasuredCandidate& k) {
  std::string params;
  for (const auto& [name, value] : k.params)
    params += fmt::format("{}{}: {}", params.empty() ? "" : ", ", json_quoted(name), value);
  return fmt::format(R"({{"kernel": {}, "params": {{{}}}, "time_ns": {}}})", json_quoted(k.kernel), params, k.time_ns);
}

}  // namespace

Measurements::Measurements() : state_(std::make_shared<State>()) {}

std::size_t Measurements::size() const {
  const std::lock_guard lock(state_->mutex);
  return state_->records.size();
}

std::string Measurements::to_json() const {
  std::string records;
  const std::lock_guard lock(state_->mutex);
  for (const auto& [key, candidates] : state_->records) {
    std::string list;
    for (const MeasuredCandidate& k : candidates) list += (list.empty() ? "\n   " : ",\n   ") + candidate_json(k);
    records += fmt::format("{}\n  {}: [{}]", records.empty() ? "" : ",", json_quoted(key), list);
  }
  return fmt::format("{{\n \"records\": {{{}}},\n \"restride_measurements\": {}\n}}", records, kFormat);
}

Measurements Measurements::from_json(std::string_view text) {
  const JsonValue in = parsed(text);
  if (in.object() == nullptr) throw broken("no JSON object");
  const JsonValue* format = in.find("restride_measurements");
  if (format == nullptr || format->integer() != kFormat)
    throw ParseError(fmt::format("measurements: not of format {}, which this version reads; measure again", kFormat));
  const JsonValue* records = in.find("records");
  if (records == nullptr || records->object() == nullptr) throw broken("no object 'records'");
  Measurements out;
  for (const auto& [key, list] : *records->object()) {
    if (list.list() == nullptr) throw broken(fmt::format("record '{}' is no list", key));
    std::vector<MeasuredCandidate>& record = out.state_->records[key];
    for (const JsonValue& k : *list.list()) record.push_back(candidate_from(k));
  }
  return out;
}

void Measurements::save(const std::string& path) const {
  const std::string text = to_json();
  base::WholeFile file(path, true);
  file.write(0, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  (void)file.commit(false);  // nobody's file is in the way of one that replaces
}

Measurements Measurements::load(const std::string& path) {
  std::string why;
  const auto text = base::read_text_file(path, &why);
  if (!text) throw IoError(fmt::format("cannot read {}: {}; name a file that Measurements::save made", path, why));
  try {
    return from_json(*text);
  } catch (const ParseError& e) {
    throw ParseError(fmt::format("{}: {}", path, text->empty() ? "it is empty; measure again" : e.what()));
  }
}

}  // namespace restride
