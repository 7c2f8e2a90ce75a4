// What the tests of the file formats share.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "tests/support/files.h"
#include "tools/io/byte_source.h"

namespace restride::io {

/// Text as a source; it must outlive it.
inline MemorySource source_of(std::string_view text) {
  return MemorySource(Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

inline std::string le(std::uint64_t value, int bytes) {
  std::string out;
  append_le(out, value, bytes);
  return out;
}

using test::read_file;
using test::TemporaryFolder;
using test::write_file;

/// The message of what `f` throws; fails the test when it throws nothing or something else.
template <class Error, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "another error: " << e.what();
    return "";
  }
  ADD_FAILURE() << "no error";
  return "";
}

}  // namespace restride::io
