// A file that appears whole or not at all.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "tools/io/file.h"

namespace restride::io {

/// Errors: IoError when the target is a directory or a device, or exists and `overwrite` is false.
void require_target(const std::string& path, bool overwrite);

/// Bytes go to a nameless file (or, where the file system has none, a temporary name) in the target's directory.
/// `commit` gives it the target's name in one step; without it nothing remains, whatever ends the process.
class OutputFile {
 public:
  /// Errors: IoError: the target exists and `overwrite` is false, is no regular file, or cannot be written.
  OutputFile(const std::string& path, bool overwrite);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;

  /// Asks the file system for the room, so that a full disk is found before the work.
  void reserve(std::uint64_t bytes);
  void write(std::uint64_t offset, Bytes bytes) { write_fully(fd_.get(), offset, bytes, path_); }
  /// Writes the bytes to the device unless `sync` is false, then names the file. An existing file is replaced
  /// only when the constructor was told so, even one that appeared since.
  void commit(bool sync = true);

 private:
  /// Calls `take` with names beside the target, short whatever its own, until it is true; it fails by errno, EEXIST
  /// asks for another name.
  void take_temporary_name(const std::string& doing, const std::function<bool(const char*)>& take);
  void open_named(mode_t mode);
  /// False when the target exists.
  bool publish_new();
  void publish_over();
  std::string path_;    // as the user wrote it, for messages
  std::string target_;  // with symbolic links followed
  std::string directory_;
  std::string temporary_;  // empty while the file has no name
  bool overwrite_ = false;
  Fd fd_;
};

}  // namespace restride::io
