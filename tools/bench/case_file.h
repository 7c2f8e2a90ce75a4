// Case files: the layouts a benchmark run goes through, as JSON that other tools can read and write too.
//
//   {"cases": [{"name": "crop", "shape": [16400, 16500], "slice": ["8:16392", "10:16394"], "axes": [0, 1],
//               "src": "f32", "dst": "f32"}, {"id": 7, "shape": [59, 384, 2320], "axes": [0, 2, 1]}]}
//
// Shapes are outermost first and axes are numpy.transpose's. A case starts from a contiguous array of `shape`
// (or from `strides_bytes`), takes `slice`, then `broadcast`, then `axes`; the result is copied into a contiguous array
// of its own shape, or of `dst_shape`, whose elements pair in C order (Options::reshape), or into `dst_slice` of a
// contiguous array of shape `dst_slice_of`. `src` and `dst` default to f32. A case without a name is called
// FILESTEM_ID. `class` groups cases in the summary; `note` is for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <restride/dtype.hpp>

namespace restride::bench {

/// One entry of a case file, as written. Empty lists mean that the key was absent.
struct CaseSpec {
  std::string name;
  std::string case_class;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides_bytes;
  std::vector<std::string> slice;
  std::vector<std::int64_t> broadcast;
  std::vector<std::int64_t> axes;
  std::vector<std::int64_t> dst_shape;
  std::vector<std::int64_t> dst_strides_bytes;
  std::vector<std::int64_t> dst_slice_of;
  std::vector<std::string> dst_slice;
  Element src = DType::kF32;
  Element dst = DType::kF32;
  std::string unreadable;  ///< what is wrong with it; the others beside it can still be run
  friend bool operator==(const CaseSpec&, const CaseSpec&) = default;
};

/// Cases of a file, and what was read over: keys that the format does not know.
struct CaseFile {
  std::vector<CaseSpec> cases;
  std::vector<std::string> warnings;
};

/// Reads a case file's text. `path` is for messages, and its stem names the cases that only carry an id. Names and
/// classes are made safe to print. A case that cannot be read says so in `unreadable`, naming itself and the key.
/// Errors: ParseError, when the text is no list of cases.
CaseFile parse_case_file(std::string_view text, const std::string& path);

/// Reads a case file from disk. Errors: IoError (no regular file; more than 64 MiB), ParseError.
CaseFile load_case_file(const std::string& path);

/// The case as JSON text again, for peers that run in another process.
std::string to_json(const CaseSpec& spec);

}  // namespace restride::bench
