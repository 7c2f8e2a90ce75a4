#include "tools/io/open_array.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tools/io/naming.h"
#include "tools/io/npy.h"
#include "tools/io/npz.h"
#include "tools/io/safetensors.h"
#include "tools/io/text.h"
#include "tools/io/zip.h"

namespace restride::io {
namespace {

bool is_regular_file(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode);
}

// What a member may stand behind, though it does not exist yet; .npy only to say that it has none.
bool may_hold_members(const std::string& path) {
  struct stat st {};
  const bool directory = ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
  if (directory) return false;
  return path.ends_with(".npz") || path.ends_with(".safetensors") || path.ends_with(".npy");
}

/// The entry that `wanted` names, else the one that it names without `suffix`; the only one when nothing is wanted.
/// A copy, because the entries may end with the call.
template <class Entries>
typename Entries::value_type choose(const Entries& entries, const std::string& wanted, const std::string& suffix,
                                    const std::string& path) {
  std::vector<const typename Entries::value_type*> found;
  for (const std::string& name : {wanted, wanted + suffix}) {
    for (const auto& e : entries)
      if (wanted.empty() || e.name == name) found.push_back(&e);
    if (!found.empty()) break;
  }
  if (found.size() == 1) return *found[0];
  if (entries.empty()) throw ArgumentError(path + " holds no arrays");
  if (found.size() > 1 && !wanted.empty())
    throw ParseError(fmt::format("it holds '{}' more than once", printable(wanted)));
  std::vector<std::string> all;
  all.reserve(entries.size());
  for (const auto& e : entries) all.push_back(suffix.empty() ? e.name : array_of_member(e.name));
  const std::string names = listed(all);
  throw ArgumentError(wanted.empty() ? fmt::format("{} holds {} arrays; name one, as in '{}:{}'. It has {}", path,
                                                   entries.size(), path, printable(all[0]), names)
                                     : fmt::format("{} holds no '{}'; it has {}", path, printable(wanted), names));
}

OpenArray open_npz(InputFile file, const std::string& wanted) {
  std::vector<ZipMember> arrays = read_zip_directory(file);
  // Folders and notes may lie beside the arrays; whoever names one hears that it is none.
  std::erase_if(arrays, [&](const ZipMember& m) { return !m.name.ends_with(".npy") && m.name != wanted; });
  const ZipMember member = choose(arrays, wanted, ".npy", file.path());
  const std::string shown = file.path() + ":" + member.name;
  ArrayEntry entry = parse_npz_member(file, member);  // of a deflated one before all of it is unpacked
  if (member.deflated) return {unpack_npz_member(file, member), std::move(entry), shown};
  return {std::move(file), std::move(entry), shown};
}

OpenArray open_safetensors(InputFile file, const std::string& wanted) {
  ArrayEntry entry = entry_of(choose(parse_safetensors(file), wanted, "", file.path()));
  if (!entry.unsupported.empty()) throw UnsupportedError(entry.unsupported);
  std::string shown = file.path() + ":" + entry.name;
  return {std::move(file), std::move(entry), std::move(shown)};
}

/// The length of a header that can be there, and a header's first character.
bool looks_like_safetensors(const InputFile& file) {
  if (file.size() < 10) return false;
  const std::vector<std::uint8_t> head = file.read(0, 9);
  return head[8] == '{' && load_le(head.data(), 8) <= file.size() - 8;
}

/// The first bytes, zeros behind the end of a shorter file.
std::string first_bytes(const InputFile& file) {
  std::string head(6, '\0');
  const std::size_t there = std::min<std::uint64_t>(head.size(), file.size());
  file.read(0, std::span(reinterpret_cast<std::uint8_t*>(head.data()), there));
  return head;
}

/// Told by the first bytes alone; nothing where they do not tell.
std::optional<FileFormat> format_by_content(const InputFile& file) {
  const std::string head = first_bytes(file);
  if (head == "\x93NUMPY") return FileFormat::kNpy;
  if (head.starts_with("PK\3\4") || head.starts_with("PK\5\6")) return FileFormat::kNpz;
  if (looks_like_safetensors(file)) return FileFormat::kSafetensors;
  return std::nullopt;
}

OpenArray open_raw(InputFile file, const OpenOptions& options) {
  if (!options.raw_offset_bytes && format_by_content(file))
    throw ArgumentError(fmt::format(
        "{} says itself how its elements lie; leave out --in-layout, or say by --in-offset where the bytes begin",
        file.path()));
  ArrayEntry entry;
  entry.layout = *options.raw_layout;
  const std::int64_t offset = options.raw_offset_bytes.value_or(0);
  if (offset < 0 || __builtin_add_overflow(entry.layout.offset_bytes, offset, &entry.layout.offset_bytes))
    throw ArgumentError(fmt::format("offset {} is negative or too large", offset));
  validate(entry.layout);
  require_within(entry.layout, file.size(), "bare bytes");
  std::string shown = file.path();
  return {std::move(file), std::move(entry), std::move(shown)};
}

std::string shown_path(const PathAndMember& where) { return where.path == "-" ? "standard input" : where.path; }

void refuse_member_of_npy(const PathAndMember& where) {
  if (!where.member.empty()) throw ArgumentError(shown_path(where) + " is one array; leave out '" + where.behind + "'");
}

OpenArray open_by_content(const PathAndMember& where, const OpenOptions& options) {
  InputFile file = open_input(where.path);
  if (options.raw_layout) return open_raw(std::move(file), options);
  switch (format_of(file, "say how its bytes lie: --in-layout 'f32 (480,640,3)'")) {
    case FileFormat::kNpz: return open_npz(std::move(file), where.member);
    case FileFormat::kSafetensors: return open_safetensors(std::move(file), where.member);
    default: break;
  }
  refuse_member_of_npy(where);
  ArrayEntry entry = parse_npy(file);
  std::string shown = file.path();
  return {std::move(file), std::move(entry), std::move(shown)};
}

ListedArray listed_array(const std::string& name, const ArrayEntry& entry) {
  ListedArray out{name, to_string(entry.layout.element), entry.npy_descr, {}, 0, false, ""};
  for (const Mode& m : entry.layout.modes) out.extents.push_back(m.extent);
  out.bytes = static_cast<std::uint64_t>(entry.layout.bytes());
  out.fortran_order = !is_contiguous(entry.layout);
  return out;
}

/// What cannot be read is listed, too, because what lies beside it can.
ListedArray listed_member(const InputFile& file, const ZipMember& member) {
  const std::string name = array_of_member(member.name);
  try {
    return listed_array(name, parse_npz_member(file, member));
  } catch (const Error& e) {
    return {name, "", "", {}, member.bytes, false, e.what()};
  }
}

ListedArray listed_tensor(const SafetensorsTensor& t) {
  ListedArray out{t.name, t.unknown_dtype, "", t.extents, t.last - t.first, false, ""};
  if (t.dtype != nullptr)
    out.dtype = t.dtype->dtype == DType::kBytes ? t.dtype->name : name(t.dtype->dtype);
  else
    out.problem = entry_of(t).unsupported;
  return out;
}

ArrayList list_by_content(const PathAndMember& where) {
  const InputFile file = open_input(where.path);
  ArrayList out;
  switch (format_of(file, "nothing in it says what its bytes are")) {
    case FileFormat::kNpy: refuse_member_of_npy(where); return {"npy", {listed_array("", parse_npy(file))}};
    case FileFormat::kNpz:
      out.format = "npz";
      for (const ZipMember& member : read_zip_directory(file))
        if (member.name.ends_with(".npy")) out.arrays.push_back(listed_member(file, member));
      break;
    case FileFormat::kSafetensors:
      out.format = "safetensors";
      for (const SafetensorsTensor& t : parse_safetensors(file)) out.arrays.push_back(listed_tensor(t));
      break;
    default: break;
  }
  if (where.member.empty()) return out;
  const std::string wanted = out.format == "npz" ? array_of_member(where.member) : where.member;
  return {out.format, {choose(out.arrays, wanted, "", where.path)}};
}

bool looks_like_picture(std::string_view head, const std::string& path) {
  if (head.starts_with("\x89PNG") || head.starts_with("\xff\xd8\xff") || head.starts_with("GIF8")) return true;
  return is_picture(path) && (head.starts_with("BM") || head.starts_with("RIFF"));
}

/// How to read the pixels of a binary PGM or PPM, which lie bare behind a header: "P6 640 480 255 " with any blanks and
/// with comments. Empty where it is none, or not of bytes.
std::string how_netpbm_lies(const InputFile& file) {
  std::array<std::uint8_t, 256> bytes{};
  const std::size_t there = std::min<std::uint64_t>(bytes.size(), file.size());
  file.read(0, std::span(bytes).first(there));
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()), there);
  if (!head.starts_with("P5") && !head.starts_with("P6")) return "";
  std::size_t at = 2;
  std::array<std::uint64_t, 3> numbers{};  // columns, rows, the largest value
  for (std::uint64_t& number : numbers) {
    const std::size_t blank = at;
    while (at < there && (std::isspace(bytes[at]) != 0 || bytes[at] == '#'))
      at = bytes[at] == '#' ? std::min(head.find('\n', at), there) : at + 1;
    const auto [stop, error] = std::from_chars(head.data() + at, head.data() + there, number);
    if (at == blank || error != std::errc()) return "";
    at = static_cast<std::size_t>(stop - head.data());
  }
  const auto [columns, rows, largest] = numbers;
  if (at == there || std::isspace(bytes[at]) == 0 || largest == 0 || largest > 255) return "";
  return fmt::format("--in-layout 'u8 ({},{}{})' --in-offset {}", rows, columns, head[1] == '6' ? ",3" : "", at + 1);
}

}  // namespace

FileFormat format_of(const InputFile& file, std::string_view remedy) {
  const std::string& path = file.path();
  if (const auto format = format_by_content(file)) return *format;
  if (path.ends_with(".safetensors")) return FileFormat::kSafetensors;
  if (path.ends_with(".npy") || path.ends_with(".npz"))
    throw ParseError(file.size() == 0 ? "it is empty" : "it is damaged: it does not begin as its name says");
  if (looks_like_picture(first_bytes(file), path))
    throw ArgumentError(
        fmt::format("{0} is a picture, whose pixels are packed; unpack them into an array first, in Python by "
                    "np.save('{1}.npy', np.asarray(PIL.Image.open('{0}')))",
                    path, path.substr(0, path.rfind('.'))));
  if (const std::string lies = how_netpbm_lies(file); !lies.empty())
    throw ArgumentError(fmt::format(
        "{} is a picture whose pixels lie bare behind its header; copy and explain read them with {}", path, lies));
  throw ArgumentError(fmt::format("{} is no .npy, .npz or .safetensors file; {}", path, remedy));
}

bool is_picture(const std::string& path) {
  static constexpr std::string_view kEndings[] = {".png",  ".jpg", ".jpeg", ".gif", ".bmp",
                                                  ".webp", ".tif", ".tiff", ".ppm", ".pgm"};
  return std::any_of(std::begin(kEndings), std::end(kEndings), [&](std::string_view e) { return path.ends_with(e); });
}

PathAndMember split_spec(const std::string& spec) {
  if (spec == "-") return {spec, "", ""};
  if (is_regular_file(spec)) return {spec, "", ""};
  for (const char separator : {':', '/'})
    for (std::size_t at = spec.find(separator); at != std::string::npos; at = spec.find(separator, at + 1)) {
      const std::string path = spec.substr(0, at);
      if (at + 1 < spec.size() && (is_regular_file(path) || may_hold_members(path)))
        return {path, spec.substr(at + 1), spec.substr(at)};
    }
  return {spec, "", ""};
}

void reinterpret_entry(ArrayEntry& entry, const Element& element) {
  if (entry.bits != 0)
    throw UnsupportedError(
        fmt::format("{} has {} bits an element, and no dtype of restride has so few; leave out "
                    "--in-dtype",
                    entry.safetensors_dtype, entry.bits));
  entry.layout = reinterpret(entry.layout, element);
  entry.npy_descr.clear();
  entry.safetensors_dtype.clear();
  const std::int64_t from = std::exchange(entry.opaque_word_bytes, 0);
  if (element.dtype == DType::kBytes) return;
  entry.swap_bytes = std::max(entry.swap_bytes, from);
  const std::int64_t word = kind(element.dtype) == DTypeKind::kComplex ? element.size_bytes / 2 : element.size_bytes;
  if (entry.swap_bytes != 0 && entry.swap_bytes != word)
    throw UnsupportedError(
        fmt::format("the elements are big-endian words of {} bytes, and {} consists of words of {}; save the file in "
                    "little-endian order first, or name a dtype of such words",
                    entry.swap_bytes, to_string(element), word));
}

OpenArray open_array(const std::string& spec, const OpenOptions& options) {
  const PathAndMember where = split_spec(spec);
  OpenArray array = naming(shown_path(where), [&] { return open_by_content(where, options); });
  if (options.reinterpret) reinterpret_entry(array.entry, *options.reinterpret);
  return array;
}

ArrayList list_arrays(const std::string& spec) {
  const PathAndMember where = split_spec(spec);
  return naming(shown_path(where), [&] { return list_by_content(where); });
}

}  // namespace restride::io
