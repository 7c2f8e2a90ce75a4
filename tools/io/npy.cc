#include "tools/io/npy.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "src/base/checked.h"
#include "tools/io/literal_reader.h"
#include "tools/io/text.h"

namespace restride::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
// NumPy itself refuses headers above 10,000 characters unless told otherwise; a rank-64 header needs 1,400.
constexpr std::uint64_t kMaxHeaderBytes = kMaxNpyHeadBytes - 12;

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::int64_t>> shape;
};

/// "[ns]", "[25us]": what stands behind dates and durations. Errors: ParseError where NumPy has no bits for the count.
bool is_time_unit(std::string_view text) {
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return false;
  text = text.substr(1, text.size() - 2);
  const std::string_view count = text.substr(0, text.find_first_not_of("0123456789"));
  static constexpr std::string_view kUnits[] = {"Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"};
  if (std::find(std::begin(kUnits), std::end(kUnits), text.substr(count.size())) == std::end(kUnits)) return false;
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), value);
  if (error == std::errc::result_out_of_range)
    throw ParseError(fmt::format("the count of the unit '[{}]' does not fit 31 bits", printable(text)));
  return true;
}

/// Whether NumPy has elements of this kind and number that nothing converts: text, bytes, dates, wide floats.
bool moves(char kind, std::int64_t size) {
  switch (kind) {
    case 'S':
    case 'a':
    case 'V':
    case 'U': return true;
    case 'M':
    case 'm': return size == 8;
    case 'f': return size == 10 || size == 12 || size == 16;
    case 'c': return size == 20 || size == 24 || size == 32;
    default: return false;
  }
}

/// parse_npy_dtype, but elements may have no bytes, as fields of records do.
NpyDtype read_npy_dtype(std::string_view descr) {
  const auto known = [](DType t) { return NpyDtype{t, 0, false}; };
  // What ml_dtypes calls its types; np.save writes the last as "<f1" and the others as "<V2" and "<V1".
  if (descr == "bfloat16") return known(DType::kBF16);
  if (descr == "float8_e4m3fn") return known(DType::kF8E4M3);
  if (descr == "float8_e5m2") return known(DType::kF8E5M2);

  const auto unknown = [&] {
    return ParseError(
        fmt::format("'{}' is no NumPy dtype; expected the like of '<f4', '|u1' or '<c8'", printable(descr)));
  };
  if (descr.size() < 2) throw unknown();
  const char order = std::string_view("<>|=").find(descr[0]) == std::string_view::npos ? '|' : descr[0];
  std::string_view rest = descr.substr(order == descr[0] ? 1 : 0);
  if (rest.empty()) throw unknown();
  const char kind = rest[0];
  rest.remove_prefix(1);
  if (kind == 'O') throw UnsupportedError("the elements are Python objects; convert them first (a.astype('f4'), say)");

  std::int64_t size = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
  const std::string_view unit = rest.substr(static_cast<std::size_t>(end - rest.data()));
  if (error != std::errc{} || !(unit.empty() || ((kind == 'M' || kind == 'm') && is_time_unit(unit)))) throw unknown();
  if (size < 0 || size > (kind == 'U' ? INT32_MAX / 4 : INT32_MAX)) throw unknown();

  static constexpr struct {
    char kind;
    int size;
    DType dtype;
  } kRows[] = {{'b', 1, DType::kBool}, {'u', 1, DType::kU8},    {'u', 2, DType::kU16},   {'u', 4, DType::kU32},
               {'u', 8, DType::kU64},  {'i', 1, DType::kI8},    {'i', 2, DType::kI16},   {'i', 4, DType::kI32},
               {'i', 8, DType::kI64},  {'f', 2, DType::kF16},   {'f', 4, DType::kF32},   {'f', 8, DType::kF64},
               {'c', 8, DType::kC64},  {'c', 16, DType::kC128}, {'f', 1, DType::kF8E5M2}};
  for (const auto& row : kRows)
    if (row.kind == kind && row.size == size) {
      const std::int64_t word = kind == 'c' ? size / 2 : size;
      return {row.dtype, order == '>' && word > 1 ? word : 0, false};
    }
  // Everything else moves untouched, its byte order with it (the output carries the same dtype string), unless the user
  // says what it is.
  if (!moves(kind, size)) throw unknown();
  const std::int64_t bytes = kind == 'U' ? 4 * size : size;
  const bool ordered = order == '>' && kind != 'S' && kind != 'a' && kind != 'V';
  const std::int64_t word = kind == 'U' ? 4 : kind == 'c' ? size / 2 : size;
  return {Element::bytes(bytes), ordered ? word : 0, true};
}

std::vector<std::int64_t> read_shape(LiteralReader& in) {
  std::vector<std::int64_t> shape;
  bool comma = true;  // without one, parentheses around a number are no tuple
  const std::size_t start = in.place();
  in.expect('(');
  while (!in.accept(')')) {
    const std::size_t at = in.place();
    shape.push_back(in.integer());
    if (shape.back() < 0) in.fail_at(at, fmt::format("extent {} is negative", shape.back()));
    if (shape.size() > static_cast<std::size_t>(kMaxRank))
      in.fail_at(at, fmt::format("more than {} extents", kMaxRank));
    comma = in.accept(',');
    if (!comma) {
      in.expect(')');
      break;
    }
  }
  if (shape.size() == 1 && !comma) in.fail_at(start, "the shape of one extent needs a comma, as in (8,)");
  return shape;
}

/// A name, or (title, name).
void skip_field_name(LiteralReader& in) {
  if (!in.accept('(')) {
    in.string();
    return;
  }
  in.string();
  in.expect(',');
  in.string();
  in.expect(')');
}

/// Elements of a field whose type has been read: behind a comma may stand its shape.
std::int64_t read_field_elements(LiteralReader& in) {
  if (!in.accept(',') || in.peek() == ')') return 1;
  const std::size_t at = in.place();
  std::int64_t elements = 1;
  for (const std::int64_t extent : in.peek() == '(' ? read_shape(in) : std::vector{in.integer()})
    if (extent < 0 || !checked_mul(elements, extent, &elements))
      in.fail_at(at, "the shape of a field is negative or does not fit 63 bits");
  return elements;
}

/// Bytes of a record, of its fields as NumPy lists them: [('x', '<f4'), ('y', [('a', '<i2', (3,)), ('', '|V2')])]. What
/// lies between fields is listed as well, without a name.
std::int64_t read_record_bytes(LiteralReader& in) {
  std::vector<std::int64_t> around;  // bytes so far of each record that is not over
  const std::size_t start = in.place();
  in.expect('[');
  around.push_back(0);
  for (;;) {
    std::int64_t bytes = 0;
    if (in.accept(']')) {
      bytes = around.back();
      around.pop_back();
      if (around.empty()) return bytes;
    } else {
      in.expect('(');
      skip_field_name(in);
      in.expect(',');
      if (in.accept('[')) {
        around.push_back(0);
        continue;
      }
      bytes = read_npy_dtype(in.string()).element.size_bytes;
    }
    if (!checked_mul(bytes, read_field_elements(in), &bytes) || !checked_add(around.back(), bytes, &around.back()) ||
        around.back() > INT32_MAX)
      in.fail_at(start, "a record of more bytes than NumPy has");
    in.expect(')');
    if (!in.accept(',') && in.peek() != ']') in.expect(']');
  }
}

/// What to do with an array whose elements are no numbers but records, or arrays themselves.
[[noreturn]] void refuse_fields(LiteralReader& in) {
  if (in.peek() == '(')
    throw UnsupportedError(
        "the elements are arrays themselves; save them as an array of more modes (np.save makes one)");
  throw UnsupportedError(
      fmt::format("the elements are records with named fields, which restride cannot name; save one field "
                  "(np.save(file, a['field'])) or move whole records as bytes (np.save(file, a.view('V{}')))",
                  read_record_bytes(in)));
}

Header read_header(std::string_view text) {
  LiteralReader in(text, ".npy header");
  Header header;
  in.expect('{');
  while (!in.accept('}')) {
    const std::size_t at = in.place();
    const std::string key = in.string();
    const auto once = [&](bool seen) {
      if (seen) in.fail_at(at, "'" + key + "' appears twice");
    };
    in.expect(':');
    if (key == "descr") {
      once(header.descr.has_value());
      if (in.peek() == '[' || in.peek() == '(') refuse_fields(in);
      header.descr = in.string();
    } else if (key == "fortran_order") {
      once(header.fortran_order.has_value());
      header.fortran_order = in.boolean();
    } else if (key == "shape") {
      once(header.shape.has_value());
      header.shape = read_shape(in);
    } else {
      in.fail_at(at, "unknown key '" + printable(key) + "'");
    }
    if (!in.accept(',')) {
      in.expect('}');
      break;
    }
  }
  in.expect_end();
  if (!header.descr || !header.fortran_order || !header.shape)
    in.fail("'descr', 'fortran_order' and 'shape' are all needed");
  return header;
}

}  // namespace

NpyDtype parse_npy_dtype(std::string_view descr) {
  const NpyDtype dtype = read_npy_dtype(descr);
  if (dtype.element.size_bytes == 0)
    throw UnsupportedError(fmt::format("elements of dtype '{}' have no bytes", printable(descr)));
  return dtype;
}

std::string npy_dtype(const Element& element) {
  switch (element.dtype) {
    case DType::kBool: return "|b1";
    case DType::kU8: return "|u1";
    case DType::kI8: return "|i1";
    case DType::kBF16: return "<V2";
    case DType::kF8E4M3:
    case DType::kF8E5M2: return "<V1";  // np.save writes "<f1" for e5m2, which np.load refuses
    case DType::kBytes: return fmt::format("|V{}", element.size_bytes);
    default: break;
  }
  const DTypeKind k = kind(element.dtype);
  const char letter = k == DTypeKind::kUnsigned ? 'u'
                      : k == DTypeKind::kSigned ? 'i'
                      : k == DTypeKind::kFloat  ? 'f'
                                                : 'c';
  return fmt::format("<{}{}", letter, element.size_bytes);
}

ArrayEntry parse_npy(const ByteSource& source) { return parse_npy_head(source, source.size()); }

ArrayEntry parse_npy_head(const ByteSource& source, std::uint64_t file_bytes) {
  const std::vector<std::uint8_t> start = source.read(0, 8);
  if (!std::equal(kMagic.begin(), kMagic.end(), start.begin(),
                  [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; }))
    throw ParseError("no .npy file: it does not begin with \\x93NUMPY");
  const int major = start[6], minor = start[7];
  if (major < 1 || major > 3 || minor != 0)
    throw UnsupportedError(
        fmt::format(".npy version {}.{} is not known (1.0, 2.0 and 3.0 are); save it anew with NumPy", major, minor));
  const int length_bytes = major == 1 ? 2 : 4;
  const std::uint64_t header_start = 8 + static_cast<std::uint64_t>(length_bytes);
  const std::uint64_t header_bytes =
      load_le(source.read(8, static_cast<std::uint64_t>(length_bytes)).data(), length_bytes);
  if (header_bytes > kMaxHeaderBytes)
    throw ParseError(fmt::format(".npy header of {} bytes; more than {} are refused", header_bytes, kMaxHeaderBytes));
  const std::vector<std::uint8_t> text = source.read(header_start, header_bytes);

  const Header header = read_header({reinterpret_cast<const char*>(text.data()), text.size()});
  const NpyDtype dtype = parse_npy_dtype(*header.descr);
  ArrayEntry entry;
  entry.layout = dense(dtype.element, *header.shape, *header.fortran_order);
  entry.layout.offset_bytes = static_cast<std::int64_t>(header_start + header_bytes);
  (dtype.opaque ? entry.opaque_word_bytes : entry.swap_bytes) = dtype.word_bytes;
  if (dtype.opaque) entry.npy_descr = *header.descr;
  require_within(entry.layout, file_bytes, ".npy data");
  validate(entry.layout);
  return entry;
}

std::string npy_header(std::string_view descr, Extents extents, bool fortran_order) {
  std::string shape = fmt::format("{}", fmt::join(extents, ", "));
  if (extents.size() == 1) shape += ',';  // how Python writes a tuple of one
  const std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}), }}", descr,
                                       fortran_order ? "True" : "False", shape);
  const bool wide = dict.size() + 10 + 64 > 0xffff;
  const std::size_t fixed = wide ? 12 : 10;
  const std::size_t total = (fixed + dict.size() + 1 + 63) / 64 * 64;
  std::string out(kMagic);
  out += wide ? '\2' : '\1';
  out += '\0';
  append_le(out, total - fixed, wide ? 4 : 2);
  out += dict;
  out.append(total - out.size() - 1, ' ');
  return out + '\n';
}

}  // namespace restride::io
