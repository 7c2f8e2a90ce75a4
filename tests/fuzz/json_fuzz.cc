// Any bytes as JSON: the values that nlohmann-json reads, or a typed error where it has one too; and as measurements,
// which come back as they were written.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <restride/measurements.hpp>

#include "tests/support/json_peer.h"

namespace {

void check(const std::string& wrong) {
  if (wrong.empty()) return;
  std::fprintf(stderr, "%s\n", wrong.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(restride::test::disagreement(text));
  try {
    const std::string once = restride::Measurements::from_json(text).to_json();
    if (restride::Measurements::from_json(once).to_json() != once) check("written otherwise: " + once);
  } catch (const restride::ParseError&) {
    // not the format
  }
  return 0;
}
