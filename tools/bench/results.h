// The result file: the runs of one machine, one case a line. bench/README.md explains its fields.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/bench/runner.h"
#include "tools/io/json_text.h"

namespace restride::bench {

/// What is said of a run besides its cases. The first four tell it from the other runs of its file.
struct RunInfo {
  std::vector<std::string> case_files;  ///< shipped names or paths
  std::string device;
  int threads = 1;
  nlohmann::ordered_json options = nlohmann::ordered_json::object();  ///< what else decides what is measured, if given
  std::string commit;
  std::string command;
  nlohmann::ordered_json machine;
};

/// {"case_files", "device", "threads", "options", "commit", "command", "machine", "summary": [...], "cases": [...]}.
nlohmann::ordered_json run_json(const RunInfo& info, const std::vector<CaseResult>& results);

/// True for {"runs": [...]} as ResultFile writes it; a case file, which has a list "cases", is none.
bool is_result_file(const nlohmann::ordered_json& file);

/// The file behind --json. A run takes the place of the one that measured the same there; the others stay.
class ResultFile {
 public:
  /// Reads the runs that are there; an empty path makes a file that keeps nothing.
  /// Errors: IoError: the file cannot be written, or holds something else than results.
  explicit ResultFile(std::string path);
  ~ResultFile() { io::take_apart(content_); }  // there may be no memory left to do it otherwise
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;

  /// Errors: IoError: the file holds runs of another machine.
  void require_machine(const nlohmann::ordered_json& machine) const;

  /// Adds or replaces a run, and writes the file, so that a long run that is stopped keeps what it has.
  void put(nlohmann::ordered_json run);

  /// Writes into a stream, which takes the results once, when they are complete.
  void finish() const;

  const nlohmann::ordered_json& content() const { return content_; }

 private:
  void write() const;

  std::string path_;
  bool stream_ = false;
  nlohmann::ordered_json content_ = {{"runs", nlohmann::ordered_json::array()}};
};

}  // namespace restride::bench
