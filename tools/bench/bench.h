// `restride bench` behind its command line: cases in, table and result file out.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tools/bench/case.h"
#include "tools/bench/runner.h"

namespace restride::bench {

struct Settings {
  std::vector<CaseSpec> own;            ///< cases of the command line, in front of those of files
  std::vector<std::string> case_files;  ///< paths or shipped names; empty: field and ttc57, or only its own
  std::vector<std::string> only;        ///< substrings or globs of names or classes; empty: all
  std::vector<int> threads;             ///< empty: the cores this process may use
  std::vector<std::string> dtypes;      ///< elements to run cases without a cast with; empty: their own
  double max_mib = 0;                   ///< 0: no cap
  std::string device = "cpu";
  bool huge_pages = false;  ///< tensors of the CPU in huge pages
  bool fresh = false;       ///< destinations of the CPU without pages
  bool warm = false;        ///< the same memory of the CPU in every call
  int load = 0;             ///< busy loops beside
  std::string json_path;
  bool list = false;
  RunSettings run;
};

/// The cases that the settings name: loaded, filtered, given their classes, elements and sizes. One that cannot be
/// read, built or made small enough says so in its `error`. Errors: IoError and ParseError of a whole file,
/// ArgumentError.
std::vector<Case> select_cases(const Settings& settings, std::vector<std::string>& warnings);

/// Runs the benchmark. Returns 0, or 1 when a case failed or its output was wrong. `content`: where not null, what the
/// result file holds then, also where none is written.
int run(const Settings& settings, nlohmann::ordered_json* content = nullptr);

}  // namespace restride::bench
