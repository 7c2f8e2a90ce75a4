// What `restride copy` tells when it is done.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/io/stream_copy.h"
#include "tools/view_options.h"

namespace restride::tools {

/// One array of the copy.
struct CopiedArray {
  std::string name;
  std::string input_layout, output_layout;
  Layout dst, src;  ///< what moved
  std::string family;
};

struct CopyReport {
  std::string input, output;
  std::vector<CopiedArray> arrays;  ///< of several copied together: only for JSON
  bool several = false;
  std::size_t count = 1;          ///< of arrays
  std::vector<std::string> kept;  ///< arrays that no cast was meant for, as "name (dtype)"
  std::string dtype;              ///< that the others were converted to; empty: none were
  std::vector<ViewStep> views;
  std::string device;
  int threads = 0;
  std::int64_t bytes = 0;  ///< read and written
  double seconds = 0;      ///< from first to last, measuring aside
  double opening_seconds = 0, sync_seconds = 0;
  io::StreamReport done;
};

/// Nothing where the time went into opening files, about which GB/s say nothing: below 1 MB it always does.
void print_report(const CopyReport& report, bool as_json, std::FILE* to);

}  // namespace restride::tools
