#include <restride/device.hpp>
#include <restride/error.hpp>

#include "tools/io/device_stage.h"

namespace restride::io {

struct DeviceStage::State {};

DeviceStage::DeviceStage(std::uint64_t, std::uint64_t, int) {
  throw DeviceError("no GPU: " + cuda_status().reason + "; leave out --device cuda");
}
DeviceStage::~DeviceStage() = default;
double DeviceStage::copy_in(const Layout&, const ConstTensor&, const Options&) { return 0; }
void DeviceStage::download(void*, std::uint64_t) {}

}  // namespace restride::io
