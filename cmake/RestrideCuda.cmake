# Finds the CUDA compiler and says how GPU code is compiled. Sets RESTRIDE_HAS_CUDA and, with it,
# CMAKE_CUDA_ARCHITECTURES and RESTRIDE_CUDA_SHOWN, the same in words; says in one line what will be built and how to change it.

set(RESTRIDE_OLDEST_CUDA 12.4)  # scripts/setup.sh reads it here

# restride_without_cuda(WHY REMEDY): an error where CUDA was asked for; else it is said, and the build goes on without.
function(restride_without_cuda why remedy)
  if(RESTRIDE_CUDA STREQUAL "AUTO")
    message(STATUS "${why}: GPU kernels are not compiled; RESTRIDE_CUDA=ON makes that an error")
  else()
    message(FATAL_ERROR "RESTRIDE_CUDA=${RESTRIDE_CUDA}, but: ${why}. ${remedy}")
  endif()
endfunction()

# restride_find_cuda(): sets RESTRIDE_HAS_CUDA where there is a compiler that is new enough and works.
function(restride_find_cuda)
  set(RESTRIDE_HAS_CUDA OFF PARENT_SCOPE)
  set(install "Install a newer toolkit, or build with RESTRIDE_CUDA=OFF (`RESTRIDE_CUDA=ON ./dev build` takes one from PyPI).")
  set(nvcc "${CMAKE_CUDA_COMPILER}")
  if(NOT nvcc AND DEFINED ENV{CUDACXX})
    set(nvcc "$ENV{CUDACXX}")
  elseif(NOT nvcc)
    # The toolkit's installer does not put nvcc on PATH; look where it puts it.
    find_program(RESTRIDE_NVCC nvcc PATHS /usr/local/cuda/bin DOC "The CUDA compiler")
    set(nvcc "${RESTRIDE_NVCC}")
  endif()
  if(NOT nvcc)
    restride_without_cuda("no CUDA compiler was found" "Put nvcc on PATH or set CUDACXX. ${install}")
    return()
  endif()
  execute_process(COMMAND ${nvcc} --version OUTPUT_VARIABLE said ERROR_QUIET)
  if(said MATCHES "release ([0-9.]+)" AND CMAKE_MATCH_1 VERSION_LESS RESTRIDE_OLDEST_CUDA)
    restride_without_cuda("${nvcc} is of CUDA ${CMAKE_MATCH_1}, and ${RESTRIDE_OLDEST_CUDA} is the oldest that restride is made for"
                          "${install}")
    return()
  endif()
  # Tried out in a project of its own: an nvcc that refuses this C++ compiler would be an error of CMake's here.
  if(NOT CMAKE_CUDA_COMPILER)
    unset(CMAKE_CUDA_COMPILER CACHE)
    unset(CMAKE_CUDA_COMPILER)
    set(ENV{CUDACXX} "${nvcc}")
    include(CheckLanguage)
    check_language(CUDA)
  endif()
  if(NOT CMAKE_CUDA_COMPILER)
    restride_without_cuda("${nvcc} does not work here, as the logs in ${CMAKE_BINARY_DIR}/CMakeFiles tell"
                          "It may want an older C++ compiler: NVCC_CCBIN names one. ${install}")
    return()
  endif()
  set(RESTRIDE_HAS_CUDA ON PARENT_SCOPE)
endfunction()

set(RESTRIDE_HAS_CUDA OFF)
if(NOT RESTRIDE_CUDA STREQUAL "OFF")
  restride_find_cuda()
endif()

if(RESTRIDE_HAS_CUDA)
  # A placeholder keeps CMake from probing for a GPU; the list is settled once the compiler's version is known.
  set(RESTRIDE_CUDA_ARCHITECTURES "" CACHE STRING
      "GPU architectures, as CMAKE_CUDA_ARCHITECTURES takes them; empty: sm_80, sm_90, sm_100 and the newest PTX")
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80)
    set(restride_architectures_are_ours ON)
  endif()
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake up to 3.25.1 does not know that nvcc has C++20
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  if(RESTRIDE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES ${RESTRIDE_CUDA_ARCHITECTURES})
  elseif(restride_architectures_are_ours AND CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.8)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 90-virtual)  # 12.8 is the first to know sm_100
  elseif(restride_architectures_are_ours)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100-real 100-virtual)
  endif()
  find_package(CUDAToolkit REQUIRED)
  list(JOIN CMAKE_CUDA_ARCHITECTURES " " RESTRIDE_CUDA_SHOWN)
  message(STATUS "CUDA ${CMAKE_CUDA_COMPILER_VERSION}: GPU kernels for ${RESTRIDE_CUDA_SHOWN}")
endif()

# restride_cuda_options(TARGET): how .cu sources are compiled.
function(restride_cuda_options target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra>
    # Kernels for three architectures and PTX are 18 MB as they come, 2 MB compressed; drivers from 12.4 on unpack them.
    $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<VERSION_GREATER_EQUAL:$<CUDA_COMPILER_VERSION>,12.8>>:--compress-mode=size>
    $<$<AND:$<BOOL:${RESTRIDE_DEV}>,$<COMPILE_LANGUAGE:CUDA>>:-Werror=all-warnings>)
endfunction()

# restride_cuda_sources(TARGET SOURCES...): adds the sources that need CUDA, as the object library TARGET_cuda. So the
# target's other sources are compiled alike with and without CUDA, and a build folder that turns to it keeps its objects.
function(restride_cuda_sources target)
  add_library(${target}_cuda OBJECT ${ARGN})
  target_include_directories(${target}_cuda PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${target}_cuda PRIVATE CUDA::cudart_static fmt::fmt)
  restride_compile_options(${target}_cuda)
  restride_cuda_options(${target}_cuda)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_cuda>)
  # The static runtime: one library loads with and without a driver, and next to any other CUDA runtime. An archive hands
  # it on, without its headers, which would show in the commands of all sources; a shared library takes it in.
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    target_link_libraries(${target} INTERFACE $<LINK_ONLY:CUDA::cudart_static> ${CMAKE_DL_LIBS})
  else()
    target_link_libraries(${target} PRIVATE CUDA::cudart_static ${CMAKE_DL_LIBS})
  endif()
endfunction()
