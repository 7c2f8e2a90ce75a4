// From what the user writes to an array in an open file: "a.npy", "a.npz:weights", "m.safetensors:lm_head", "raw.bin".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/io/array_entry.h"
#include "tools/io/file.h"

namespace restride::io {

struct OpenArray {
  InputFile file;     ///< the file to map; for a deflated member the nameless one it was unpacked into
  ArrayEntry entry;   ///< its layout's offset counts from the start of `file`
  std::string shown;  ///< how messages and reports name it
};

struct OpenOptions {
  std::optional<Layout> raw_layout;  ///< the bytes are raw and lie like this
  /// Where they begin in the file: 0 unless told, which a file that says itself how its arrays lie must be.
  std::optional<std::int64_t> raw_offset_bytes;
  std::optional<Element> reinterpret;  ///< what the elements really are: same size, same bits
};

/// Told by the first bytes where they tell: of .safetensors by its name, too. `remedy`: what to do about a file that is
/// none. Errors: ParseError, ArgumentError.
FileFormat format_of(const InputFile& file, std::string_view remedy);

/// True when the ending of `path` is a picture's, which is no array.
bool is_picture(const std::string& path);

/// Says what an array's elements really are. Those that were only moved are words from now on, and big-endian ones must
/// be swapped like all others. Errors: those of reinterpret; UnsupportedError (words of another size, packed elements).
void reinterpret_entry(ArrayEntry& entry, const Element& element);

/// The format is told by the first bytes, not the name; "-" is standard input. A member is named behind ':' or '/'; a
/// file with a single one needs no name. Errors: IoError, ParseError, UnsupportedError, ArgumentError (no such member,
/// several and none named; a raw layout without an offset, of a file that itself says how its arrays lie).
OpenArray open_array(const std::string& spec, const OpenOptions& options = {});

/// What a file says of one of its arrays. A file may hold a million.
struct ListedArray {
  std::string name;                   ///< as a member is named behind ':'; empty for .npy, which has no names
  std::string dtype;                  ///< as layouts write it, or the file's own name of what restride does not know
  std::string numpy_dtype;            ///< of opaque elements
  std::vector<std::int64_t> extents;  ///< as far as `problem` is empty
  std::uint64_t bytes = 0;
  bool fortran_order = false;  ///< and not C order too
  std::string problem;         ///< why it cannot be read, though others beside it can
};

struct ArrayList {
  std::string format;  ///< "npy", "npz", "safetensors"
  std::vector<ListedArray> arrays;
};

/// The arrays of a file, or the one that is named as for open_array. Only headers are read.
/// Errors: those of open_array; ArgumentError for a file of bare bytes, too.
ArrayList list_arrays(const std::string& spec);

/// Splits "file.npz:member" or "file.npz/member" at the first place where the left part is a regular file or, for
/// outputs, ends as an array file does.
struct PathAndMember {
  std::string path;
  std::string member;
  std::string behind;  ///< the member with what parts it from the path: ":weights", "/weights"
};
PathAndMember split_spec(const std::string& spec);

}  // namespace restride::io
