// Of a module that was built where there is no CUDA compiler: for tests alone.
#include <restride/error.hpp>

#include "src/distributed/nccl/cuda_device.h"

namespace restride::distributed {

std::shared_ptr<Device> cuda_device(int) {
  throw UnsupportedError("the module for NCCL was built without CUDA; build restride with RESTRIDE_CUDA=ON");
}

}  // namespace restride::distributed
