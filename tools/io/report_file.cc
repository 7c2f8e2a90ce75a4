#include "tools/io/report_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

#include "tools/io/file.h"
#include "tools/io/json_text.h"
#include "tools/io/output_file.h"

namespace restride::io {
namespace {

/// The standard stream that `path` names, or that goes to the file behind it; -1: neither. A name is enough: in a small
/// container /dev has no such links, and the report would become a file there.
int standard_stream(const std::string& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  struct stat target {};
  if (::stat(path.c_str(), &target) != 0) return -1;
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat st {};
    if (::fstat(fd, &st) == 0 && st.st_dev == target.st_dev && st.st_ino == target.st_ino) return fd;
  }
  return -1;
}

/// Throws unless bytes can be written into the stream at `path`.
void require_stream(const std::string& path) {
  const int standard = standard_stream(path);
  if (standard < 0 ? ::access(path.c_str(), W_OK) == 0 : ::write(standard, "", 0) == 0) return;
  throw IoError(errno_message("write", path) + "; name a file, or a stream that is open for writing");
}

void write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw IoError(errno_message("write", path));
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

void write_stream(const std::string& path, const std::string& text) {
  const int standard = standard_stream(path);
  if (standard >= 0) {  // behind what was printed; opened anew it would be overwritten from its start
    std::fflush(standard == STDOUT_FILENO ? stdout : stderr);
    return write_all(standard, text, path);
  }
  const Fd fd(::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));  // a pipe waits for its reader, as in a shell
  if (!fd) throw IoError(errno_message("write", path));
  write_all(fd.get(), text, path);
}

using Json = nlohmann::ordered_json;

/// What the file at `path` holds, null where there is none or an empty one. Throws unless it may go.
Json older_report(const std::string& path, const std::function<bool(const Json&)>& is_report) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return {};
  const std::string text = read_text(path, path);
  if (text.empty()) return {};
  const char* what = "other JSON than this command's";
  try {
    Json found = parse_report(text);
    if (is_report(found)) return found;
    take_apart(found);
  } catch (const ParseError&) {
    what = "no JSON";
  }
  throw IoError(path + " exists and holds " + what + ", so it is no older report; remove it or name another file");
}

}  // namespace

bool is_stream(const std::string& path) {
  if (standard_stream(path) >= 0) return true;
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

Json require_report(const std::string& path, const std::function<bool(const Json&)>& is_report) {
  if (!is_stream(path)) {
    { const OutputFile probe(path, true); }  // what is not committed leaves nothing behind
    return older_report(path, is_report);
  }
  require_stream(path);
  return {};
}

void require_drawing(const std::string& path, std::string_view beginning) {
  if (is_stream(path)) return require_stream(path);
  { const OutputFile probe(path, true); }  // what is not committed leaves nothing behind
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0 || st.st_size == 0) return;
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string found(beginning.size(), ' ');
  if (fd && ::read(fd.get(), found.data(), found.size()) == static_cast<ssize_t>(found.size()) && found == beginning)
    return;
  throw IoError(path + " exists and does not begin with " + std::string(beginning) +
                ", so it is no older drawing or page; remove it or name another file");
}

void write_report(const std::string& path, const std::string& text) {
  if (is_stream(path)) return write_stream(path, text);
  OutputFile file(path, true);
  file.write(0, Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  file.commit(false);
}

}  // namespace restride::io
