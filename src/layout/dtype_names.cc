// What others call the dtypes: NumPy, PyTorch, JAX, safetensors, C.
#include "src/layout/dtype_names.h"

#include <fmt/format.h>

#include <charconv>

#include <restride/layout.hpp>

#include "src/base/nearest.h"

namespace restride {
namespace {

struct Alias {
  std::string_view name;
  DType dtype;
};

// In lower case. A name is taken where all who use it mean the same on 64-bit Linux.
constexpr Alias kAliases[] = {
    {"bool_", DType::kBool},     {"bool8", DType::kBool},
    {"uint8", DType::kU8},       {"ubyte", DType::kU8},
    {"uint16", DType::kU16},     {"ushort", DType::kU16},
    {"uint32", DType::kU32},     {"uintc", DType::kU32},
    {"uint64", DType::kU64},     {"ulonglong", DType::kU64},
    {"uintp", DType::kU64},      {"int8", DType::kI8},
    {"int16", DType::kI16},      {"short", DType::kI16},
    {"int32", DType::kI32},      {"intc", DType::kI32},
    {"int64", DType::kI64},      {"long", DType::kI64},
    {"longlong", DType::kI64},   {"int_", DType::kI64},
    {"intp", DType::kI64},       {"float16", DType::kF16},
    {"half", DType::kF16},       {"fp16", DType::kF16},
    {"bfloat16", DType::kBF16},  {"float32", DType::kF32},
    {"single", DType::kF32},     {"fp32", DType::kF32},
    {"float64", DType::kF64},    {"double", DType::kF64},
    {"fp64", DType::kF64},       {"float8_e4m3fn", DType::kF8E4M3},
    {"f8_e4m3", DType::kF8E4M3}, {"float8_e5m2", DType::kF8E5M2},
    {"f8_e5m2", DType::kF8E5M2}, {"complex64", DType::kC64},
    {"csingle", DType::kC64},    {"complex128", DType::kC128},
    {"cdouble", DType::kC128},
};

// What only PyTorch calls so; others mean another size.
constexpr Alias kTorchs[] = {{"float", DType::kF32}, {"int", DType::kI32}, {"cfloat", DType::kC64}};

constexpr struct {
  std::string_view name, meanings;
} kAmbiguous[] = {{"float", "f32 or f64"},    {"int", "i32 or i64"},          {"uint", "u32 or u64"},
                  {"byte", "i8 or u8"},       {"char", "i8 or u8"},           {"cfloat", "c64 or c128"},
                  {"complex", "c64 or c128"}, {"float8", "f8e4m3 or f8e5m2"}, {"fp8", "f8e4m3 or f8e5m2"},
                  {"f8", "f64 or f8e4m3"}};

constexpr std::string_view kTorch = "torch.";
constexpr std::string_view kPrefixes[] = {kTorch, "np.", "numpy.", "jnp.", "ml_dtypes."};

/// The number that all of `text` is, at least 1.
std::optional<std::int32_t> number(std::string_view text) {
  std::int32_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size() || n < 1) return std::nullopt;
  return n;
}

/// NumPy's array-protocol codes, "<f4", "|u1", "=c16"; not those of two big-endian bytes or more.
std::optional<Element> from_code(std::string_view text) {
  if (text == "?") return Element(DType::kBool);
  if (text.size() < 3 || std::string_view("<=|>").find(text[0]) == std::string_view::npos) return std::nullopt;
  const std::optional<std::int32_t> bytes = number(text.substr(2));
  if (!bytes) return std::nullopt;
  if (text[1] == 'V') return Element::bytes(*bytes);
  if (text[0] == '>' && *bytes > 1) return std::nullopt;
  constexpr struct {
    char code;
    DTypeKind kind;
  } kCodes[] = {{'b', DTypeKind::kBool},
                {'u', DTypeKind::kUnsigned},
                {'i', DTypeKind::kSigned},
                {'f', DTypeKind::kFloat},
                {'c', DTypeKind::kComplex}};
  for (const auto& row : kCodes)
    if (row.code == text[1])
      for (int i = 0; i < kDTypeCount; ++i) {
        const auto t = static_cast<DType>(i);  // f16 stands in front of bf16, and NumPy has no float of one byte
        if (kind(t) == row.kind && size_bytes(t) == *bytes && t != DType::kF8E4M3 && t != DType::kF8E5M2) return t;
      }
  return std::nullopt;
}

std::optional<Element> from_alias(std::string_view text) {
  const std::string lowered = base::lower(text);
  std::string_view word = lowered;
  for (const std::string_view prefix : kPrefixes) {
    if (!word.starts_with(prefix)) continue;
    word.remove_prefix(prefix.size());
    if (prefix == kTorch)
      for (const Alias& alias : kTorchs)
        if (word == alias.name) return alias.dtype;
    break;
  }
  const bool with_prefix = word.size() != lowered.size();
  for (const Alias& alias : kAliases)
    if (word == alias.name) return alias.dtype;
  // The notation's own names have no prefix, but for those that are everybody's.
  for (int i = 0; i < kDTypeCount; ++i)
    if (const auto t = static_cast<DType>(i); word == name(t) && (!with_prefix || t == DType::kBool)) return t;
  return std::nullopt;
}

}  // namespace

std::optional<Element> parse_element(std::string_view text) {
  if (text.size() >= 2 && text[0] == 'b')
    if (const std::optional<std::int32_t> n = number(text.substr(1))) return Element::bytes(*n);
  if (const std::optional<Element> element = from_code(text)) return element;
  return text.size() <= base::Nearest::kLongest ? from_alias(text) : std::nullopt;
}

Element element_named(std::string_view text) {
  if (const std::optional<Element> element = parse_element(text)) return *element;
  throw ParseError(fmt::format("there is no dtype '{}'{}", text, layout::dtype_hint(text)));
}

std::string layout::dtype_hint(std::string_view text) {
  for (const auto& row : kAmbiguous)
    if (base::lower(text) == row.name)
      return fmt::format(", because some mean {} and some {}; write one of them",
                         row.meanings.substr(0, row.meanings.find(' ')),
                         row.meanings.substr(row.meanings.rfind(' ') + 1));
  if (text.starts_with('>') && from_code(fmt::format("<{}", text.substr(1))))
    return "; its bytes are in big-endian order, and restride's are little-endian: swap them first";
  if (text.size() > 1 && text[0] == 'b' && text.find_first_not_of("0123456789", 1) == std::string_view::npos)
    return "; opaque elements have 1 to 2147483647 bytes, as in b12";
  if (const auto code = from_code(fmt::format("<{}", text)))
    return fmt::format("; did you mean <{}, which is {}?", text, to_string(*code));
  base::Nearest nearest(text);
  for (int i = 0; i < kDTypeCount; ++i) nearest.show(name(static_cast<DType>(i)));
  for (const Alias& alias : kAliases) nearest.show(alias.name);
  if (!nearest.found().empty()) return fmt::format("; did you mean {}?", nearest.found());
  std::string all = "; there are ";
  for (int i = 0; i < kDTypeCount; ++i) all += fmt::format("{}, ", name(static_cast<DType>(i)));
  return all + "b12 for twelve opaque bytes, and NumPy's and PyTorch's names";
}

}  // namespace restride
