#include "tools/io/save_array.h"

#include <sys/stat.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>
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

std::string npy_head(const ArraySpec& a) {
  if (a.bits != 0)
    throw UnsupportedError(fmt::format("NumPy has no elements of {} bits; write .safetensors or .raw", a.bits));
  return npy_header(a.npy_descr.empty() ? npy_dtype(a.element) : a.npy_descr, a.extents, a.fortran_order);
}

SafetensorsSpec tensor_of(const ArraySpec& a) {
  const std::string_view dtype = a.safetensors_dtype.empty() ? safetensors_dtype(a.element) : a.safetensors_dtype;
  return {a.name.empty() ? "tensor" : a.name, dtype, a.extents, a.bytes};
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

/// Throws when the archive at `path` holds more than the `arrays` that replace what is there: those of their names or,
/// where the user `named` none, its only one.
void require_nothing_beside(const std::set<std::string_view>& arrays, bool named, const std::string& path) {
  std::vector<std::string> lost = arrays_in(path);
  if (!named && lost.size() == 1) return;
  std::erase_if(lost, [&](const std::string& name) { return arrays.contains(name); });
  if (!lost.empty())
    throw IoError(
        fmt::format("{} holds {}, which would be lost: a written file holds what is copied and no more; name "
                    "another file",
                    path, listed(lost)));
}

/// What `make` gives; errors begin with the name of the array that they are about.
template <class Make>
auto naming(const ArraySpec& a, Make&& make) -> decltype(make()) {
  try {
    return make();
  } catch (const ArgumentError& e) {
    throw ArgumentError(fmt::format("'{}': {}", printable(a.name), e.what()));
  } catch (const UnsupportedError& e) {
    throw UnsupportedError(fmt::format("'{}': {}", printable(a.name), e.what()));
  }
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

std::string member_name(const std::string& array) {
  std::string name = array.ends_with(".npy") ? array.substr(0, array.size() - 4) : array;
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
  return name;
}

ArraySpec spec_of(const Layout& layout) {
  ArraySpec out;
  out.element = layout.element;
  for (const Mode& mode : layout.modes) out.extents.push_back(mode.extent);
  out.bytes = static_cast<std::uint64_t>(layout.bytes());
  return out;
}

std::optional<FileFormat> format_named(const std::string& path) {
  if (path.ends_with(".npy")) return FileFormat::kNpy;
  if (path.ends_with(".npz")) return FileFormat::kNpz;
  if (path.ends_with(".safetensors")) return FileFormat::kSafetensors;
  if (path.ends_with(".raw") || path.ends_with(".bin")) return FileFormat::kRaw;
  return std::nullopt;
}

std::string head_of(FileFormat format, const ArraySpec& array) {
  if (format == FileFormat::kNpy) return npy_head(array);
  if (array.fortran_order)
    throw ArgumentError("only .npy and .npz can say that the first mode is the fastest; leave out --order F");
  if (format == FileFormat::kRaw) return "";
  const SafetensorsSpec tensor = tensor_of(array);
  return safetensors_header({&tensor, 1});
}

ArrayWriter::ArrayWriter(const std::string& spec, ArraySpec array, bool overwrite) {
  const PathAndMember where = target_of(spec);
  path_ = where.path;
  array.name = where.member;
  std::vector<ArraySpec> arrays;
  arrays.push_back(std::move(array));
  start(arrays, !where.member.empty(), {}, overwrite);
}

ArrayWriter::ArrayWriter(const std::string& path, const std::vector<ArraySpec>& arrays,
                         const SafetensorsMetadata& metadata, bool overwrite)
    : path_(path) {
  start(arrays, true, metadata, overwrite);
}

void ArrayWriter::start(const std::vector<ArraySpec>& arrays, bool named, const SafetensorsMetadata& metadata,
                        bool overwrite) {
  require_target(path_, overwrite);
  const std::optional<FileFormat> format = format_named(path_);
  if (!format && is_picture(path_))
    throw ArgumentError(
        fmt::format("{0}: restride writes arrays, not pictures; write .npy, and in Python "
                    "PIL.Image.fromarray(np.load(...)).save('{0}')",
                    path_));
  if (!format)
    throw ArgumentError(
        fmt::format("{}: its ending names no format; end it in .npy, .npz, .safetensors, .raw or .bin", path_));
  format_ = *format;
  std::set<std::string_view> names;
  if (format_ == FileFormat::kNpz) {
    place_zip_members(arrays);
    for (const ZipEntry& m : zip_members_) names.insert(m.name);
  } else if (format_ == FileFormat::kSafetensors) {
    place_tensors(arrays, metadata);
    for (const ArraySpec& a : arrays) names.insert(a.name.empty() ? std::string_view("tensor") : a.name);
  } else {
    heads_.push_back(head_of(format_, arrays[0]));
    data_at_.push_back(heads_[0].size());
    end_ = data_at_[0] + arrays[0].bytes;
  }
  if (!names.empty()) require_nothing_beside(names, named, path_);

  file_ = std::make_unique<OutputFile>(path_, overwrite);
  file_->reserve(end_);
  for (std::size_t i = 0; i < heads_.size(); ++i) file_->write(data_at_[i] - heads_[i].size(), bytes_of(heads_[i]));
  heads_ = {};
}

void ArrayWriter::place_zip_members(const std::vector<ArraySpec>& arrays) {
  std::set<std::string_view> seen;
  for (const ArraySpec& a : arrays) {
    const auto name_of = [&] { return (a.name.empty() ? "arr_0" : member_name(a.name)) + ".npy"; };
    const std::string name = arrays.size() == 1 ? name_of() : naming(a, name_of);
    const std::string npy = arrays.size() == 1 ? npy_head(a) : naming(a, [&] { return npy_head(a); });
    const ZipEntry member{name, end_, npy.size() + a.bytes, add_to_crc(0, bytes_of(npy))};
    heads_.push_back(zip_local_header(name, member.bytes) + npy);
    data_at_.push_back(end_ + heads_.back().size());
    end_ = data_at_.back() + a.bytes;
    zip_members_.push_back(member);
  }
  for (const ZipEntry& m : zip_members_)
    if (!seen.insert(m.name).second)
      throw ArgumentError(fmt::format("two arrays would be the member '{}'; names must differ", printable(m.name)));
}

/// The widest elements first, as the format's own writer has them: so each tensor is aligned to its elements.
void ArrayWriter::place_tensors(const std::vector<ArraySpec>& arrays, const SafetensorsMetadata& metadata) {
  std::vector<std::size_t> order(arrays.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return arrays[a].element.size_bytes > arrays[b].element.size_bytes;
  });
  std::vector<SafetensorsSpec> tensors;
  for (const std::size_t i : order) {
    const ArraySpec& a = arrays[i];
    const auto make = [&] {
      if (a.fortran_order) (void)head_of(FileFormat::kSafetensors, a);  // refuses it
      return tensor_of(a);
    };
    tensors.push_back(arrays.size() == 1 ? make() : naming(a, make));
  }
  std::string header = safetensors_header(tensors, metadata);
  end_ = header.size();
  data_at_.resize(arrays.size());
  for (const std::size_t i : order) data_at_[i] = std::exchange(end_, end_ + arrays[i].bytes);
  if (arrays.empty()) throw ArgumentError(path_ + ": there are no arrays to write");
  heads_.assign(arrays.size(), "");
  heads_[order.front()] = std::move(header);
}

void ArrayWriter::write(std::size_t array, std::uint64_t offset, Bytes bytes) {
  if (!zip_members_.empty()) zip_members_[array].crc32 = add_to_crc(zip_members_[array].crc32, bytes);
  file_->write(data_at_[array] + offset, bytes);
}

void ArrayWriter::commit(bool sync) {
  for (const ZipEntry& m : zip_members_) {
    std::string crc;
    append_le(crc, m.crc32, 4);
    file_->write(m.header_offset + kZipCrcOffset, bytes_of(crc));
  }
  if (!zip_members_.empty()) file_->write(end_, bytes_of(zip_end(zip_members_, end_)));
  file_->commit(sync);
}

}  // namespace restride::io
