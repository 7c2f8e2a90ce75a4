#include "tools/io/safetensors.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/io/text.h"

namespace restride::io {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr int kMaxDepth = 3;  // file { tensor { shape [ ... ] } }

constexpr struct {
  std::string_view name;
  DType dtype;
} kDtypes[] = {{"BOOL", DType::kBool}, {"U8", DType::kU8},   {"U16", DType::kU16},        {"U32", DType::kU32},
               {"U64", DType::kU64},   {"I8", DType::kI8},   {"I16", DType::kI16},        {"I32", DType::kI32},
               {"I64", DType::kI64},   {"F16", DType::kF16}, {"BF16", DType::kBF16},      {"F32", DType::kF32},
               {"F64", DType::kF64},   {"C64", DType::kC64}, {"F8_E4M3", DType::kF8E4M3}, {"F8_E5M2", DType::kF8E5M2}};

constexpr std::string_view kMetadata = "__metadata__";  // the header's one key that is no tensor

[[noreturn]] void fail(const std::string& problem) { throw ParseError("safetensors header: " + problem); }

json parse_json(const std::vector<std::uint8_t>& text) {
  std::array<std::set<std::string>, kMaxDepth + 2> names;  // of the object open at each depth
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > kMaxDepth) fail(fmt::format("nested deeper than {} levels", kMaxDepth));
    if (event != json::parse_event_t::key) return true;
    const auto at = static_cast<std::size_t>(depth);
    names[at + 1].clear();
    if (!names[at].insert(value.get<std::string>()).second)
      fail(fmt::format("'{}' appears twice in one object", printable(value.get<std::string>())));
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), watch);
  } catch (const json::parse_error& e) {
    fail(fmt::format("no valid JSON: it ends or goes wrong at byte {}", e.byte));
  } catch (const json::exception& e) {
    fail(fmt::format("no valid JSON ({})", printable(e.what())));
  }
}

std::uint64_t unsigned_at(const json& value, const std::string& what) {
  if (!value.is_number_unsigned()) fail(what + " is no unsigned integer");
  const auto v = value.get<std::uint64_t>();
  if (v > static_cast<std::uint64_t>(INT64_MAX)) fail(what + " does not fit 63 bits");
  return v;
}

/// The bytes of one tensor, from the beginning of the data.
struct Span {
  std::uint64_t first = 0, last = 0;
  std::string what;  ///< whose, for messages
};

/// Tensors lie one behind the other and fill the data, as the format has it: nothing hides in between or behind them,
/// and no two share bytes.
void require_filled(std::vector<Span> spans, std::uint64_t data_bytes) {
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.first != b.first ? a.first < b.first : a.last < b.last; });
  std::uint64_t end = 0;
  for (const Span& s : spans) {
    if (s.first != end)
      fail(fmt::format("{} begins at byte {} of the data, but what lies before it ends at {}", s.what, s.first, end));
    end = s.last;
  }
  if (end != data_bytes) fail(fmt::format("its tensors end at byte {} of the data, the file at {}", end, data_bytes));
}

/// Metadata names texts by texts.
void check_metadata(const json& value) {
  const bool texts =
      value.is_object() && std::all_of(value.begin(), value.end(), [](const json& v) { return v.is_string(); });
  if (!texts && !value.is_null()) fail(fmt::format("'{}' is no object of strings", kMetadata));
}

ArrayEntry read_tensor(const std::string& name, const json& value, std::uint64_t data_start, std::uint64_t data_bytes,
                       std::vector<Span>* spans) {
  const std::string what = "tensor '" + printable(name) + "'";
  if (!value.is_object()) fail(what + " is no object");
  for (const char* key : {"dtype", "shape", "data_offsets"})
    if (!value.contains(key)) fail(fmt::format("{} has no '{}'", what, key));
  if (!value["dtype"].is_string() || !value["shape"].is_array() || !value["data_offsets"].is_array() ||
      value["data_offsets"].size() != 2)
    fail(what + " needs a dtype string, a shape list and two data_offsets");

  const auto dtype = value["dtype"].get<std::string>();
  const auto* row =
      std::find_if(std::begin(kDtypes), std::end(kDtypes), [&](const auto& r) { return r.name == dtype; });

  if (value["shape"].size() > static_cast<std::size_t>(kMaxRank))
    fail(fmt::format("{} has more than {} extents", what, kMaxRank));
  std::vector<std::int64_t> extents;
  for (const json& n : value["shape"])
    extents.push_back(static_cast<std::int64_t>(unsigned_at(n, what + ": an extent")));
  const std::uint64_t first = unsigned_at(value["data_offsets"][0], what + ": data_offsets");
  const std::uint64_t last = unsigned_at(value["data_offsets"][1], what + ": data_offsets");
  if (first > last || last > data_bytes)
    fail(fmt::format("{} lies at bytes {} to {} of {}; the file is truncated or the header is wrong", what, first, last,
                     data_bytes));
  spans->push_back({first, last, what});

  ArrayEntry entry;
  entry.name = name;
  if (row == std::end(kDtypes)) {  // how many bytes its elements take is unknown, so the span cannot be checked
    entry.layout = contiguous(DType::kU8, {0});
    entry.unsupported =
        fmt::format("safetensors: {} has dtype '{}', which restride does not know", what, printable(dtype));
    return entry;
  }
  entry.layout = contiguous(row->dtype, extents);
  if (static_cast<std::uint64_t>(entry.layout.bytes()) != last - first)
    fail(fmt::format("{}: {} is {} bytes, but data_offsets span {}", what, to_string(entry.layout),
                     entry.layout.bytes(), last - first));
  entry.layout.offset_bytes = static_cast<std::int64_t>(data_start + first);
  return entry;
}

}  // namespace

std::vector<ArrayEntry> parse_safetensors(const ByteSource& source) {
  const std::uint64_t header_bytes = load_le(source.read(0, 8).data(), 8);
  if (header_bytes > kMaxHeaderBytes)
    fail(fmt::format("its length is given as {} bytes; more than {} are refused", header_bytes, kMaxHeaderBytes));
  const json header = parse_json(source.read(8, header_bytes));
  if (!header.is_object()) fail("it is no JSON object");
  const std::uint64_t data_start = 8 + header_bytes;

  const std::uint64_t data_bytes = source.size() - data_start;
  std::vector<ArrayEntry> entries;
  std::vector<Span> spans;
  for (const auto& [name, value] : header.items()) {
    if (name == kMetadata)
      check_metadata(value);
    else
      entries.push_back(read_tensor(name, value, data_start, data_bytes, &spans));
  }
  require_filled(std::move(spans), data_bytes);
  return entries;
}

std::string safetensors_header(const std::string& name, const Element& element, Extents extents) {
  require_utf8(name, "the tensor's name");
  if (name == kMetadata)
    throw ArgumentError(fmt::format("safetensors keeps '{}' for itself; give the tensor another name", name));
  const auto* row =
      std::find_if(std::begin(kDtypes), std::end(kDtypes), [&](const auto& r) { return r.dtype == element.dtype; });
  if (row == std::end(kDtypes))
    throw UnsupportedError(fmt::format(
        "safetensors has no dtype for {}; {}, or write .npy", to_string(element),
        element.dtype == DType::kBytes ? "say with --in-dtype what the elements really are" : "convert with --dtype"));
  const Layout layout = contiguous(element, extents);
  nlohmann::ordered_json tensor;
  tensor["dtype"] = row->name;
  tensor["shape"] = json(std::vector<std::int64_t>(extents.begin(), extents.end()));
  tensor["data_offsets"] = {0, layout.bytes()};
  std::string text = nlohmann::ordered_json{{name, tensor}}.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string out;
  append_le(out, text.size(), 8);
  return out + text;
}

}  // namespace restride::io
