// Programs that start NCCL on GPUs ask this first: shared and virtual hosts may not survive multicast objects.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace restride::distributed {

/// True where the environment turns multicast off in all that such a program starts; else says on stdout how to.
inline bool multicast_is_off() {
  const auto is = [](const char* name, const char* value) {
    const char* set = std::getenv(name);
    return set != nullptr && std::strcmp(set, value) == 0;
  };
  if (is("NCCL_NVLS_ENABLE", "0") && is("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1") && is("NVSHMEM_DISABLE_NVLS", "1"))
    return true;
  std::printf("set NCCL_NVLS_ENABLE=0, TORCH_SYMM_MEM_DISABLE_MULTICAST=1 and NVSHMEM_DISABLE_NVLS=1 first\n");
  return false;
}

}  // namespace restride::distributed
