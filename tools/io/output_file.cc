#include "tools/io/output_file.h"

#include <sys/stat.h>

#include "tools/io/signals.h"

namespace restride::io {
namespace {

[[noreturn]] void refuse_existing(const std::string& path) {
  throw IoError(path + " exists; give --force to replace it");
}

/// `path`, found fit to be written.
const std::string& fit(const std::string& path, bool overwrite) {
  require_target(path, overwrite);
  return path;
}

}  // namespace

void require_target(const std::string& path, bool overwrite) {
  base::require_regular(path);
  struct stat st {};
  if (!overwrite && ::stat(path.c_str(), &st) == 0) refuse_existing(path);
}

const base::NamingCalls& naming_for_signals() {
  static const base::NamingCalls calls = [] {
    base::NamingCalls out = base::system_naming();
    out.name_made = add_temporary;
    out.name_gone = forget_temporary;
    out.taking_name = hold_signals;
    return out;
  }();
  return calls;
}

OutputFile::OutputFile(const std::string& path, bool overwrite)
    : path_(path), file_(fit(path, overwrite), overwrite, naming_for_signals()) {}

void OutputFile::commit(bool sync) {
  if (!file_.commit(sync)) refuse_existing(path_);
}

}  // namespace restride::io
