# Configuring with an nvcc that is too old, and with one that does not work, by stand-ins that only say their version.
# Run by ctest as `cmake -D... -P cuda_compiler_test.cmake`.

# configure(RELEASE RESTRIDE_CUDA EXPECTED_STATUS WORDS): `restride` with an nvcc on PATH that says it is of RELEASE.
function(configure release wanted expected words)
  file(REMOVE_RECURSE ${WORK})
  file(WRITE ${WORK}/bin/nvcc
       "#!/bin/sh\n[ \"$1\" = --version ] && echo 'Cuda compilation tools, release ${release}, V${release}.99' && exit\n"
       "echo 'error: unsupported GNU version!' >&2\nexit 1\n")
  file(CHMOD ${WORK}/bin/nvcc PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env --unset=CUDACXX "PATH=${WORK}/bin:$ENV{PATH}" ${CMAKE_COMMAND} -G ${GENERATOR}
      -DCMAKE_C_COMPILER=${CC} -DCMAKE_CXX_COMPILER=${CXX} -DRESTRIDE_CUDA=${wanted} -DRESTRIDE_CLI=OFF -S ${SOURCE}
      -B ${WORK}/build
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")  # CMake breaks the lines of errors
  if(NOT "${status}" STREQUAL "${expected}" OR NOT output MATCHES "${words}")
    message(FATAL_ERROR "nvcc ${release}, RESTRIDE_CUDA=${wanted}: exit status ${status}, and not \"${words}\" in:\n${output}")
  endif()
endfunction()

configure(12.0 AUTO 0 "nvcc is of CUDA 12.0, and 12.4 is the oldest .*: GPU kernels are not compiled")
configure(12.0 ON 1 "RESTRIDE_CUDA=ON, but: .*nvcc is of CUDA 12.0")
configure(13.0 AUTO 0 "nvcc does not work here, .*: GPU kernels are not compiled")
configure(13.0 ON 1 "RESTRIDE_CUDA=ON, but: .*nvcc does not work here")
