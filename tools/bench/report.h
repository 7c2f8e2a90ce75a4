// What a run prints: a table while it goes, a summary by class.
#pragma once

#include <string>
#include <vector>

#include "tools/bench/runner.h"

namespace restride::bench {

/// The table's heading and one line a result, without newlines.
std::string table_heading();
std::string table_row(const CaseResult& result);

/// Geometric mean and worst ratio of the cases of one class, device and thread count.
struct ClassSummary {
  std::string case_class;
  int threads = 1;
  int cases = 0;   ///< measured ones
  int failed = 0;  ///< those with an error that is not a skip
  double geometric_mean = 0;
  double worst = 0;
  std::string worst_case;
};

/// One entry a (class, threads), in the order of their first case; the last ones, called "all", are over all.
std::vector<ClassSummary> summarize_classes(const std::vector<CaseResult>& results);
std::string summary_table(const std::vector<ClassSummary>& summaries);

}  // namespace restride::bench
