// An array into standard output, which takes bytes in their order only.
#pragma once

#include <string>

#include "tools/io/save_array.h"

namespace restride::io {

/// Writes as it goes: a reader sees what there is so far, and only the exit status tells whether it is all.
class StreamWriter final : public ArraySink {
 public:
  /// `format`: one whose head comes first: not .npz, whose checksum does. `fd` stays open.
  /// Errors: those of head_of; IoError when `fd` is a terminal.
  StreamWriter(int fd, FileFormat format, const ArraySpec& array);
  void write(std::size_t array, std::uint64_t offset, Bytes bytes) override;
  void commit(bool sync) override;

 private:
  void put(Bytes bytes);

  int fd_;
  std::string head_;  // until the first byte behind it is written
};

}  // namespace restride::io
