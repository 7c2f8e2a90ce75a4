#include "tools/bench/case_file.h"

#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <restride/error.hpp>

#include "src/base/json_text.h"
#include "src/base/json_value.h"
#include "src/base/text_file.h"
#include "src/layout/dtype_names.h"
#include "tools/io/file.h"
#include "tools/io/text.h"

namespace restride::bench {
namespace {

using base::json_quoted;
using base::JsonValue;

constexpr base::JsonLimits kLimits{base::kMostTextBytes, 16};

const std::set<std::string, std::less<>> kKnownKeys = {
    "name",      "id",           "class",     "note", "shape", "strides_bytes",    "slice", "broadcast", "axes",
    "dst_shape", "dst_slice_of", "dst_slice", "src",  "dst",   "dst_strides_bytes"};

/// A value in a message.
std::string shown(const JsonValue& value) {
  if (value.text() != nullptr) return json_quoted(io::printable(*value.text()));
  if (const auto* n = std::get_if<std::uint64_t>(&value.held)) return fmt::format("{}", *n);
  if (value.integer()) return fmt::format("{}", *value.integer());
  if (value.number()) return fmt::format("{}", *value.number());
  if (const auto* b = std::get_if<bool>(&value.held)) return *b ? "true" : "false";
  return value.list() != nullptr ? "a list" : value.object() != nullptr ? "an object" : "null";
}

/// Reads the keys of one case; every message starts with the case's name.
class CaseReader {
 public:
  CaseReader(const JsonValue& object, std::string name) : object_(object), name_(std::move(name)) {}

  std::vector<std::int64_t> integers(const char* key) const {
    std::vector<std::int64_t> out;
    const JsonValue* value = object_.find(key);
    if (value == nullptr) return out;
    if (value->list() == nullptr) fail(key, "must be a list of integers");
    for (const JsonValue& item : *value->list()) {
      if (std::holds_alternative<std::uint64_t>(item.held)) fail(key, shown(item) + " does not fit 63 bits");
      if (!item.integer()) fail(key, "must hold integers only, not " + shown(item));
      out.push_back(*item.integer());
    }
    return out;
  }

  std::vector<std::string> strings(const char* key) const {
    std::vector<std::string> out;
    const JsonValue* value = object_.find(key);
    if (value == nullptr) return out;
    if (value->list() == nullptr) fail(key, "must be a list of slices such as \"8:16392\"");
    for (const JsonValue& item : *value->list()) {
      if (item.text() == nullptr) fail(key, "must hold strings only, not " + shown(item));
      out.push_back(*item.text());
    }
    return out;
  }

  Element element(const char* key) const {
    const JsonValue* value = object_.find(key);
    if (value == nullptr) return DType::kF32;
    if (value->text() == nullptr) fail(key, "must be a dtype's name such as \"f32\"");
    if (const auto element = parse_element(*value->text())) return *element;
    fail(key, "is no dtype: " + shown(*value) + layout::dtype_hint(*value->text()));
  }

  [[noreturn]] void fail(std::string_view key, std::string_view what) const {
    throw ParseError(fmt::format("case {}: \"{}\" {}", name_, key, what));
  }

 private:
  const JsonValue& object_;
  std::string name_;
};

std::string name_of(const JsonValue& object, std::string_view stem, std::size_t index) {
  if (const JsonValue* name = object.find("name")) {
    if (name->text() == nullptr || name->text()->empty())
      throw ParseError(fmt::format("case {} of {}: \"name\" must be text", index, stem));
    return io::escaped(*name->text());
  }
  const JsonValue* id = object.find("id");
  if (id == nullptr) return fmt::format("{}_{}", stem, index);
  if (id->integer()) return fmt::format("{}_{}", stem, *id->integer());
  if (id->text() != nullptr) return fmt::format("{}_{}", stem, io::escaped(*id->text()));
  throw ParseError(fmt::format("case {} of {}: \"id\" must be an integer or text", index, stem));
}

// What is read before something is wrong stays in `spec`: --only still knows the case.
void parse_case(const JsonValue& object, std::string_view stem, std::size_t index, CaseSpec& spec,
                std::vector<std::string>& warnings) {
  if (object.object() == nullptr) throw ParseError(fmt::format("case {} of {} must be an object", index, stem));
  spec.name = name_of(object, stem, index);
  const CaseReader read(object, spec.name);
  const auto has = [&object](const char* key) { return object.find(key) != nullptr; };
  if (const JsonValue* value = object.find("class")) {
    if (value->text() == nullptr) read.fail("class", "must be text");
    spec.case_class = io::escaped(*value->text());
  }
  for (const auto& [key, value] : *object.object())
    if (!kKnownKeys.contains(key))
      warnings.push_back(
          fmt::format("case {}: key \"{}\" is not part of the format and is read over", spec.name, io::printable(key)));
  if (!has("shape")) read.fail("shape", "is missing");
  spec.shape = read.integers("shape");
  spec.strides_bytes = read.integers("strides_bytes");
  spec.slice = read.strings("slice");
  spec.broadcast = read.integers("broadcast");
  spec.axes = read.integers("axes");
  spec.dst_shape = read.integers("dst_shape");
  spec.dst_strides_bytes = read.integers("dst_strides_bytes");
  spec.dst_slice_of = read.integers("dst_slice_of");
  spec.dst_slice = read.strings("dst_slice");
  spec.src = read.element("src");
  spec.dst = read.element("dst");
  for (const std::int64_t extent : spec.shape)
    if (extent < 0) read.fail("shape", fmt::format("holds the negative extent {}", extent));
  if (!spec.strides_bytes.empty() && spec.strides_bytes.size() != spec.shape.size())
    read.fail("strides_bytes",
              fmt::format("has {} entries for a shape of {}", spec.strides_bytes.size(), spec.shape.size()));
  if (has("dst_slice") != has("dst_slice_of"))
    read.fail("dst_slice", "and \"dst_slice_of\" go together: the slice, and the shape it is taken from");
  if (has("dst_slice") && has("dst_shape")) read.fail("dst_shape", "and \"dst_slice\" exclude each other");
  if (has("dst_strides_bytes") && (has("dst_slice") || has("dst_shape")))
    read.fail("dst_strides_bytes", "excludes \"dst_slice\" and \"dst_shape\": they say where elements lie, too");
}

}  // namespace

CaseFile parse_case_file(std::string_view text, const std::string& path) {
  JsonValue root;
  try {
    root = base::parse_json(text, kLimits);
  } catch (const ParseError& e) {
    throw ParseError(fmt::format("case file {}: {}", path, e.what()));
  }
  const JsonValue* cases = root.find("cases");
  if (cases == nullptr || cases->list() == nullptr)
    throw ParseError(fmt::format("case file {}: must be an object with a list \"cases\"", path));
  const std::string stem = io::escaped(std::filesystem::path(path).stem().string());
  CaseFile file;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < cases->list()->size(); ++i) {
    CaseSpec spec;
    spec.name = fmt::format("{}_{}", stem, i);
    try {
      parse_case((*cases->list())[i], stem, i, spec, file.warnings);
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
  std::string out =
      fmt::format(R"({{"name":{},"shape":[{}],"src":{},"dst":{})", json_quoted(spec.name), fmt::join(spec.shape, ","),
                  json_quoted(to_string(spec.src)), json_quoted(to_string(spec.dst)));
  const auto put = [&out](const char* key, const auto& list) {
    if (!list.empty()) out += fmt::format(",\"{}\":[{}]", key, fmt::join(list, ","));
  };
  const auto quoted = [](std::vector<std::string> list) {
    for (std::string& item : list) item = json_quoted(item);
    return list;
  };
  put("strides_bytes", spec.strides_bytes);
  put("slice", quoted(spec.slice));
  put("broadcast", spec.broadcast);
  put("axes", spec.axes);
  put("dst_shape", spec.dst_shape);
  put("dst_strides_bytes", spec.dst_strides_bytes);
  put("dst_slice_of", spec.dst_slice_of);
  put("dst_slice", quoted(spec.dst_slice));
  return out + "}";
}

}  // namespace restride::bench
