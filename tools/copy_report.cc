#include "tools/copy_report.h"

#include <optional>

#include <fmt/format.h>

#include "tools/io/json_text.h"
#include "tools/io/text.h"

namespace restride::tools {
namespace {

std::string in_megabytes(std::int64_t bytes) {
  return bytes < 1'000'000 ? fmt::format("{} bytes", bytes)
                           : fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

std::optional<double> gbps(const CopyReport& r) {
  if (r.bytes < 1'000'000 || r.opening_seconds > r.seconds / 2) return std::nullopt;
  return static_cast<double>(r.bytes) / r.seconds / 1e9;
}

std::string text(const CopyReport& r) {
  std::string out;
  if (r.several) {
    out = fmt::format("{}: {} array{} of {}{}\n", io::escaped(r.output), r.count, r.count == 1 ? "" : "s",
                      io::escaped(r.input), r.dtype.empty() ? "" : ", to " + r.dtype);
    if (!r.kept.empty()) out += fmt::format("not floating point, so kept as they were: {}\n", io::listed(r.kept));
  } else {
    out = fmt::format("{}: {} -> {}\n", io::escaped(r.output), r.arrays[0].input_layout, r.arrays[0].output_layout);
    if (!r.views.empty()) out += in_words(r.views) + "\n";
  }
  const std::optional<double> speed = gbps(r);
  out += fmt::format("{} read and written{} in {:.3f} s{}\n", in_megabytes(r.bytes),
                     r.several ? "" : " by " + r.arrays[0].family, r.seconds,
                     speed ? fmt::format(", {:.2f} GB/s", *speed) : "");
  if (r.sync_seconds > r.seconds / 2 && speed)
    out += fmt::format("{:.3f} s of it until the device had the data (--no-sync does not wait)\n", r.sync_seconds);
  if (r.done.measure_seconds > 0) out += fmt::format("measured for {:.3f} s before\n", r.done.measure_seconds);
  return out;
}

nlohmann::ordered_json json(const CopyReport& r) {
  const std::optional<double> speed = gbps(r);
  nlohmann::ordered_json out;
  out["input"] = r.input;
  out["output"] = r.output;
  const auto put_array = [&](nlohmann::ordered_json& to, const CopiedArray& a) {
    to["input_layout"] = a.input_layout;
    to["output_layout"] = a.output_layout;
    if (!r.several) to["views"] = views_json(r.views);
    to["src"] = to_string(a.src);
    to["dst"] = to_string(a.dst);
  };
  if (r.several) {
    out["arrays"] = nlohmann::ordered_json::array();
    for (const CopiedArray& a : r.arrays) {
      nlohmann::ordered_json row;
      row["name"] = a.name;
      put_array(row, a);
      row["family"] = a.family;
      out["arrays"].push_back(std::move(row));
    }
  } else {
    put_array(out, r.arrays[0]);
  }
  out["device"] = r.device;
  if (!r.several) out["family"] = r.arrays[0].family;
  out["threads"] = r.threads;
  out["bytes"] = r.bytes;
  out["seconds"] = r.seconds;
  out["gbps"] = speed ? nlohmann::ordered_json(*speed) : nlohmann::ordered_json();
  out["opening_seconds"] = r.opening_seconds;
  out["measure_seconds"] = r.done.measure_seconds;
  out["copy_seconds"] = r.done.copy_seconds;
  out["write_seconds"] = r.done.write_seconds;
  out["sync_seconds"] = r.sync_seconds;
  out["pieces"] = r.done.pieces;
  out["buffer_bytes"] = r.done.buffer_bytes;
  return out;
}

}  // namespace

void print_report(const CopyReport& report, bool as_json, std::FILE* to) {
  fmt::print(to, "{}", as_json ? io::json_text(json(report)) + "\n" : text(report));
}

}  // namespace restride::tools
