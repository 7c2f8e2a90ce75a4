// Measurements as text: one JSON object, one record a copy.
#include <restride/measurements.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include <restride/error.hpp>

#include "src/api/measure.h"
#include "src/base/text_file.h"
#include "src/base/whole_file.h"

namespace restride {
namespace {

using nlohmann::json;
constexpr int kFormat = 1;

ParseError broken(const std::string& what) {
  return ParseError(
      fmt::format("measurements: {}; use the text that Measurements::to_json made, or measure again", what));
}

MeasuredCandidate candidate_from(const json& in) {
  MeasuredCandidate out;
  if (!in.is_object() || !in.contains("family") || !in["family"].is_string())
    throw broken("a candidate without a family");
  if (!in.contains("time_ns") || !in["time_ns"].is_number()) throw broken("a candidate without a time_ns");
  if (!in.contains("params") || !in["params"].is_object()) throw broken("a candidate without params");
  out.family = in["family"].get<std::string>();
  out.time_ns = in["time_ns"].get<double>();
  if (!(out.time_ns > 0) || !std::isfinite(out.time_ns)) throw broken(fmt::format("a time of {} ns", out.time_ns));
  for (const auto& [name, value] : in["params"].items()) {
    if (!value.is_number_integer()) throw broken(fmt::format("'{}' is no integer parameter", name));
    out.params[name] = value.get<std::int64_t>();
  }
  return out;
}

}  // namespace

Measurements::Measurements() : state_(std::make_shared<State>()) {}

std::size_t Measurements::size() const {
  const std::lock_guard lock(state_->mutex);
  return state_->records.size();
}

std::string Measurements::to_json() const {
  json records = json::object();
  {
    const std::lock_guard lock(state_->mutex);
    for (const auto& [key, candidates] : state_->records) {
      json list = json::array();
      for (const MeasuredCandidate& k : candidates)
        list.push_back({{"family", k.family}, {"params", k.params}, {"time_ns", k.time_ns}});
      records[key] = list;
    }
  }
  return json{{"restride_measurements", kFormat}, {"records", records}}.dump(1);
}

Measurements Measurements::from_json(std::string_view text) {
  const json in = json::parse(text, nullptr, false);
  if (in.is_discarded() || !in.is_object()) throw broken("no JSON object");
  if (!in.contains("restride_measurements") || in["restride_measurements"] != kFormat)
    throw broken(fmt::format("not format {}", kFormat));
  if (!in.contains("records") || !in["records"].is_object()) throw broken("no object 'records'");
  Measurements out;
  for (const auto& [key, list] : in["records"].items()) {
    if (!list.is_array()) throw broken(fmt::format("record '{}' is no list", key));
    std::vector<MeasuredCandidate>& record = out.state_->records[key];
    for (const json& k : list) record.push_back(candidate_from(k));
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
