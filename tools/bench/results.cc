#include "tools/bench/results.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include <restride/error.hpp>

#include "tools/bench/report.h"
#include "tools/io/file.h"
#include "tools/io/json_text.h"
#include "tools/io/report_file.h"
#include "tools/io/text.h"

namespace restride::bench {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* kTellsMachines[] = {"cpu", "cache_bytes", "gpu"};

double rounded(double value, int decimals) {
  const double scale = std::pow(10.0, decimals);
  return std::round(value * scale) / scale;
}

json case_json(const CaseResult& r) {
  json out = {{"name", r.name},
              {"class", r.case_class},
              {"src", r.src},
              {"dst", r.dst},
              {"kernel", r.kernel},
              {"ratio", rounded(r.ratio(), 4)},
              {"gbps", rounded(r.gbps(), 3)},
              {"ceiling_gbps", rounded(r.ceiling_gbps(), 3)},
              {"ceiling_by", r.ceiling_by},
              {"median_ns", rounded(r.time.median_ns, 1)},
              {"noise", rounded(r.time.noise, 4)},
              {"ceiling_noise", rounded(r.ceiling.noise, 4)},
              {"bytes", r.bytes},
              {"useful_bytes", r.useful_bytes},
              {"plan_threads", r.plan_threads},
              {"plan_ns", rounded(r.plan_ns, 0)},
              {"checked", r.checked}};
  if (r.loaded) {
    out["p95_ns"] = rounded(r.time.p95_ns, 1);
    out["ceiling_p95_ns"] = rounded(r.ceiling.p95_ns, 1);
  }
  if (r.copy_ns > 0) out["copy_ns"] = rounded(r.copy_ns, 1);
  if (r.floor_ns > 0) out["floor_ns"] = rounded(r.floor_ns, 1);
  if (r.scaled) out["scaled"] = true;
  if (!r.error.empty()) out[r.skipped ? "skipped" : "error"] = r.error;
  for (const auto& [name, ratio] : r.peers) out["peers"][name] = rounded(ratio, 4);
  if (!r.peer_notes.empty()) out["peer_notes"] = r.peer_notes;
  return out;
}

json summary_json(const ClassSummary& s) {
  return {{"class", s.case_class},        {"cases", s.cases},
          {"failed", s.failed},           {"geometric_mean", rounded(s.geometric_mean, 4)},
          {"worst", rounded(s.worst, 4)}, {"worst_case", s.worst_case}};
}

bool measure_the_same(const json& a, const json& b) {
  const auto same = [&](const char* key) { return a.value(key, json()) == b.value(key, json()); };
  return same("case_files") && same("device") && same("threads") && same("options");
}

bool is_run(const json& run) {
  if (!run.is_object() || !run.contains("machine") || !run["machine"].is_object() || !run.contains("cases") ||
      !run["cases"].is_array())
    return false;
  return std::all_of(run["cases"].begin(), run["cases"].end(), [](const json& c) {
    return c.is_object() && (c.contains("median_ns") || c.contains("error") || c.contains("skipped"));
  });
}

/// Two machines are one where all agrees that both tell. A run on the CPU does not say which GPU is there.
bool same_machine(const json& a, const json& b) {
  return std::all_of(std::begin(kTellsMachines), std::end(kTellsMachines),
                     [&](const char* key) { return !a.contains(key) || !b.contains(key) || a[key] == b[key]; });
}

std::string named(const json& machine) {
  std::string out;
  for (const char* key : kTellsMachines)
    if (machine.contains(key))
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", key, io::json_text(machine[key], -1));
  return io::escaped(out);
}

}  // namespace

json run_json(const RunInfo& info, const std::vector<CaseResult>& results) {
  json files = json::array();
  for (const std::string& file : info.case_files) files.push_back(std::filesystem::path(file).stem().string());
  json out = {{"case_files", std::move(files)}, {"device", info.device},    {"threads", info.threads},
              {"options", info.options},        {"commit", info.commit},    {"command", info.command},
              {"machine", info.machine},        {"summary", json::array()}, {"cases", json::array()}};
  for (const ClassSummary& s : summarize_classes(results)) out["summary"].push_back(summary_json(s));
  for (const CaseResult& r : results) out["cases"].push_back(case_json(r));
  return out;
}

bool is_result_file(const json& file) {
  if (!file.is_object() || !file.contains("runs") || !file["runs"].is_array() || file["runs"].empty()) return false;
  return std::all_of(file["runs"].begin(), file["runs"].end(), is_run);
}

ResultFile::ResultFile(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  stream_ = io::is_stream(path_);
  if (json older = io::require_report(path_, is_result_file); !older.is_null()) content_ = std::move(older);
}

void ResultFile::require_machine(const json& machine) const {
  for (const json& run : content_["runs"])
    if (!same_machine(run["machine"], machine))
      throw IoError(fmt::format("{} holds results of another machine ({}; this one is {}); name another file", path_,
                                named(run["machine"]), named(machine)));
}

void ResultFile::put(json run) {
  json& runs = content_["runs"];
  const auto older = std::find_if(runs.begin(), runs.end(), [&](const json& r) { return measure_the_same(r, run); });
  if (older != runs.end())
    *older = std::move(run);
  else
    runs.push_back(std::move(run));
  if (!stream_) write();
}

void ResultFile::finish() const {
  if (stream_) write();
}

void ResultFile::write() const {
  if (!path_.empty()) io::write_report(path_, io::json_rows(content_) + "\n");
}

}  // namespace restride::bench
