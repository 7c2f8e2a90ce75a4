# NCCL's header (PyPI: nvidia-nccl-cu13; Ubuntu and Debian: libnccl-dev of NVIDIA's repository), which needs CUDA's.
# NCCL itself is not linked. Sets RESTRIDE_HAS_NCCL and the target restride_nccl_headers.
set(RESTRIDE_HAS_NCCL OFF)
if(NOT RESTRIDE_NCCL STREQUAL "OFF" AND NOT WIN32 AND NOT APPLE)
  file(GLOB wheels ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia)
  set(wheel_folders ${wheels})
  list(TRANSFORM wheel_folders APPEND /nccl/include)
  find_path(RESTRIDE_NCCL_INCLUDE nccl.h PATHS ${wheel_folders} /usr/local/cuda/include)
  if(CUDAToolkit_INCLUDE_DIRS)
    set(cuda_folders ${CUDAToolkit_INCLUDE_DIRS})
  else()
    file(GLOB cuda_folders ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cu*/include)
  endif()
  # A wheel of the runtime alone, as PyTorch brings it, lacks the compiler's headers that cuda_runtime.h includes.
  find_path(RESTRIDE_CUDA_INCLUDE crt/host_config.h PATHS ${cuda_folders} /usr/local/cuda/include)
  if(RESTRIDE_NCCL_INCLUDE AND EXISTS "${RESTRIDE_CUDA_INCLUDE}/cuda_runtime.h")
    set(RESTRIDE_HAS_NCCL ON)
    find_library(RESTRIDE_NCCL_LIBRARY NAMES libnccl.so.2 nccl HINTS ${RESTRIDE_NCCL_INCLUDE}/../lib)  # for tests and examples
    add_library(restride_nccl_headers INTERFACE)
    target_include_directories(restride_nccl_headers SYSTEM INTERFACE ${RESTRIDE_NCCL_INCLUDE} ${RESTRIDE_CUDA_INCLUDE})
  elseif(RESTRIDE_NCCL STREQUAL "ON")
    message(FATAL_ERROR "RESTRIDE_NCCL=ON needs nccl.h and cuda_runtime.h (pip install nvidia-nccl-cu13, CUDA's toolkit): "
                        "set RESTRIDE_NCCL_INCLUDE and RESTRIDE_CUDA_INCLUDE to their folders")
  endif()
endif()
message(STATUS "NCCL module: ${RESTRIDE_HAS_NCCL}")
