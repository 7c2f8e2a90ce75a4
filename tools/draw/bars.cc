#include "tools/draw/bars.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "src/api/plan_impl.h"

namespace restride::draw {
namespace {

constexpr int kLabel = 11, kKernel = 16, kTime = 10;  // as explain's table has them

struct Part {
  char mark;
  const char* colour;
  double ns;
};

std::string marks(const Part& p, int count, bool coloured) {
  if (count <= 0) return "";
  const std::string run(static_cast<std::size_t>(count), p.mark);
  return coloured ? fmt::format("\x1b[{}m{}\x1b[0m", p.colour, run) : run;
}

}  // namespace

std::string bars(const plan::Decision& d, int columns, bool coloured) {
  std::vector<const plan::Candidate*> bids{&d.chosen};
  for (const plan::Candidate& k : d.others)
    if (k.applies) bids.push_back(&k);
  double most = 0;
  for (const plan::Candidate* k : bids) most = std::max(most, k->predicted.time_ns);
  const int room = columns - kLabel - kKernel - kTime - 1;
  if (most <= 0 || room < 10) return "";
  const char* sector = d.device == DeviceKind::kCpu ? "lines" : "sectors";
  std::string out;
  for (const plan::Candidate* k : bids) {
    const plan::Prediction& t = k->predicted;
    const double sectors = std::max(t.sectors_ns, 0.0), starts = std::max(t.starts_ns, 0.0);
    const Part parts[] = {
        {'=', "34", sectors}, {'+', "35", starts}, {'.', "33", std::max(t.time_ns - sectors - starts, 0.0)}};
    out += fmt::format("{:<{}}{:<{}}{:>{}} ", out.empty() ? "bids" : "", kLabel, k->kernel.text, kKernel,
                       api::in_time_units(t.time_ns), kTime);
    double to = 0;
    int done = 0;
    for (const Part& p : parts) {
      to += p.ns;
      const int end = std::min(static_cast<int>(std::lround(to / most * room)), room);
      out += marks(p, end - done, coloured);
      done = std::max(done, end);
    }
    out += done == 0 ? "|\n" : "\n";
  }
  const Part keys[] = {{'=', "34", 0}, {'+', "35", 0}, {'.', "33", 0}};
  return out + fmt::format("{:<{}}{} {}, {} starts of rows, runs and tiles, {} moving units\n", "marks", kLabel,
                           marks(keys[0], 1, coloured), sector, marks(keys[1], 1, coloured),
                           marks(keys[2], 1, coloured));
}

}  // namespace restride::draw
