#include "src/launch/driver.h"

#include <dlfcn.h>

namespace restride::launch {
namespace {

template <class F>
void find(void* library, const char* symbol, F*& function) noexcept {
  function = reinterpret_cast<F*>(dlsym(library, symbol));
}

Driver load() noexcept {
  Driver d;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    d.missing = "libcuda.so.1 was not found: no NVIDIA driver is installed, or the container was started without it";
    return d;
  }
  find(library, "cuPointerGetAttributes", d.pointer_attributes);
  find(library, "cuStreamGetDevice", d.stream_device);
  find(library, "cuStreamIsCapturing", d.stream_is_capturing);
  d.tensor_map_encode = dlsym(library, "cuTensorMapEncodeTiled");
  return d;
}

}  // namespace

const Driver& driver() noexcept {
  static const Driver instance = load();
  return instance;
}

}  // namespace restride::launch
