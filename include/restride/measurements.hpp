// Measured times of candidates, to plan by instead of by prediction. Opt-in: without them planning is deterministic.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <restride/detail/visibility.hpp>

namespace restride RESTRIDE_PUBLIC {

/// Measured times: for a machine (its instruction set or GPU, and the threads), two layouts and their alignment, the
/// time of every candidate of the planner.
///
/// Put one into Options::measurements and plans choose by it: a copy that is recorded takes the fastest candidate of
/// its record; one that is not takes the planner's choice, or with Options::measure is timed once and recorded.
/// A record can only choose among the planner's own candidates; one that names another (an edited file, one of an
/// older version) is passed over. Copies of this object share what they hold. Safe to use from many threads.
class Measurements {
 public:
  Measurements();

  /// Number of records.
  std::size_t size() const;

  /// One JSON object; `from_json` reads it back. Errors: ParseError, also of more than 64 MiB.
  std::string to_json() const;
  static Measurements from_json(std::string_view text);

  /// The same in a file; saving replaces it at once and whole. Errors: IoError, also of no regular file (pipes,
  /// devices) or has more than 64 MiB; ParseError.
  void save(const std::string& path) const;
  static Measurements load(const std::string& path);

  struct State;
  State& state() const noexcept { return *state_; }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace restride
