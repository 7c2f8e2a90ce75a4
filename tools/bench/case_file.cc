#include "tools/bench/case_file.h"

#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <restride/error.hpp>

#include "tools/io/file.h"
#include "tools/io/text.h"

namespace restride::bench {
namespace {

using nlohmann::json;

const std::set<std::string, std::less<>> kKnownKeys = {"name",          "id",        "class",     "note", "shape",
                                                       "strides_bytes", "slice",     "broadcast", "axes", "dst_shape",
                                                       "dst_slice_of",  "dst_slice", "src",       "dst"};

/// Reads the keys of one case; every message starts with the case's name.
class CaseReader {
 public:
  CaseReader(const json& object, std::string name) : object_(object), name_(std::move(name)) {}

  std::vector<std::int64_t> integers(const char* key) const {
    std::vector<std::int64_t> out;
    if (!object_.contains(key)) return out;
    const json& list = object_.at(key);
    if (!list.is_array()) fail(key, "must be a list of integers");
    for (const json& item : list) {
      if (!item.is_number_integer()) fail(key, "must hold integers only, not " + item.dump());
      if (item.is_number_unsigned() && item.get<std::uint64_t>() > INT64_MAX)
        fail(key, item.dump() + " does not fit 63 bits");
      out.push_back(item.get<std::int64_t>());
    }
    return out;
  }

  std::vector<std::string> strings(const char* key) const {
    std::vector<std::string> out;
    if (!object_.contains(key)) return out;
    const json& list = object_.at(key);
    if (!list.is_array()) fail(key, "must be a list of slices such as \"8:16392\"");
    for (const json& item : list) {
      if (!item.is_string()) fail(key, "must hold strings only, not " + item.dump());
      out.push_back(item.get<std::string>());
    }
    return out;
  }

  Element element(const char* key) const {
    if (!object_.contains(key)) return DType::kF32;
    const json& value = object_.at(key);
    if (!value.is_string()) fail(key, "must be a dtype's name such as \"f32\"");
    const auto element = parse_element(value.get<std::string>());
    if (!element)
      fail(key, "is no dtype: " + value.dump() + "; try f32, bf16, u8, c64, or b12 for twelve opaque bytes");
    return *element;
  }

  [[noreturn]] void fail(std::string_view key, std::string_view what) const {
    throw ParseError(fmt::format("case {}: \"{}\" {}", name_, key, what));
  }

 private:
  const json& object_;
  std::string name_;
};

std::string name_of(const json& object, std::string_view stem, std::size_t index) {
  if (object.contains("name")) {
    if (!object["name"].is_string() || object["name"].get<std::string>().empty())
      throw ParseError(fmt::format("case {} of {}: \"name\" must be text", index, stem));
    return io::escaped(object["name"].get<std::string>());
  }
  if (!object.contains("id")) return fmt::format("{}_{}", stem, index);
  const json& id = object["id"];
  if (id.is_number_integer()) return fmt::format("{}_{}", stem, id.get<std::int64_t>());
  if (id.is_string()) return fmt::format("{}_{}", stem, io::escaped(id.get<std::string>()));
  throw ParseError(fmt::format("case {} of {}: \"id\" must be an integer or text", index, stem));
}

// What is read before something is wrong stays in `spec`: --only still knows the case.
void parse_case(const json& object, std::string_view stem, std::size_t index, CaseSpec& spec,
                std::vector<std::string>& warnings) {
  if (!object.is_object()) throw ParseError(fmt::format("case {} of {} must be an object", index, stem));
  spec.name = name_of(object, stem, index);
  const CaseReader read(object, spec.name);
  if (object.contains("class")) {
    if (!object["class"].is_string()) read.fail("class", "must be text");
    spec.case_class = io::escaped(object["class"].get<std::string>());
  }
  for (const auto& [key, value] : object.items())
    if (!kKnownKeys.contains(key))
      warnings.push_back(
          fmt::format("case {}: key \"{}\" is not part of the format and is read over", spec.name, io::printable(key)));
  if (!object.contains("shape")) read.fail("shape", "is missing");
  spec.shape = read.integers("shape");
  spec.strides_bytes = read.integers("strides_bytes");
  spec.slice = read.strings("slice");
  spec.broadcast = read.integers("broadcast");
  spec.axes = read.integers("axes");
  spec.dst_shape = read.integers("dst_shape");
  spec.dst_slice_of = read.integers("dst_slice_of");
  spec.dst_slice = read.strings("dst_slice");
  spec.src = read.element("src");
  spec.dst = read.element("dst");
  for (const std::int64_t extent : spec.shape)
    if (extent < 0) read.fail("shape", fmt::format("holds the negative extent {}", extent));
  if (!spec.strides_bytes.empty() && spec.strides_bytes.size() != spec.shape.size())
    read.fail("strides_bytes",
              fmt::format("has {} entries for a shape of {}", spec.strides_bytes.size(), spec.shape.size()));
  if (object.contains("dst_slice") != object.contains("dst_slice_of"))
    read.fail("dst_slice", "and \"dst_slice_of\" go together: the slice, and the shape it is taken from");
  if (object.contains("dst_slice") && object.contains("dst_shape"))
    read.fail("dst_shape", "and \"dst_slice\" exclude each other");
}

}  // namespace

CaseFile parse_case_file(std::string_view text, const std::string& path) {
  json root;
  try {
    root = json::parse(text);
  } catch (const json::parse_error& e) {
    throw ParseError(fmt::format("case file {}: no valid JSON: it ends or goes wrong at byte {}", path, e.byte));
  } catch (const json::out_of_range&) {
    throw ParseError(fmt::format("case file {}: a number in it is beyond all ranges", path));
  }
  if (!root.is_object() || !root.contains("cases") || !root["cases"].is_array())
    throw ParseError(fmt::format("case file {}: must be an object with a list \"cases\"", path));
  const std::string stem = io::escaped(std::filesystem::path(path).stem().string());
  CaseFile file;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < root["cases"].size(); ++i) {
    CaseSpec spec;
    spec.name = fmt::format("{}_{}", stem, i);
    try {
      parse_case(root["cases"][i], stem, i, spec, file.warnings);
    } catch (const ParseError& e) {
      spec.unreadable = e.what();
    }
    if (!seen.insert(spec.name).second)
      throw ParseError(fmt::format("case file {}: two cases are called {}; names must differ", path, spec.name));
    file.cases.push_back(std::move(spec));
  }
  return file;
}

CaseFile load_case_file(const std::string& path) {
  return parse_case_file(io::read_text(path, "the case file " + path), path);
}

std::string to_json(const CaseSpec& spec) {
  json out = {{"name", spec.name}, {"shape", spec.shape}, {"src", to_string(spec.src)}, {"dst", to_string(spec.dst)}};
  const auto put = [&out](const char* key, const auto& list) {
    if (!list.empty()) out[key] = list;
  };
  put("strides_bytes", spec.strides_bytes);
  put("slice", spec.slice);
  put("broadcast", spec.broadcast);
  put("axes", spec.axes);
  put("dst_shape", spec.dst_shape);
  put("dst_slice_of", spec.dst_slice_of);
  put("dst_slice", spec.dst_slice);
  return out.dump();
}

}  // namespace restride::bench
