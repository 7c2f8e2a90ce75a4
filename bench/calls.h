// What the programs that time single calls share: their table, and their result file.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/bench/machine.h"
#include "tools/io/json_text.h"

namespace restride::bench {

using Work = std::function<void(int)>;  ///< a call; it is told its number

inline double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A row of the table: ours and what it is held against.
struct CallRow {
  std::string name, reference;
  double ns = 1e18, reference_ns = 1e18;
};

/// Both in turns, at least 10 and for 0.6 s; the least of the turns. mean_ns(work): the mean time of some calls.
template <class MeanNs>
CallRow timed(const std::string& name, const Work& ours, const std::string& reference, const Work& theirs,
              const MeanNs& mean_ns) {
  CallRow row{name, reference};
  const double end = now_ns() + 6e8;
  for (int turn = 0; turn < 10 || now_ns() < end; ++turn) {
    row.ns = std::min(row.ns, mean_ns(ours));
    row.reference_ns = std::min(row.reference_ns, mean_ns(theirs));
  }
  return row;
}

/// Ends the program unless the bytes are right.
inline void must_be_right(bool right, const std::string& name) {
  if (right) return;
  std::fprintf(stderr, "wrong bytes in: %s; nothing is timed until the copy is mended\n", name.c_str());
  std::exit(1);
}

inline std::vector<std::uint8_t> random_bytes(std::size_t n) {
  std::mt19937_64 random(std::random_device{}());
  std::vector<std::uint8_t> bytes(n);
  for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(random());
  return bytes;
}

/// The file that --json names, or nothing; ends the program where the arguments are others.
inline std::string json_argument(int argc, char** argv) {
  if (argc == 1) return {};
  if (argc == 3 && std::string_view(argv[1]) == "--json") return argv[2];
  std::fprintf(stderr, "usage: %s [--json FILE]\n", argv[0]);
  std::exit(2);
}

/// Prints the rows, and writes them into `file` if there is one; the exit status. gpu: its name, on a GPU.
inline int report_calls(const std::vector<CallRow>& rows, const std::string& command, const std::string& file,
                        const std::string& gpu = {}) {
  std::printf("%-60s %12s  %-24s %12s %7s\n", gpu.c_str(), "ns", "beside", "ns", "ratio");
  nlohmann::ordered_json calls = nlohmann::ordered_json::array();
  const auto tenths = [](double x) { return std::round(x * 10) / 10; };
  for (const CallRow& r : rows) {
    const double ratio = r.reference_ns / r.ns;
    std::printf("%-60s %12.1f  %-24s %12.1f %7.3f\n", r.name.c_str(), r.ns, r.reference.c_str(), r.reference_ns, ratio);
    calls.push_back({{"name", r.name},
                     {"ns", tenths(r.ns)},
                     {"beside", r.reference},
                     {"beside_ns", tenths(r.reference_ns)},
                     {"ratio", std::round(ratio * 1000) / 1000}});
  }
  if (file.empty()) return 0;
  nlohmann::json machine = describe_cpu();
  machine.update(describe_run());
  if (!gpu.empty()) machine["gpu"] = gpu;
  std::ofstream out(file);
  out << io::json_rows(nlohmann::ordered_json{
             {"commit", commit()}, {"command", command + " --json"}, {"machine", machine}, {"calls", calls}})
      << '\n';
  out.close();
  if (out.good()) return 0;
  std::fprintf(stderr, "%s cannot be written; name a file in a folder that is there\n", file.c_str());
  return 1;
}

}  // namespace restride::bench
