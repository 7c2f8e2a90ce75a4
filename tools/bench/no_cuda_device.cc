// Stands in for the CUDA device in a build without CUDA.
#include <restride/error.hpp>

#include "tools/bench/device.h"

namespace restride::bench {

std::unique_ptr<Device> make_cuda_device() {
  throw UnsupportedError("this restride was built without CUDA; build it with -DRESTRIDE_CUDA=ON to measure on a GPU");
}

}  // namespace restride::bench
