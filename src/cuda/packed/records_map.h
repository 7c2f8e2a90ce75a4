// The index map of packed's kernels for records: arrays of structures of 2 to 9 equal fields, of bytes up to 16, into
// one array a field ("planes"), and back.
//
// A thread has a word of every plane and the records they make up, as many words as a record has fields. A word has 16
// bytes. Bytes are also moved by narrower words, so that a thread has registers enough: by words of 8 into 10 to 16
// planes; by words of 4 out of 3 to 9 planes that do not start on 16 bytes, and out of 10 to 16 planes.
// Both sides are accessed by whole words, a warp's side by side; within the warp they change hands through shared
// memory. What is where in the words is known to the compiler, so the transposition is byte permutes.
// Records become planes in either order of their fields, and fields at both ends may be left out. Rows of them may
// start anywhere. A warp, not a block, works within one row, so that rows of an image need not fill blocks.
// With a cast all of that is true of the narrower side's units; the wider side has `ratio` words for each of its words.
#pragma once

#include <cstdint>

#include "src/cuda/walk.h"

namespace restride::cuda {

inline constexpr int kRecordsThreads = 256;
inline constexpr int kMostFields = 9;       ///< a kernel of 3 x 3
inline constexpr int kMostByteFields = 16;  ///< where units are bytes that are moved

struct RecordsArgs {
  Walk batch;
  base::FastDiv chunks;     ///< warps an item of the batch takes
  std::uint32_t warps = 0;  ///< of all items
  std::uint32_t blocks = 0;
  std::uint32_t plane_words = 0;  ///< words of a plane
  std::int64_t plane_stride = 0;  ///< bytes from the plane of a field to that of the next, of any sign
  std::int64_t dst_offset = 0, src_offset = 0;
  std::uint8_t fields = 0;
  std::uint8_t vector_bytes = 16;             ///< a word's
  std::uint8_t first = 0, last = 0;           ///< into planes: fields [first, last) are wanted
  bool guarded = false;                       ///< what is not wanted may lie outside the source's bytes, which are then
  std::int64_t src_first = 0, src_last = 0;   ///< [first, last) relative to src
  bool to_planes = false;                     ///< records are the source
  std::uint8_t src_dtype = 0, dst_dtype = 0;  ///< with a cast
  std::int32_t plane_units = 0;               ///< planes that start anywhere: of a plane; `chunks` are tiles then
  std::uint8_t rotation_shift = 0;            ///< see records_rotation
  std::int32_t shared_bytes = 0;              ///< of a block
};

// X(bytes of src's unit, of dst's, fields): the kernels that convert. Casts of one width are packed's own.
#define RESTRIDE_RECORD_CASTS(X) \
  X(1, 2, 3)                     \
  X(1, 4, 3)                     \
  X(2, 4, 3) X(2, 1, 3) X(4, 1, 3) X(4, 2, 3) X(1, 2, 4) X(1, 4, 4) X(2, 4, 4) X(2, 1, 4) X(4, 1, 4) X(4, 2, 4)

RESTRIDE_HD constexpr bool has_record_cast(int dst_unit, int src_unit, std::int64_t fields) {
#define RESTRIDE_X(src, dst, count) \
  if (src_unit == src && dst_unit == dst && fields == count) return true;
  RESTRIDE_RECORD_CASTS(RESTRIDE_X)
#undef RESTRIDE_X
  return false;
}

/// Where a warp works: its item of the batch, and its first word of every plane.
struct RecordsPlace {
  Offsets at;
  std::uint32_t first = 0;
};
RESTRIDE_HD constexpr RecordsPlace records_place(const RecordsArgs& a, std::uint32_t warp) {
  const std::uint32_t item = a.chunks.quotient(warp);
  return {offsets(a.batch, item), (warp - item * a.chunks.divisor) * 32};
}

/// Where a warp's word `i * 32 + lane` lies in its part of shared memory, in words: lanes then find the words of
/// their records, `fields` apart, in different banks.
RESTRIDE_HD constexpr int records_slot(int word, int fields) { return fields % 2 == 0 ? word + word / fields : word; }

/// Words of shared memory a warp takes.
RESTRIDE_HD constexpr int records_warp_words(int fields) { return records_slot(32 * fields - 1, fields) + 1; }

// ---- Planes that start anywhere: tiles of records, whose words of each plane keep to its sectors ----

inline constexpr int kPlaneBoundary = 32, kRecordsLine = 128;

/// Records of a tile: a 16-byte word of every plane for each thread.
RESTRIDE_HD constexpr int records_of_tile(int unit) { return kRecordsThreads * (16 / unit); }

/// Where a block works: record `first`, less the units by which a plane starts behind a boundary, is the first in its
/// words of that plane; all planes' words hold the records [from, to) or fewer.
struct RecordsTile {
  Offsets at;
  std::int32_t first = 0, from = 0, to = 0;
};
RESTRIDE_HD constexpr RecordsTile records_tile(const RecordsArgs& a, std::uint32_t block, int unit) {
  const std::uint32_t item = a.chunks.quotient(block);
  RecordsTile tile{offsets(a.batch, item)};
  tile.first = static_cast<std::int32_t>(block - item * a.chunks.divisor) * records_of_tile(unit);
  const std::int32_t from = tile.first - (kPlaneBoundary / unit - 1), to = tile.first + records_of_tile(unit);
  tile.from = from < 0 ? 0 : from;
  tile.to = to < a.plane_units ? to : a.plane_units;
  return tile;
}

/// Shared memory that a tile takes: its records, those before it, and what aligns them.
RESTRIDE_HD constexpr int records_tile_bytes(const RecordsArgs& a, int unit) {
  return (records_of_tile(unit) + kPlaneBoundary / unit - 1) * a.fields * unit + kRecordsLine + 15;
}

/// The unit of its word that a lane collects first: the words of 2^rotation_shift lanes lie in different banks.
RESTRIDE_HD constexpr int records_rotation(const RecordsArgs& a, int lane, int units) {
  return lane >> a.rotation_shift & (units - 1);
}

/// Where byte `byte` of a thread's records lies in its planes, of which it has words of `word` bytes: plane * word +
/// byte of the plane's word.
RESTRIDE_HD constexpr int records_plane_byte(int byte, int unit, int fields, int word) {
  const int element = byte / unit;
  return element % fields * word + element / fields * unit + byte % unit;
}

/// The inverse: where byte `byte` of a thread's planes, numbered as above, lies in its records.
RESTRIDE_HD constexpr int records_record_byte(int byte, int unit, int fields, int word) {
  const int plane = byte / word;
  const int inside = byte % word;
  return (inside / unit * fields + plane) * unit + inside % unit;
}

/// Where the units of the wider side's word `wide` of a warp lie among the narrower side's, `ratio` times as narrow:
/// its word, and the first byte in it of 16 / ratio.
struct RecordsPart {
  int word = 0, byte = 0;
};
RESTRIDE_HD constexpr RecordsPart records_part(int wide, int ratio) {
  return {wide / ratio, wide % ratio * (16 / ratio)};
}

}  // namespace restride::cuda
