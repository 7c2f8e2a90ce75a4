#include "tools/io/safetensors.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/json_reader.h"
#include "src/base/json_text.h"
#include "tools/io/text.h"

namespace restride::io {
namespace {

constexpr base::JsonLimits kLimits{100'000'000, 3};  // file { tensor { shape [ ... ] } }

constexpr SafetensorsDtype kDtypes[] = {{"BOOL", DType::kBool, 8},      {"U8", DType::kU8, 8},
                                        {"U16", DType::kU16, 16},       {"U32", DType::kU32, 32},
                                        {"U64", DType::kU64, 64},       {"I8", DType::kI8, 8},
                                        {"I16", DType::kI16, 16},       {"I32", DType::kI32, 32},
                                        {"I64", DType::kI64, 64},       {"F16", DType::kF16, 16},
                                        {"BF16", DType::kBF16, 16},     {"F32", DType::kF32, 32},
                                        {"F64", DType::kF64, 64},       {"C64", DType::kC64, 64},
                                        {"F8_E4M3", DType::kF8E4M3, 8}, {"F8_E5M2", DType::kF8E5M2, 8},
                                        {"F8_E8M0", DType::kBytes, 8},  {"F8_E4M3FNUZ", DType::kBytes, 8},
                                        {"F6_E2M3", DType::kBytes, 6},  {"F8_E5M2FNUZ", DType::kBytes, 8},
                                        {"F6_E3M2", DType::kBytes, 6},  {"F4", DType::kBytes, 4}};

Element element_of(const SafetensorsDtype& row) {
  return row.dtype == DType::kBytes ? Element::bytes(1) : Element(row.dtype);
}

constexpr std::string_view kMetadata = "__metadata__";  // the header's one key that is no tensor

[[noreturn]] void fail(const std::string& problem) { throw ParseError("safetensors header: " + problem); }

std::string called(const std::string& name) { return "tensor '" + printable(name) + "'"; }

/// Nothing where the last byte would not be full. Of less than 2^60 elements.
std::optional<std::uint64_t> packed_bytes(std::int64_t elements, int bits) {
  const auto n = static_cast<std::uint64_t>(elements), width = static_cast<std::uint64_t>(bits);
  if (width % 8 == 0) return n * (width / 8);
  if (n * width % 8 != 0) return std::nullopt;
  return n * width / 8;
}

/// Numbers of a list, as far as they are of use.
struct Numbers {
  bool present = false, is_list = false;
  const char* problem = nullptr;  ///< of the first that is no integer of 0 to 2^63 - 1
  std::size_t count = 0;
  std::vector<std::int64_t> values;  ///< the first kMaxRank

  void clear() {
    present = is_list = false;
    problem = nullptr;
    count = 0;
    values.clear();
  }
  void add(const base::JsonScalar& value) {
    const auto* n = std::get_if<std::int64_t>(&value);
    if (problem == nullptr && (n == nullptr || *n < 0))
      problem = std::holds_alternative<std::uint64_t>(value) ? "does not fit 63 bits" : "is no unsigned integer";
    if (n != nullptr && values.size() < static_cast<std::size_t>(kMaxRank)) values.push_back(*n);
    ++count;
  }
};

/// Takes the tensors off a header while it is read. What is wrong with one is told when the header has proved to be
/// JSON with no name twice.
class HeaderEvents final : public base::JsonEvents {
 public:
  HeaderEvents(std::uint64_t data_bytes, SafetensorsMetadata* metadata)
      : data_bytes_(data_bytes), metadata_(metadata) {}

  void open(bool is_object) override {
    ++level_;
    if (level_ == 1 && !is_object) refuse("it is no JSON object");
    if (level_ == 2) {
      if (!is_object) refuse_member();
      dtype_.reset();
      has_dtype_ = false;
      shape_.clear();
      offsets_.clear();
    }
    if (level_ == 3) {
      if (in_metadata_) refuse_member();
      if (numbers_ != nullptr) numbers_->is_list = !is_object;
    }
  }

  void close() override {
    if (level_ == 2 && !in_metadata_ && problem_.empty()) add_tensor();
    if (level_ == 3) numbers_ = nullptr;
    --level_;
  }

  void key(std::string_view name) override {
    if (level_ == 1) {
      name_ = name;
      in_metadata_ = name == kMetadata;
    } else if (level_ == 2 && !in_metadata_) {
      is_dtype_ = name == "dtype";
      has_dtype_ |= is_dtype_;
      numbers_ = name == "shape" ? &shape_ : name == "data_offsets" ? &offsets_ : nullptr;
      if (numbers_ != nullptr) numbers_->present = true;
    } else if (level_ == 2 && metadata_ != nullptr) {
      metadata_->emplace_back(name, "");
    }
  }

  void scalar(const base::JsonScalar& value) override {
    if (level_ == 0) refuse("it is no JSON object");
    if (level_ == 1 && !(in_metadata_ && std::holds_alternative<std::nullptr_t>(value))) refuse_member();
    const auto* text = std::get_if<std::string_view>(&value);
    if (level_ == 2 && in_metadata_ && text == nullptr) refuse_member();
    // Where something is wrong already, it may be that the text stands in a list and has no key.
    if (level_ == 2 && in_metadata_ && text != nullptr && metadata_ != nullptr && problem_.empty())
      metadata_->back().second = *text;
    if (level_ == 2 && !in_metadata_ && is_dtype_ && text != nullptr) dtype_ = *text;
    if (level_ == 3 && numbers_ != nullptr && numbers_->is_list) numbers_->add(value);
  }

  /// Errors: ParseError: what is wrong with the first tensor that something is wrong with.
  std::deque<SafetensorsTensor> take() {
    if (!problem_.empty()) fail(problem_);
    return std::move(tensors_);
  }

 private:
  void refuse(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }
  /// A member of the file that is not of the kind that its name asks for.
  void refuse_member() {
    refuse(in_metadata_ ? fmt::format("'{}' is no object of strings", kMetadata) : called(name_) + " is no object");
  }

  /// What is wrong with the tensor's members; empty: nothing.
  std::string problem_of_members() const {
    const std::pair<const char*, bool> needed[] = {
        {"dtype", has_dtype_}, {"shape", shape_.present}, {"data_offsets", offsets_.present}};
    for (const auto& [member, present] : needed)
      if (!present) return fmt::format("has no '{}'", member);
    if (!dtype_ || !shape_.is_list || !offsets_.is_list || offsets_.count != 2)
      return "needs a dtype string, a shape list and two data_offsets";
    if (shape_.count > static_cast<std::size_t>(kMaxRank)) return fmt::format("has more than {} extents", kMaxRank);
    if (shape_.problem != nullptr) return fmt::format(": an extent {}", shape_.problem);
    if (offsets_.problem != nullptr) return fmt::format(": data_offsets {}", offsets_.problem);
    return "";
  }

  void add_tensor() {
    if (const std::string wrong = problem_of_members(); !wrong.empty())
      return refuse(called(name_) + (wrong[0] == ':' ? "" : " ") + wrong);
    const auto first = static_cast<std::uint64_t>(offsets_.values[0]);
    const auto last = static_cast<std::uint64_t>(offsets_.values[1]);
    if (first > last || last > data_bytes_)
      return refuse(fmt::format("{} lies at bytes {} to {} of {}; the file is truncated or the header is wrong",
                                called(name_), first, last, data_bytes_));
    SafetensorsTensor t{name_, first, last, nullptr, {}, {}};
    const auto* row =
        std::find_if(std::begin(kDtypes), std::end(kDtypes), [&](const auto& r) { return r.name == *dtype_; });
    if (row == std::end(kDtypes)) {  // how many bytes its elements take is unknown, so the span cannot be checked
      t.unknown_dtype = printable(*dtype_);
    } else {
      const Layout layout = dense(element_of(*row), shape_.values, false);
      const std::optional<std::uint64_t> bytes = packed_bytes(layout.elements(), row->bits);
      const std::string shown = fmt::format("{} ({})", row->name, fmt::join(shape_.values, ","));
      if (!bytes)
        return refuse(fmt::format("{}: {} ends inside a byte, because its elements have {} bits", called(name_), shown,
                                  row->bits));
      if (*bytes != last - first)
        return refuse(fmt::format("{}: {} is {} bytes, but data_offsets span {}", called(name_),
                                  row->dtype == DType::kBytes ? shown : to_string(layout), *bytes, last - first));
      t.dtype = row;
      t.extents = shape_.values;
    }
    tensors_.push_back(std::move(t));
  }

  const std::uint64_t data_bytes_;
  SafetensorsMetadata* const metadata_;
  int level_ = 0;
  bool in_metadata_ = false;
  std::string name_;  // of the tensor, or kMetadata
  // The tensor's members, as far as they are read.
  bool is_dtype_ = false, has_dtype_ = false;
  std::optional<std::string> dtype_;
  Numbers shape_, offsets_;
  Numbers* numbers_ = nullptr;  // where the list being read belongs
  std::deque<SafetensorsTensor> tensors_;
  std::string problem_;
};

/// Those of no bytes stay in the header's order.
void sort_by_place(std::deque<SafetensorsTensor>& tensors) {
  struct Place {
    std::uint64_t first, last;
    std::size_t index;
    bool operator<(const Place& o) const { return std::tie(first, last, index) < std::tie(o.first, o.last, o.index); }
  };
  std::vector<Place> places;
  places.reserve(tensors.size());
  for (const SafetensorsTensor& t : tensors) places.push_back({t.first, t.last, places.size()});
  if (std::is_sorted(places.begin(), places.end())) return;
  std::sort(places.begin(), places.end());
  std::deque<SafetensorsTensor> sorted;
  for (const Place& p : places) sorted.push_back(std::move(tensors[p.index]));
  tensors = std::move(sorted);
}

/// Tensors lie one behind the other and fill the data, as the format has it: nothing hides in between or behind them,
/// and no two share bytes.
void require_filled(const std::deque<SafetensorsTensor>& tensors, std::uint64_t data_bytes) {
  std::uint64_t end = 0;
  for (const SafetensorsTensor& t : tensors) {
    if (t.first != end)
      fail(fmt::format("{} begins at byte {} of the data, but what lies before it ends at {}", called(t.name), t.first,
                       end));
    end = t.last;
  }
  if (end != data_bytes) fail(fmt::format("its tensors end at byte {} of the data, the file at {}", end, data_bytes));
}

}  // namespace

std::deque<SafetensorsTensor> parse_safetensors(const ByteSource& source, SafetensorsMetadata* metadata) {
  const std::uint64_t header_bytes = load_le(source.read(0, 8).data(), 8);
  if (header_bytes > kLimits.bytes)
    fail(fmt::format("its length is given as {} bytes; more than {} are refused", header_bytes, kLimits.bytes));
  const std::vector<std::uint8_t> text = source.read(8, header_bytes);
  const std::uint64_t data_start = 8 + header_bytes, data_bytes = source.size() - data_start;
  HeaderEvents events(data_bytes, metadata);
  try {
    base::read_json({reinterpret_cast<const char*>(text.data()), text.size()}, kLimits, events);
  } catch (const ParseError& e) {
    fail(e.what());
  }
  std::deque<SafetensorsTensor> tensors = events.take();
  sort_by_place(tensors);
  require_filled(tensors, data_bytes);
  for (SafetensorsTensor& t : tensors) t.first += data_start, t.last += data_start;
  return tensors;
}

ArrayEntry entry_of(const SafetensorsTensor& tensor) {
  ArrayEntry entry;
  entry.name = tensor.name;
  if (tensor.dtype != nullptr) {
    entry.layout = contiguous(element_of(*tensor.dtype), tensor.extents);
    entry.layout.offset_bytes = static_cast<std::int64_t>(tensor.first);
    if (tensor.dtype->dtype == DType::kBytes) entry.safetensors_dtype = tensor.dtype->name;
    if (tensor.dtype->bits < 8) entry.bits = tensor.dtype->bits;
  } else {
    entry.layout = contiguous(DType::kU8, {0});
    entry.unsupported = fmt::format("safetensors: {} has dtype '{}', which restride does not know", called(tensor.name),
                                    tensor.unknown_dtype);
  }
  return entry;
}

std::string_view safetensors_dtype(const Element& element) {
  const auto* row =
      std::find_if(std::begin(kDtypes), std::end(kDtypes), [&](const auto& r) { return r.dtype == element.dtype; });
  if (row == std::end(kDtypes) || element.dtype == DType::kBytes)
    throw UnsupportedError(fmt::format(
        "safetensors has no dtype for {}; {}, or write .npy", to_string(element),
        element.dtype == DType::kBytes ? "say with --in-dtype what the elements really are" : "convert with --dtype"));
  return row->name;
}

std::string safetensors_header(std::span<const SafetensorsSpec> tensors, const SafetensorsMetadata& metadata) {
  std::string text = "{";
  const auto comma = [&text] {
    if (text.back() != '{') text += ',';
  };
  if (!metadata.empty()) {
    text += fmt::format("\"{}\":{{", kMetadata);
    for (const auto& [key, value] : metadata) {
      comma();
      text += fmt::format("{}:{}", base::json_quoted(key), base::json_quoted(value));
    }
    text += '}';
  }
  std::unordered_set<std::string_view> names;
  std::uint64_t at = 0;
  for (const SafetensorsSpec& t : tensors) {
    require_utf8(t.name, "the tensor's name");
    if (t.name == kMetadata)
      throw ArgumentError(fmt::format("safetensors keeps '{}' for itself; give the tensor another name", t.name));
    if (!names.insert(t.name).second)
      throw ArgumentError(fmt::format("two tensors are called '{}'; names must differ", printable(t.name)));
    comma();
    text += fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", base::json_quoted(t.name),
                        t.dtype, fmt::join(t.extents.begin(), t.extents.end(), ","), at, at + t.bytes);
    at += t.bytes;
  }
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > kLimits.bytes)
    throw UnsupportedError(fmt::format("the header of {} tensors takes {} bytes; readers refuse more than {}",
                                       tensors.size(), text.size(), kLimits.bytes));
  std::string out;
  append_le(out, text.size(), 8);
  return out + text;
}

}  // namespace restride::io
