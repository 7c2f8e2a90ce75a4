# The package as its users meet it. Run by ctest as `cmake -DKIND=static|shared -D... -P package_test.cmake`.
#
# static: installs the build that is being tested. shared: builds the library anew, through a project that has it as
# a subdirectory, and installs that. Then find_package and pkg-config consumers are built against the prefix and run.

set(prefix ${WORK}/prefix)
set(library_build ${BUILD})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "exit status ${status}: ${command}\n${output}")
  endif()
  set(run_output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${prefix} ${WORK}/consumer)
set(configure ${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_C_COMPILER=${CC} -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_C_COMPILER_LAUNCHER=${LAUNCHER} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})

if(KIND STREQUAL "shared")
  set(library_build ${WORK}/subdirectory)
  # Unoptimised: this build is about linking, and compiles in a fraction of the time.
  run(${configure} -S ${SOURCE}/tests/packaging/subdirectory -B ${library_build} -DRESTRIDE_SOURCE=${SOURCE}
      -DRESTRIDE_CUDA=OFF -DRESTRIDE_INSTALL=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0)
  run(${CMAKE_COMMAND} --build ${library_build})
  run(${library_build}/consumer_cc)
endif()
run(${CMAKE_COMMAND} --install ${library_build} --prefix ${prefix})

run(${configure} -S ${SOURCE}/tests/packaging/consumer -B ${WORK}/consumer -DCMAKE_PREFIX_PATH=${prefix})
run(${CMAKE_COMMAND} --build ${WORK}/consumer)
run(${WORK}/consumer/consumer_cc)
run(${WORK}/consumer/consumer_c)

file(GLOB_RECURSE pc_file ${prefix}/*/restride.pc)
cmake_path(GET pc_file PARENT_PATH pc_dir)
cmake_path(GET pc_dir PARENT_PATH lib_dir)
set(ENV{PKG_CONFIG_PATH} ${pc_dir})
run(pkg-config --cflags --libs restride)
separate_arguments(flags UNIX_COMMAND "${run_output}")
run(${CC} -std=c99 -pedantic ${SOURCE}/tests/packaging/consumer/main.c -o ${WORK}/pkg_config_c ${flags})
set(ENV{LD_LIBRARY_PATH} ${lib_dir})
run(${WORK}/pkg_config_c)

if(KIND STREQUAL "shared")
  # Nothing but the public names: what is exported by accident becomes an ABI by accident.
  run(nm -D --defined-only -C ${lib_dir}/librestride.so)
  string(REGEX MATCHALL "[^\n]*(restride::(layout|plan|maps|kernels|launch|api|base)::|hwy::|nlohmann::)[^\n]*" leaked
         "${run_output}")
  if(leaked)
    list(JOIN leaked "\n" leaked)
    message(FATAL_ERROR "librestride.so exports internal names:\n${leaked}")
  endif()
endif()
