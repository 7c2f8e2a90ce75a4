// From a case file's entry to two layouts, and the changes a run may ask for: another element, a smaller size.
#pragma once

#include <cstdint>
#include <string>

#include <restride/layout.hpp>

#include "tools/bench/case_file.h"

namespace restride::bench {

/// One side of a copy: a layout, and how much memory it needs.
struct Side {
  Layout layout;                  ///< relative to the first byte of a page-aligned buffer
  std::int64_t buffer_bytes = 0;  ///< from the start of that buffer to the last byte of the layout
  std::int64_t useful_bytes = 0;  ///< bytes of the elements, a broadcast source's counted once
};

/// A copy to measure.
struct Case {
  CaseSpec spec;
  Side src;
  Side dst;
  bool reshape = false;  ///< the sides differ in shape, and elements pair in C order
  bool scaled = false;   ///< smaller than the case file says
  std::string error;     ///< why it cannot be run; then it has no sides
};

/// Builds the views. The layouts' offsets keep their place inside a page, so alignment is the case's own, but
/// bytes in front of the first element that nobody touches take no memory.
/// Errors: whatever the views throw (ShapeError, ArgumentError, ParseError, RangeError), with the case's name.
Case build_case(const CaseSpec& spec);

/// The case with both elements replaced, and "@u8" behind its name. Casts and cases that give their strides in
/// bytes are returned unchanged.
CaseSpec with_element(const CaseSpec& spec, Element element);

/// The case with outermost extents reduced until neither side holds more than `max_bytes` of elements.
///
/// Extents are cut from the outermost inwards and keep their remainder modulo 64, so that odd stays odd; those
/// of 8 and less are cut last, because cutting them makes another kind of case. Slices of the source and of the
/// destination become shorter where they must. A case with `dst_shape` is cut by a common divisor of both outermost
/// extents. Returns the case unchanged when it fits.
/// Errors: as `build_case`; ShapeError when the case cannot be made smaller.
CaseSpec scale_to(const CaseSpec& spec, std::int64_t max_bytes);

/// Bytes of the whole sectors that a layout's elements lie in, for sectors of `sector_bytes` that cannot be read
/// in part. Holes shorter than a sector are counted as read; a dense layout gives its own bytes.
std::int64_t sector_bytes_touched(const Layout& layout, std::int64_t sector_bytes);

}  // namespace restride::bench
