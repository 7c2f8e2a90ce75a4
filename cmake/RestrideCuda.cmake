# Finds the CUDA compiler. Sets RESTRIDE_HAS_CUDA; says in one line what will be built and how to change it.

set(RESTRIDE_HAS_CUDA OFF)
if(NOT RESTRIDE_CUDA STREQUAL "OFF")
  # The toolkit's installer does not put nvcc on PATH; look where it puts it.
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(RESTRIDE_NVCC nvcc PATHS /usr/local/cuda/bin DOC "The CUDA compiler")
    if(RESTRIDE_NVCC)
      set(CMAKE_CUDA_COMPILER "${RESTRIDE_NVCC}")
    endif()
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(RESTRIDE_HAS_CUDA ON)
  elseif(RESTRIDE_CUDA STREQUAL "AUTO")
    message(STATUS "CUDA compiler not found: GPU kernels are not compiled; RESTRIDE_CUDA=ON makes that an error")
  else()
    message(FATAL_ERROR "RESTRIDE_CUDA=ON, but no CUDA compiler was found. Put nvcc on PATH or set CUDACXX "
                        "(`RESTRIDE_CUDA=ON ./dev build` takes one from PyPI).")
  endif()
endif()
