// The command's outputs: files that appear whole or not at all, and leave nothing behind when a signal ends the
// process.
#pragma once

#include <cstdint>
#include <string>

#include "src/base/whole_file.h"
#include "tools/io/file.h"

namespace restride::io {

/// Errors: IoError when the target is a directory or a device, or exists and `overwrite` is false.
void require_target(const std::string& path, bool overwrite);

/// The kernel's, whose names signals.h knows of.
const base::NamingCalls& naming_for_signals();

class OutputFile {
 public:
  /// Errors: IoError: the target exists and `overwrite` is false, is no regular file, or cannot be written.
  OutputFile(const std::string& path, bool overwrite);

  /// See base::WholeFile.
  void reserve(std::uint64_t bytes) { file_.reserve(bytes); }
  void write(std::uint64_t offset, Bytes bytes) { file_.write(offset, bytes); }
  /// Writes the bytes to the device unless `sync` is false, then names the file. An existing file is replaced
  /// only when the constructor was told so, even one that appeared since. Errors: IoError.
  void commit(bool sync = true);

 private:
  std::string path_;
  base::WholeFile file_;
};

}  // namespace restride::io
