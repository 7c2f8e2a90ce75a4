// The canonical form: the one description of a copy that planning, maps and kernels see.
//
// Built once from (dst layout, src layout) by `canonicalize` in five steps (ARCHITECTURE.md, "Canonical form"):
// drop extent-1 modes, refine shapes, make destination strides positive, sort and merge, set the unit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <restride/layout.hpp>

namespace restride::layout {

/// A mode both sides walk together. Strides in bytes; dst_stride > 0, src_stride any (0 repeats).
struct CopyMode {
  std::int64_t extent = 1;
  std::int64_t dst_stride = 0;
  std::int64_t src_stride = 0;
  friend constexpr bool operator==(const CopyMode&, const CopyMode&) = default;
};

/// Two 64-mode shapes refine to at most 127 modes.
inline constexpr int kMaxCopyModes = 2 * kMaxRank;
using CopyModes = detail::FixedVector<CopyMode, kMaxCopyModes>;

struct Canonical {
  /// Innermost first: sorted by dst_stride ascending, neighbours that are contiguous on both sides merged,
  /// no extent-1 mode. Empty means one unit. When `two_sided`, no common refinement of the shapes exists:
  /// src_stride is unset, dst strides keep their order and sign, and `src_modes` holds the source's own modes
  /// (innermost first): unit i of one list is unit i of the other.
  CopyModes modes;
  bool two_sided = false;
  CopyModes src_modes;

  /// Bytes one unit moves. Without a cast both are equal: a power of two 1..16. Under UnitRule::kAligned it
  /// divides every stride, offset and promised alignment. With a cast they are the sizes of the two dtypes.
  std::int32_t dst_unit = 1;
  std::int32_t src_unit = 1;
  bool cast = false;
  DType dst_dtype = DType::kU8;  ///< meaningful with a cast only
  DType src_dtype = DType::kU8;

  /// From the data pointers to the first unit of the canonical walk.
  std::int64_t dst_offset = 0;
  std::int64_t src_offset = 0;
  /// Largest power of two (<= 128) known to divide data pointer + offset on a side.
  std::int32_t dst_align = 1;
  std::int32_t src_align = 1;
  /// The same of src's data pointer itself: what families know of units that the copy leaves out.
  std::int32_t src_data_align = 1;

  std::int64_t units = 0;  ///< number of units; 0: nothing to do
  std::int64_t dst_bytes() const noexcept { return units * dst_unit; }
  std::int64_t src_bytes() const noexcept { return units * src_unit; }
  int rank() const noexcept { return static_cast<int>(modes.size()); }
};

/// Whether a unit may straddle its natural alignment: CPUs read words anywhere, GPUs do not.
enum class UnitRule : std::uint8_t { kAligned, kAnywhere };

/// Which shapes may be paired: equal ones, leading modes of extent 1 aside, or all of one element count, in C order.
enum class Shapes : std::uint8_t { kEqual, kOfOneCount };

/// True when the shapes are equal, leading modes of extent 1 aside.
bool equal_shapes(const Layout& a, const Layout& b) noexcept;

/// Errors: ShapeError (element counts; shapes that differ where equal ones are asked for), CastError, OverlapError (dst
/// writes an element twice), RangeError (also of an offset beyond kMaxBytes, where no memory can be).
/// dst_align/src_align: powers of two promised to divide the data pointers; 1 promises nothing.
/// Cost: a few hundred nanoseconds at rank 4, a few microseconds at rank 64; allocates nothing unless it throws.
Canonical canonicalize(const Layout& dst, const Layout& src, std::int64_t dst_align, std::int64_t src_align,
                       UnitRule rule = UnitRule::kAligned, Shapes shapes = Shapes::kOfOneCount);

/// The form on its way, after one of its steps.
struct CanonicalStep {
  std::string_view name;  ///< given, drop, refine, flip, sort, merge, unit. Static text.
  CopyModes modes;        ///< innermost first, as in Canonical
  CopyModes src_modes;    ///< of src, where it has modes of its own at this step
  bool two_sided = false;
  std::int64_t dst_offset = 0;
  std::int64_t src_offset = 0;
};

/// The steps that `canonicalize` takes from these layouts, told by its own code; the last one's modes are the canonical
/// form's. Two-sided copies have no flip, sort and merge; copies of nothing the first step only. Drop also joins a
/// side's neighbours in one stride. Errors as above; allocates.
std::vector<CanonicalStep> canonical_steps(const Layout& dst, const Layout& src, std::int64_t dst_align,
                                           std::int64_t src_align, UnitRule rule = UnitRule::kAligned);

/// The order in which src is walked as it lies, for families and reports that look from that side: mode numbers of `c`
/// by ascending |src_stride|, broadcast modes (stride 0) last.
detail::FixedVector<std::uint8_t, kMaxCopyModes> modes_by_src_stride(const Canonical& c);

/// "unit 4: (64,3136,8) dst (4,256,802816) src (12544,4,802816)", innermost first, strides in bytes.
std::string to_string(const Canonical& c);

/// Throws OverlapError when two index tuples of the layout name overlapping bytes. Exact for the layouts that
/// nested strides describe; interleaved ones are decided by a bounded search that errs on refusing.
void require_one_to_one(const Layout& dst);

/// Bytes from a layout's first element to its first byte and to the one behind its last; both 0 where it has none.
struct Reach {
  std::int64_t before = 0;  ///< 0 or less
  std::int64_t behind = 0;
};
Reach reach_of(const Layout& layout) noexcept;

/// True when no byte of one side lies between bytes of the other one; pointers are those of the first elements.
bool apart(const void* dst, const Reach& dst_reach, const void* src, const Reach& src_reach) noexcept;

/// True when the bytes that dst writes and those that src reads may intersect, for these data pointers.
/// Exact for disjoint ranges and for interleaved layouts of one common stride (x[::2] against x[1::2]).
bool may_overlap(const void* dst_data, const Layout& dst, const void* src_data, const Layout& src);

}  // namespace restride::layout
