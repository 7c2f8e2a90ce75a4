// Any bytes as a safetensors file: tensors within them or a typed error.
#include <cstdlib>

#include "tools/io/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace restride;
  try {
    for (const io::SafetensorsTensor& tensor : io::parse_safetensors(io::MemorySource(io::Bytes(data, size)))) {
      const io::ArrayEntry entry = io::entry_of(tensor);
      const auto [first, last] = byte_range(entry.layout);
      if (last > first && (first < 8 || static_cast<std::size_t>(last) > size)) std::abort();
      std::vector<std::int64_t> extents;
      for (const Mode& mode : entry.layout.modes) extents.push_back(mode.extent);
      io::safetensors_header(entry.name, entry.layout.element, extents);
    }
  } catch (const Error&) {
  }
  return 0;
}
