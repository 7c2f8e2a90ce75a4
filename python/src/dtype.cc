#include "python/src/dtype.h"

#include <cstring>
#include <string_view>
#include <vector>

namespace restride::python {
namespace {

constexpr const char* kLongNames[] = {"bool",    "uint8",         "uint16",      "uint32",    "uint64",    "int8",
                                      "int16",   "int32",         "int64",       "float16",   "bfloat16",  "float32",
                                      "float64", "float8_e4m3fn", "float8_e5m2", "complex64", "complex128"};
static_assert(std::size(kLongNames) == kDTypeCount);

/// ml_dtypes' types of one byte that restride moves and does not convert, with DLPack's codes.
constexpr struct {
  const char* name;
  std::uint8_t code;
} kOtherFloats[] = {{"float8_e3m4", kDLFloat8_e3m4},
                    {"float8_e4m3", kDLFloat8_e4m3},
                    {"float8_e4m3b11fnuz", kDLFloat8_e4m3b11fnuz},
                    {"float8_e4m3fnuz", kDLFloat8_e4m3fnuz},
                    {"float8_e5m2fnuz", kDLFloat8_e5m2fnuz},
                    {"float8_e8m0fnu", kDLFloat8_e8m0fnu}};

std::int64_t packed(DLDataType t) {
  return std::int64_t{t.code} | std::int64_t{t.bits} << 8 | std::int64_t{t.lanes} << 16;
}

/// The dtype of a letter (b bool, u, i, f, c) and a size; false where there is none.
bool find_dtype(char letter, std::int64_t size, DType* out) {
  struct Row {
    char letter;
    int size;
    DType dtype;
  };
  static constexpr Row kRows[] = {{'b', 1, DType::kBool}, {'u', 1, DType::kU8},   {'u', 2, DType::kU16},
                                  {'u', 4, DType::kU32},  {'u', 8, DType::kU64},  {'i', 1, DType::kI8},
                                  {'i', 2, DType::kI16},  {'i', 4, DType::kI32},  {'i', 8, DType::kI64},
                                  {'f', 2, DType::kF16},  {'f', 4, DType::kF32},  {'f', 8, DType::kF64},
                                  {'c', 8, DType::kC64},  {'c', 16, DType::kC128}};
  for (const Row& row : kRows)
    if (row.letter == letter && row.size == size) {
      *out = row.dtype;
      return true;
    }
  return false;
}

[[noreturn]] void refuse_order(const char* who, const std::string& dtype) {
  raise(PyExc_TypeError, std::string(who) + " has dtype " + dtype +
                             ", whose byte order is not this machine's: convert it first, "
                             "x.astype(x.dtype.newbyteorder('=')), or move the bits with x.view('u4') of its size");
}

Kind opaque(std::int64_t size, const char* who, const std::string& dtype) {
  if (size < 1) raise(PyExc_TypeError, std::string(who) + " has dtype " + dtype + ", whose elements have no bytes");
  return {Element::bytes(size)};
}

bool flag_of(PyObject* x, const char* name) {
  const int truth = PyObject_IsTrue(own(PyObject_GetAttrString(x, name)).get());
  if (truth < 0) throw Raised{};
  return truth != 0;
}

/// What a dtype says of itself, without its descr.
Kind asked_of_descr(PyObject* descr, const char* who) {
  const std::string shown = str(descr);
  if (flag_of(descr, "hasobject"))
    raise(PyExc_TypeError, std::string(who) + " has dtype " + shown +
                               ", which holds Python objects: restride copies plain bytes; give the array a fixed "
                               "dtype first, x.astype(np.float64) for instance");
  if (!flag_of(descr, "isnative")) refuse_order(who, shown);
  const auto size = integer_of(own(PyObject_GetAttrString(descr, "itemsize")).get(), "dtype.itemsize");
  const Ref scalar = own(PyObject_GetAttrString(descr, "type"));
  const std::string module = str(own(PyObject_GetAttrString(scalar.get(), "__module__")).get());
  if (module.rfind("ml_dtypes", 0) == 0) {
    if (shown == "bfloat16") return {Element(DType::kBF16)};
    if (shown == "float8_e4m3fn") return {Element(DType::kF8E4M3)};
    if (shown == "float8_e5m2") return {Element(DType::kF8E5M2)};
    Kind kind = opaque(size, who, shown);
    for (const auto& other : kOtherFloats)
      if (shown == other.name) kind.code = packed({other.code, 8, 1});
    return kind;
  }
  const std::string letter = str(own(PyObject_GetAttrString(descr, "kind")).get());
  DType dtype;
  if (find_dtype(letter[0], size, &dtype)) return {Element(dtype)};
  return opaque(size, who, shown);
}

}  // namespace

bool same_kind(const Kind& a, const Kind& b) {
  if (a.element != b.element) return false;
  if (a.element.dtype != DType::kBytes) return true;
  if (a.code >= 0 || b.code >= 0) return a.code == b.code;
  if (a.descr != nullptr && b.descr != nullptr) {
    const int equal = PyObject_RichCompareBool(a.descr, b.descr, Py_EQ);
    if (equal < 0) throw Raised{};
    return equal != 0;
  }
  return a.format != nullptr && b.format != nullptr && std::strcmp(a.format, b.format) == 0;
}

Kind kind_of(DLDataType t, const char* who) {
  const std::int64_t bits = std::int64_t{t.bits} * t.lanes;
  if (bits < 8 || bits % 8 != 0 || (t.lanes == 1 && t.bits < 8))
    raise(PyExc_TypeError, std::string(who) + " has elements of " + std::to_string(bits) +
                               " bits; restride moves whole bytes: view it as uint8 first");
  if (t.lanes == 1) {
    DType dtype;
    const char* letters = "iuf??cb";
    if (t.code == kDLBfloat && bits == 16) return {Element(DType::kBF16)};
    if (t.code == kDLFloat8_e4m3fn) return {Element(DType::kF8E4M3)};
    if (t.code == kDLFloat8_e5m2) return {Element(DType::kF8E5M2)};
    if (t.code <= kDLBool && find_dtype(letters[t.code], bits / 8, &dtype)) return {Element(dtype)};
  }
  return {Element::bytes(bits / 8), packed(t)};
}

Kind kind_of_descr(PyObject* descr, const char* who) {
  // NumPy's own dtypes are single objects, so their address says all. A few others are remembered, too.
  struct Known {
    PyObject* descr;
    Kind kind;
  };
  static std::vector<Known> known;  // under the GIL
  static std::size_t oldest = 0;
  for (const Known& k : known)
    if (k.descr == descr) return k.kind;
  Kind kind = asked_of_descr(descr, who);
  kind.descr = descr;
  constexpr std::size_t kMost = 32;
  Py_INCREF(descr);
  if (known.size() < kMost) {
    known.push_back({descr, kind});
  } else {
    std::swap(known[oldest].descr, descr);
    known[oldest].kind = kind;
    oldest = (oldest + 1) % kMost;
    Py_DECREF(descr);
  }
  return kind;
}

Kind kind_of_format(const char* format, std::int64_t itemsize, const char* who) {
  if (format == nullptr) format = "B";
  const char* at = format;
  const bool swapped = *at == '>' || *at == '!';
  if (std::strchr("@=<>!^", *at) != nullptr && *at != '\0') ++at;
  if (std::strchr(at, 'O') != nullptr)
    raise(PyExc_TypeError, std::string(who) + " has buffer format '" + format + "', which holds Python objects");
  if (swapped && itemsize > 1) refuse_order(who, std::string("'") + format + "'");
  const std::string_view code = at;
  char letter = '\0';
  if (code == "?") letter = 'b';
  if (code.size() == 1 && std::strchr("BHILQN", code[0]) != nullptr) letter = 'u';
  if (code.size() == 1 && std::strchr("bhilqn", code[0]) != nullptr) letter = 'i';
  if (code.size() == 1 && std::strchr("efd", code[0]) != nullptr) letter = 'f';
  if (code == "Zf" || code == "Zd" || code == "F" || code == "D") letter = 'c';
  DType dtype;
  if (find_dtype(letter, itemsize, &dtype)) return {Element(dtype)};
  Kind kind = opaque(itemsize, who, std::string("'") + format + "'");
  kind.format = format;
  return kind;
}

Kind kind_of_typestr(PyObject* typestr, const char* who) {
  const std::string text = text_of(typestr, "the interface's typestr");
  if (text.size() < 3) raise(PyExc_TypeError, std::string(who) + " has typestr '" + text + "', which is none");
  const std::int64_t size = std::atoll(text.c_str() + 2);
  if (text[1] == 'O') raise(PyExc_TypeError, std::string(who) + " holds Python objects (typestr '" + text + "')");
  if (text[0] == '>' && size > 1) refuse_order(who, "'" + text + "'");
  DType dtype;
  if (find_dtype(text[1], size, &dtype)) return {Element(dtype)};
  Kind kind = opaque(text[1] == 'U' ? 4 * size : size, who, "'" + text + "'");
  kind.descr = typestr;
  return kind;
}

std::string long_name(const Element& element) {
  return element.dtype == DType::kBytes ? to_string(element) : kLongNames[static_cast<int>(element.dtype)];
}

std::string name_of(const Kind& kind) {
  if (kind.element.dtype != DType::kBytes) return long_name(kind.element);
  if (kind.descr != nullptr) return str(kind.descr);
  for (const auto& other : kOtherFloats)
    if (kind.code >= 0 && (kind.code & 0xff) == other.code) return other.name;
  if (kind.format != nullptr) return std::string("'") + kind.format + "'";
  return to_string(kind.element);
}

}  // namespace restride::python
