// Any bytes as a .npy file: a layout within them or a typed error; what is read can be written and read again.
#include <cstdlib>

#include "tools/io/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace restride;
  const io::MemorySource source(io::Bytes(data, size));
  io::ArrayEntry entry;
  try {
    entry = io::parse_npy(source);
  } catch (const Error&) {
    return 0;
  }
  const auto [first, last] = byte_range(entry.layout);
  if (last > first && (first < 0 || static_cast<std::size_t>(last) > size)) std::abort();

  std::vector<std::int64_t> extents;
  for (const Mode& mode : entry.layout.modes) extents.push_back(mode.extent);
  const std::string descr = entry.npy_descr.empty() ? io::npy_dtype(entry.layout.element) : entry.npy_descr;
  std::string again = io::npy_header(descr, extents, false);
  if (entry.layout.bytes() > 1 << 20) return 0;
  again.append(static_cast<std::size_t>(entry.layout.bytes()), '\0');
  const io::MemorySource written(io::Bytes(reinterpret_cast<const std::uint8_t*>(again.data()), again.size()));
  const Layout back = io::parse_npy(written).layout;
  // bf16 and f8e4m3 have no name in NumPy: they are written as the bytes that ml_dtypes writes.
  const bool named = descr.find('V') == std::string::npos;
  if (named ? back.element != entry.layout.element : back.element.size_bytes != entry.layout.element.size_bytes)
    std::abort();
  if (back.elements() != entry.layout.elements()) std::abort();
  return 0;
}
