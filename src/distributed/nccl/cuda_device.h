// A GPU as the engine's Device.
#pragma once

#include <memory>

#include "src/distributed/device.h"

namespace restride::distributed {

/// Errors: UnsupportedError in a module that was built without CUDA; DeviceError.
std::shared_ptr<Device> cuda_device(int number);

}  // namespace restride::distributed
