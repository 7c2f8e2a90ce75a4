// Measurements as text: one JSON object, one record a copy.
#include <restride/measurements.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include <restride/error.hpp>

#include "src/api/measure.h"
#include "src/base/text_file.h"

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

namespace fs = std::filesystem;

[[noreturn]] void cannot_write(const fs::path& path, const std::string& why) {
  throw IoError(fmt::format("cannot write {}: {}; name a file in a folder that you may write to", path.string(), why));
}

/// The file behind `path`, links followed, also when it does not exist yet. Errors: IoError: it is no regular file.
fs::path target_of(fs::path path) {
  constexpr int kMaxLinks = 40;  // as Linux
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) cannot_write(path, "it is no regular file");
  for (int links = 0; fs::is_symlink(fs::symlink_status(path, error)); ++links) {
    const fs::path to = fs::read_symlink(path, error);
    if (error || links == kMaxLinks) cannot_write(path, error ? error.message() : std::strerror(ELOOP));
    path = path.parent_path() / to;
  }
  return path;
}

/// Written beside and renamed, so that a reader sees the old file or the new one, never half of one.
void replace_file(const fs::path& path, const std::string& text) {
  static std::atomic<unsigned> serial{0};  // threads may save at once
  std::string beside;
  int fd = -1;
  for (int attempt = 0; fd < 0 && attempt < 100; ++attempt) {
    beside = fmt::format("{}.restride-{}-{}", path.string(), ::getpid(), serial++);
    fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST) break;
  }
  if (fd < 0) cannot_write(path, std::strerror(errno));
  struct stat old {};
  if (::stat(path.c_str(), &old) == 0) (void)::fchmod(fd, old.st_mode & 07777);
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t n = ::write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno != EINTR) break;
    at += n < 0 ? 0 : static_cast<std::size_t>(n);
  }
  int reason = at < text.size() ? errno : 0;
  if (::close(fd) != 0 && reason == 0) reason = errno;
  if (reason == 0 && ::rename(beside.c_str(), path.c_str()) == 0) return;
  if (reason == 0) reason = errno;
  (void)::unlink(beside.c_str());
  cannot_write(path, std::strerror(reason));
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

void Measurements::save(const std::string& path) const { replace_file(target_of(path), to_json()); }

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
