// Layouts and views: which bytes a strided N-d tensor's elements occupy. Pure algebra, no memory is touched.
//
// A Layout is an element type and a list of modes, outermost first as NumPy prints shapes. A mode has
// an extent (elements) and a stride in BYTES: NumPy, ggml and packed records need bytes, and DLPack's
// element strides convert without loss. Views are functions from a layout to a layout.
//
// The notation, the same in tests, errors, command line and reports:
//
//     f32 (8,64,56,56):(200704,1,3584,64)      strides in elements
//     f32 (4):(6)b                             strides in bytes, where elements cannot say it
//     f32 (4):(-1)@3                           element (0) lies 3 elements (behind b: bytes) after the data pointer
//     f32 (8,64,56)                            no strides: contiguous, last mode fastest; an offset may follow, too
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <restride/detail/fixed_vector.hpp>
#include <restride/detail/list.hpp>
#include <restride/detail/visibility.hpp>
#include <restride/dtype.hpp>
#include <restride/error.hpp>

namespace restride RESTRIDE_PUBLIC {

/// The highest rank a layout may have.
inline constexpr int kMaxRank = 64;

/// One dimension of a layout. `stride_bytes` may be zero or negative.
struct Mode {
  std::int64_t extent = 1;
  std::int64_t stride_bytes = 0;
  friend constexpr bool operator==(const Mode&, const Mode&) = default;
};

/// The most bytes of a tensor: more than any machine addresses, and small enough that sums of a few such sizes fit
/// 64 bits.
inline constexpr std::int64_t kMaxBytes = std::int64_t{1} << 60;

using Modes = detail::FixedVector<Mode, kMaxRank>;
/// Parameters that take lists: a span, which any vector or array becomes, or braces: `permute(l, {0, 3, 1, 2})`,
/// `slice(l, {"8:16", ":"})`, `rearrange(l, "(h s) w -> h w s", {{"s", 4}})`.
using Extents = detail::List<std::int64_t>;
using Slices = detail::List<std::string>;
using NamedSizes = detail::List<std::pair<std::string, std::int64_t>>;
using Shape = detail::FixedVector<std::int64_t, kMaxRank>;  ///< extents, outermost first; converts to Extents

/// Where a tensor's elements lie relative to a data pointer.
///
/// Invariants, checked by `validate` and by every function that makes a layout: rank <= 64, extents
/// >= 0, element size >= 1, every byte offset fits in 63 bits, and the elements take up and span at most
/// kMaxBytes.
struct Layout {
  Element element;
  Modes modes;                    ///< outermost first
  std::int64_t offset_bytes = 0;  ///< of element (0, ..., 0) from the data pointer

  int rank() const noexcept { return static_cast<int>(modes.size()); }
  /// Number of elements; 1 for rank 0, 0 if any extent is 0.
  std::int64_t elements() const noexcept;
  /// Bytes of the elements, each counted once: elements() * element.size_bytes.
  std::int64_t bytes() const noexcept { return elements() * element.size_bytes; }
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// A contiguous layout, last mode fastest (C order).
/// Errors: ArgumentError (negative extent, rank above 64), RangeError.
/// Example: `contiguous(DType::kF32, {8, 64})` is `f32 (8,64):(64,1)`.
Layout contiguous(Element element, Extents extents);

/// A layout from extents and strides in bytes, both outermost first.
/// Errors: as `contiguous`, and ShapeError when the two lists differ in length.
Layout strided(Element element, Extents extents, Extents strides_bytes, std::int64_t offset_bytes = 0);

/// Throws where a layout that was filled in by hand breaks one of the invariants above.
void validate(const Layout& layout);

/// Byte range [first, last) touched by the layout relative to the data pointer; {0, 0} when empty.
std::pair<std::int64_t, std::int64_t> byte_range(const Layout& layout);

/// True when elements lie densely in C order.
bool is_contiguous(const Layout& layout) noexcept;

// ---- Views. None touches memory; each throws ShapeError or ArgumentError and names the mode. ----

/// Output mode j is input mode axes[j], as numpy.transpose. Axes may be negative (from the end).
Layout permute(const Layout& layout, Extents axes);

/// Elements start, start+step, ... before stop of one mode. Bounds are taken as Python's slices take
/// them: negative counts from the end, beyond the end is clipped; nullopt is the open bound. step != 0.
Layout slice(const Layout& layout, int mode, std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
             std::int64_t step = 1);

/// One slice a mode, written as Python does: "8:16392", "::-1", ":", or an index "3", which drops the mode.
/// Fewer than rank leave the rest whole. Errors: ParseError, ShapeError.
Layout slice(const Layout& layout, Slices slices);

/// Reverses one mode: the first element becomes the last.
Layout flip(const Layout& layout, int mode);

/// Stretches extent-1 modes (stride becomes 0) and prepends modes, as numpy.broadcast_to.
Layout broadcast_to(const Layout& layout, Extents extents);

/// The same elements in the same C order under other extents. One extent may be -1: the rest.
/// Errors: ShapeError when the counts differ, or when no strides describe it (then copy first); ArgumentError for
/// extents that no layout has.
Layout reshape(const Layout& layout, Extents extents);

/// Splits mode `mode` into modes of these extents (product equal; one may be -1). Always a view.
Layout split(const Layout& layout, int mode, Extents extents);

/// Merges modes first .. first+count-1 into one. Errors: ShapeError when they do not lie in one stride.
Layout merge(const Layout& layout, int first, int count);

/// Removes an extent-1 mode; inserts one.
Layout squeeze(const Layout& layout, int mode);
Layout unsqueeze(const Layout& layout, int mode);

/// The view under another element of the same size (no conversion, bits keep their meaning to you).
Layout reinterpret(const Layout& layout, Element element);

/// A pair of views over one rearrangement, in einops' notation: "b h w c -> b c h w", "(b1 b2) c -> b1 c b2" with sizes
/// {{"b2", 4}}, "b ... c -> b (... c)". Names with sizes and numbers new on the right repeat: "h w -> (h 2) w c".
struct Rearrangement {
  Layout source;  ///< the source split and permuted into the order of the right side
  Shape shape;    ///< of the result, where each parenthesis of the right side is one mode
  /// The memory of the result: dense, under the modes of `source`, so that `copy` takes the pair. The same memory is
  /// `contiguous(element, shape)` to its readers. Errors: as `contiguous`.
  /// Example: `copy({out, r.result(DType::kF32)}, {in, r.source})`.
  Layout result(Element element) const;
};
/// Errors: ParseError for the pattern, ShapeError when it does not fit the layout.
Rearrangement rearrange(const Layout& layout, std::string_view pattern, NamedSizes sizes = {});

// ---- Notation ----

/// Prints a layout in the notation above; `parse_layout` reads it back to an equal layout.
std::string to_string(const Layout& layout);
/// Errors: ParseError, with the column.
Layout parse_layout(std::string_view text);

}  // namespace restride
