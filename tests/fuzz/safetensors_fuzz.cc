// Any bytes as a safetensors file: tensors within them or a typed error.
#include <cstdlib>
#include <vector>

#include "tools/io/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace restride;
  try {
    io::SafetensorsMetadata metadata;
    const auto tensors = io::parse_safetensors(io::MemorySource(io::Bytes(data, size)), &metadata);
    std::vector<io::SafetensorsSpec> specs;
    for (const io::SafetensorsTensor& tensor : tensors) {
      if (tensor.last < tensor.first || tensor.last > size || tensor.first < 8) std::abort();
      const io::ArrayEntry entry = io::entry_of(tensor);
      const auto [first, last] = byte_range(entry.layout);
      if (entry.bits == 0 && last > first && (first < 8 || static_cast<std::size_t>(last) > size)) std::abort();
      if (tensor.dtype != nullptr)
        specs.push_back({tensor.name, tensor.dtype->name, tensor.extents, tensor.last - tensor.first});
    }
    io::safetensors_header(specs, metadata);
  } catch (const Error&) {
  }
  return 0;
}
