// A folder of .npy files that appears whole: "weights/".
#pragma once

#include <string>
#include <vector>

#include "src/base/fd.h"
#include "tools/io/save_array.h"

namespace restride::io {

/// True when `spec` names a folder: it ends in '/', or there is a directory.
bool names_folder(const std::string& spec);

/// The files lie in a folder beside the target, which gets its name when all are whole. Without `commit` nothing
/// remains, whatever ends the process, a crash and SIGKILL aside.
class FolderWriter final : public ArraySink {
 public:
  /// A name with '/' in it is a file in a folder of the folder.
  /// Errors: ArgumentError (a name that no file can have, or two have), UnsupportedError (an element that NumPy has no
  /// name for), IoError (there is something at `path`, an empty folder aside: folders are never replaced).
  FolderWriter(const std::string& path, std::vector<ArraySpec> arrays);
  ~FolderWriter() override;
  FolderWriter(const FolderWriter&) = delete;

  void write(std::size_t array, std::uint64_t offset, Bytes bytes) override;
  void commit(bool sync) override;

 private:
  /// Makes the file of the next array, and so of every one before `array`.
  void reach(std::size_t array);

  std::string path_;  // as the user wrote it, for messages
  std::string target_;
  std::string beside_;  // the folder meanwhile; empty once it has its name
  std::vector<ArraySpec> arrays_;
  std::size_t made_ = 0;          // files
  std::uint64_t head_bytes_ = 0;  // of the file being written
  base::Fd file_;
};

}  // namespace restride::io
