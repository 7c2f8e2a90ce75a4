// How long one rank takes to plan its part of an exchange, with 64, 1,024 and 4,096 ranks: both distributions checked,
// all pairs of the rank listed, as sender and as receiver. Prints the median and the worst of 200 ranks.
//
//     build/dev/bin/exchange_planning [--json FILE]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "src/distributed/exchange.h"

using namespace restride;
using namespace restride::distributed;

namespace {

struct Case {
  const char* name;
  std::string src, dst;
};

std::vector<Case> cases(int ranks) {
  const int n = ranks == 64 ? 8 : ranks == 1024 ? 32 : 64;
  const std::string p = std::to_string(ranks), q = std::to_string(n);
  const std::string grid = "(" + q + "," + q + ")";
  return {
      {"rows to columns", "(65536,65536) as (block[0],*) over (" + p + ")",
       "(65536,65536) as (*,block[0]) over (" + p + ")"},
      {"pencils", "(4099,4111,4127) as (block[0],block[1],*) over " + grid,
       "(4099,4111,4127) as (*,block[0],block[1]) over " + grid},
      {"cyclic 64 to 96", "(200000,200000) as (cyclic:64[0],cyclic:64[1]) over " + grid,
       "(200000,200000) as (cyclic:96[0],cyclic:96[1]) over " + grid},
      {"replicas", "(65536,65536) as (block[1],*) over " + grid, "(65536,65536) as (*,ceil[0]) over " + grid},
  };
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(": ") + 2);
  return "unknown";
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kRanksTimed = 200;
  std::string json;
  std::printf("%6s  %-16s %12s %12s %8s\n", "ranks", "case", "median ms", "worst ms", "pairs");
  for (int ranks : {64, 1024, 4096}) {
    for (const Case& c : cases(ranks)) {
      std::vector<double> ms;
      std::size_t pairs = 0;
      for (int i = 0; i < kRanksTimed; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        const Distribution src = parse_distribution(c.src), dst = parse_distribution(c.dst);
        const Exchange x(src, DType::kF32, dst, DType::kF32);
        const int rank = i * 37 % ranks;
        pairs = std::max(pairs, x.impl().sends(rank).size() + x.impl().receives(rank).size());
        ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
      }
      std::sort(ms.begin(), ms.end());
      std::printf("%6d  %-16s %12.3f %12.3f %8zu\n", ranks, c.name, ms[ms.size() / 2], ms.back(), pairs);
      char line[160];
      std::snprintf(line, sizeof line,
                    "  {\"ranks\": %d, \"case\": \"%s\", \"median_ms\": %.4f, \"worst_ms\": %.4f, \"pairs\": %zu}",
                    ranks, c.name, ms[ms.size() / 2], ms.back(), pairs);
      json += std::string(json.empty() ? "" : ",\n") + line;
    }
  }
  if (argc == 3 && std::string(argv[1]) == "--json")
    std::ofstream(argv[2]) << "{\n \"cpu\": \"" << cpu_model() << "\",\n \"ranks_timed\": " << kRanksTimed
                           << ",\n \"cases\": [\n"
                           << json << "\n ]\n}\n";
}
