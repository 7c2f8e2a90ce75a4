#include "tools/io/save_array.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>

#include "tools/io/npy.h"
#include "tools/io/safetensors.h"
#include "tools/io/text.h"
#include "tools/io/zip.h"

namespace restride::io {
namespace {

Bytes bytes_of(std::string_view text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

std::uint32_t add_to_crc(std::uint32_t crc, Bytes bytes) {
  return static_cast<std::uint32_t>(crc32_z(crc, bytes.data(), bytes.size()));
}

std::string npy_head(const ArraySpec& a, Extents extents) {
  return npy_header(a.npy_descr.empty() ? npy_dtype(a.layout.element) : a.npy_descr, extents, a.fortran_order);
}

/// A name, its ending left out, that other programs can unpack below the folder they were told: relative, and nowhere
/// upwards.
void require_member_name(const std::string& name) {
  require_utf8(name, "the member's name");
  if (name.size() + 4 > 0xffff) throw ArgumentError("the member's name is longer than 65531 bytes");
  bool outside = name.starts_with('/') || name.find('\\') != std::string::npos || name.find('\0') != std::string::npos;
  bool nameless = false;
  for (std::size_t at = 0, end = 0; end != std::string::npos; at = end + 1) {
    end = name.find('/', at);
    const std::string_view part = std::string_view(name).substr(at, end - at);
    outside |= part == "..";
    nameless |= part.empty() || part == ".";
  }
  if (outside)
    throw ArgumentError(fmt::format(
        "'{}' would be unpacked outside its archive; name the member by a relative path without '..' or '\\'", name));
  if (nameless)
    throw ArgumentError(
        fmt::format("the member's name '{}' is empty or '.', or a part of it between '/' is; name an array", name));
}

/// The arrays of the archive at `path`; nothing when it is no such archive.
std::vector<std::string> arrays_in(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return {};
  const InputFile file(path);
  std::vector<std::string> names;
  const auto add = [&](const auto& entries) {
    for (const auto& e : entries)
      if (!e.name.ends_with('/')) names.push_back(e.name);
  };
  try {
    if (path.ends_with(".npz"))
      add(read_zip_directory(file));
    else
      add(parse_safetensors(file));
  } catch (const IoError&) {
    throw;
  } catch (const Error&) {
    return {};
  }
  return names;
}

/// Throws when the archive at `path` holds more than what `array` replaces: the array of that name or, where the user
/// `named` none, its only one.
void require_nothing_beside(const std::string& array, bool named, const std::string& path) {
  std::vector<std::string> lost = arrays_in(path);
  if (!named && lost.size() == 1) return;
  std::erase(lost, array);
  if (!lost.empty())
    throw IoError(fmt::format("{} holds {}, which would be lost: a written file holds one array; name another file",
                              path, listed(lost)));
}

}  // namespace

PathAndMember target_of(const std::string& spec) {
  PathAndMember where = split_spec(spec);
  if (where.member.empty() || where.path.ends_with(".npz") || where.path.ends_with(".safetensors")) return where;
  struct stat st {};
  if (where.behind.starts_with('/') && ::stat(where.path.c_str(), &st) == 0)
    throw IoError(fmt::format("cannot write {}: {} is no directory; name a file beside it", spec, where.path));
  throw ArgumentError(fmt::format("{} holds one array without a name; leave out '{}'", where.path, where.behind));
}

ArrayWriter::ArrayWriter(const std::string& spec, const ArraySpec& array, bool overwrite) {
  const PathAndMember where = target_of(spec);
  path_ = where.path;
  require_target(path_, overwrite);
  data_bytes_ = static_cast<std::uint64_t>(array.layout.bytes());
  std::vector<std::int64_t> extents;
  for (const Mode& mode : array.layout.modes) extents.push_back(mode.extent);
  const auto ends = [&](std::string_view suffix) { return path_.ends_with(suffix); };

  if (ends(".npy")) {
    head_ = npy_head(array, extents);
  } else if (ends(".npz")) {
    std::string name = where.member.empty() ? "arr_0" : where.member;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    require_member_name(name);
    zip_member_ = name + ".npy";
    require_nothing_beside(zip_member_, !where.member.empty(), path_);
    const std::string npy = npy_head(array, extents);
    crc32_ = add_to_crc(0, bytes_of(npy));
    member_bytes_ = npy.size() + data_bytes_;
    head_ = zip_local_header(zip_member_, member_bytes_) + npy;
  } else if (ends(".safetensors")) {
    const std::string name = where.member.empty() ? "tensor" : where.member;
    head_ = safetensors_header(name, array.layout.element, extents);
    require_nothing_beside(name, !where.member.empty(), path_);
  } else if (!ends(".raw") && !ends(".bin")) {
    throw ArgumentError(
        fmt::format("{}: its ending names no format; end it in .npy, .npz, .safetensors, .raw or .bin", path_));
  }
  if (array.fortran_order && !ends(".npy") && !ends(".npz"))
    throw ArgumentError(
        fmt::format("{}: only .npy and .npz can say that the first mode is the fastest; leave out --order F", path_));

  file_ = std::make_unique<OutputFile>(path_, overwrite);
  file_->reserve(head_.size() + data_bytes_);
  file_->write(0, bytes_of(head_));
}

void ArrayWriter::write(std::uint64_t offset, Bytes bytes) {
  if (!zip_member_.empty()) crc32_ = add_to_crc(crc32_, bytes);
  file_->write(head_.size() + offset, bytes);
}

void ArrayWriter::commit(bool sync) {
  if (!zip_member_.empty()) {
    std::string crc;
    append_le(crc, crc32_, 4);
    file_->write(zip_crc_offset, bytes_of(crc));
    file_->write(head_.size() + data_bytes_, bytes_of(zip_end(zip_member_, member_bytes_, crc32_)));
  }
  file_->commit(sync);
}

}  // namespace restride::io
