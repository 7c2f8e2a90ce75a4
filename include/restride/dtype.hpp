// Element types: what a layout's elements are, how wide they are and what they are called.
//
// A row of RESTRIDE_DTYPES describes a dtype: the enumerator, the name used in the notation, the size in bytes, and the
// kind that decides which casts exist. What else a new dtype needs, ARCHITECTURE.md says ("How to add").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <restride/detail/visibility.hpp>

namespace restride RESTRIDE_PUBLIC {

/// How a cast treats a dtype. `kBytes` elements are opaque: they move, they never convert.
enum class DTypeKind : std::uint8_t { kBool, kUnsigned, kSigned, kFloat, kComplex, kBytes };

// X(enumerator, name, size_bytes, kind)
#define RESTRIDE_DTYPES(X)        \
  X(kBool, "bool", 1, kBool)      \
  X(kU8, "u8", 1, kUnsigned)      \
  X(kU16, "u16", 2, kUnsigned)    \
  X(kU32, "u32", 4, kUnsigned)    \
  X(kU64, "u64", 8, kUnsigned)    \
  X(kI8, "i8", 1, kSigned)        \
  X(kI16, "i16", 2, kSigned)      \
  X(kI32, "i32", 4, kSigned)      \
  X(kI64, "i64", 8, kSigned)      \
  X(kF16, "f16", 2, kFloat)       \
  X(kBF16, "bf16", 2, kFloat)     \
  X(kF32, "f32", 4, kFloat)       \
  X(kF64, "f64", 8, kFloat)       \
  X(kF8E4M3, "f8e4m3", 1, kFloat) \
  X(kF8E5M2, "f8e5m2", 1, kFloat) \
  X(kC64, "c64", 8, kComplex)     \
  X(kC128, "c128", 16, kComplex)

/// The dtypes of the library. The numeric values are part of the C ABI (restride.h) and never change.
enum class DType : std::uint8_t {
#define RESTRIDE_X(e, name, size, kind) e,
  RESTRIDE_DTYPES(RESTRIDE_X)
#undef RESTRIDE_X
      kBytes,  ///< opaque elements of any byte size, written `b12` for twelve bytes
};

/// Number of dtypes with a row in the table, `kBytes` excluded.
inline constexpr int kDTypeCount = static_cast<int>(DType::kBytes);

/// Size in bytes of one element of `t`; 0 for `kBytes`, whose size is its Element's own.
constexpr std::int64_t size_bytes(DType t) noexcept {
  constexpr std::int64_t kSizes[] = {
#define RESTRIDE_X(e, name, size, kind) size,
      RESTRIDE_DTYPES(RESTRIDE_X)
#undef RESTRIDE_X
          0};
  return kSizes[static_cast<int>(t)];
}

constexpr DTypeKind kind(DType t) noexcept {
  constexpr DTypeKind kKinds[] = {
#define RESTRIDE_X(e, name, size, kind) DTypeKind::kind,
      RESTRIDE_DTYPES(RESTRIDE_X)
#undef RESTRIDE_X
          DTypeKind::kBytes};
  return kKinds[static_cast<int>(t)];
}

/// The notation's name of a dtype; `b` for `kBytes` (its size follows in an Element's name).
constexpr std::string_view name(DType t) noexcept {
  constexpr std::string_view kNames[] = {
#define RESTRIDE_X(e, name, size, kind) name,
      RESTRIDE_DTYPES(RESTRIDE_X)
#undef RESTRIDE_X
          "b"};
  return static_cast<int>(t) <= kDTypeCount ? kNames[static_cast<int>(t)] : "?";
}

/// An element: a dtype and its size. Only `kBytes` elements have a size of their own choosing.
struct Element {
  DType dtype = DType::kF32;
  std::int64_t size_bytes = 4;

  constexpr Element() = default;
  constexpr Element(DType t) : dtype(t), size_bytes(restride::size_bytes(t)) {}  // NOLINT: implicit on purpose
  /// An opaque element of `n` bytes, n >= 1.
  static constexpr Element bytes(std::int64_t n) {
    Element e;
    e.dtype = DType::kBytes;
    e.size_bytes = n;
    return e;
  }
  friend constexpr bool operator==(const Element&, const Element&) = default;
};

/// "f32", "b12".
std::string to_string(const Element& e);

/// The element of that name, or nothing when there is none ("b0" and sizes above 2^31-1 are none). Names are the
/// notation's ("f32", "b12"), NumPy's ("float32", "half", "<f4", "|V12"), PyTorch's ("torch.float32", "torch.long") and
/// safetensors' ("F8_E4M3"); "float" and "int" are none, because not all mean the same size by them.
std::optional<Element> parse_element(std::string_view text);

/// The same. Errors: ParseError, which names what may have been meant.
Element element_named(std::string_view text);

/// True when an element of `src` may become one of `dst`: every pair but complex to real, and opaque
/// bytes only into opaque bytes of the same size.
constexpr bool castable(const Element& dst, const Element& src) noexcept {
  if (dst == src) return true;
  if (dst.dtype == DType::kBytes || src.dtype == DType::kBytes) return false;
  return !(kind(src.dtype) == DTypeKind::kComplex && kind(dst.dtype) != DTypeKind::kComplex);
}

}  // namespace restride
