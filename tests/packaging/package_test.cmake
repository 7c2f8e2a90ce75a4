# The package as its users meet it. Run by ctest as `cmake -DKIND=static|shared -D... -P package_test.cmake`.
#
# static: installs the build that is being tested. shared: builds the library anew, through a project that has it as
# a subdirectory, then the command beside it, and installs both. The installed command is run; find_package and
# pkg-config consumers are built against the prefix and run.

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

file(REMOVE_RECURSE ${prefix} ${WORK}/consumer ${WORK}/c_only ${WORK}/examples)
set(configure ${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_C_COMPILER=${CC} -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_C_COMPILER_LAUNCHER=${LAUNCHER} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})

if(KIND STREQUAL "shared")
  set(library_build ${WORK}/subdirectory)
  # Unoptimised, kernels for the baseline alone: this build is about linking, and compiles in a fraction of the time.
  run(${configure} -S ${SOURCE}/tests/packaging/subdirectory -B ${library_build} -DRESTRIDE_SOURCE=${SOURCE}
      -DRESTRIDE_CUDA=OFF -DRESTRIDE_INSTALL=ON -URESTRIDE_CLI -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0
      -DCMAKE_CXX_FLAGS=-DHWY_COMPILE_ONLY_STATIC)
  run(${CMAKE_COMMAND} --build ${library_build})
  run(${library_build}/consumer_cc)
  # The command beside the shared library, from the same objects.
  run(${CMAKE_COMMAND} -DRESTRIDE_CLI=ON ${library_build})
  run(${CMAKE_COMMAND} --build ${library_build} --target restride_cli)
  set(CLI ON)
endif()
run(${CMAKE_COMMAND} --install ${library_build} --prefix ${prefix})

# Beside library and headers lie the pages, the examples, the licence, and what belongs to the command.
set(pages share/doc/restride)
set(expected ${pages}/LICENSE ${pages}/README.md ${pages}/docs/install.md ${pages}/examples/quickstart.cc
    include/restride/restride.h)
if(CLI)
  list(APPEND expected share/man/man1/restride.1 share/bash-completion/completions/restride
       share/zsh/site-functions/_restride share/fish/vendor_completions.d/restride.fish)
endif()
foreach(file IN LISTS expected)
  if(NOT EXISTS ${prefix}/${file})
    message(FATAL_ERROR "cmake --install leaves out ${file}")
  endif()
  file(SIZE ${prefix}/${file} bytes)
  if(bytes EQUAL 0)
    message(FATAL_ERROR "cmake --install brings an empty ${file}")
  endif()
endforeach()

# The command copies a photograph into planes and back.
if(CLI)
  set(command ${prefix}/bin/restride)
  set(photo ${SOURCE}/examples/data/astronaut.npy)
  run(${command} info)
  run(${command} copy ${photo} ${WORK}/photo.npy --force)
  run(${command} copy ${photo} ${WORK}/planes.npy --force --axes 2,0,1)
  run(${command} copy ${WORK}/planes.npy ${WORK}/back.npy --force --axes 1,2,0)
  run(${CMAKE_COMMAND} -E compare_files ${WORK}/photo.npy ${WORK}/back.npy)
  run(bash -ec ". ${prefix}/share/bash-completion/completions/restride && complete -p restride")
endif()

run(${configure} -S ${SOURCE}/tests/packaging/consumer -B ${WORK}/consumer -DCMAKE_PREFIX_PATH=${prefix})
run(${CMAKE_COMMAND} --build ${WORK}/consumer)
run(${WORK}/consumer/consumer_cc)
run(${WORK}/consumer/consumer_c)

# The installed examples are a project of their own; one of them is built, all compile the same headers elsewhere.
run(${configure} -S ${prefix}/${pages}/examples -B ${WORK}/examples -DCMAKE_PREFIX_PATH=${prefix})
run(${CMAKE_COMMAND} --build ${WORK}/examples --target example_c_example)
run(${WORK}/examples/example_c_example)

# A project without C++ can link the shared library; of the static one it is told why not.
file(WRITE ${WORK}/c_only/CMakeLists.txt "cmake_minimum_required(VERSION 3.22)
project(c_only LANGUAGES C)
find_package(restride REQUIRED)
add_executable(c_only ${SOURCE}/tests/packaging/consumer/main.c)
target_link_libraries(c_only PRIVATE restride::restride)
")
execute_process(COMMAND ${configure} -S ${WORK}/c_only -B ${WORK}/c_only/build -DCMAKE_PREFIX_PATH=${prefix}
                RESULT_VARIABLE status ERROR_VARIABLE output OUTPUT_QUIET)
if(KIND STREQUAL "shared")
  run(${CMAKE_COMMAND} --build ${WORK}/c_only/build)
  run(${WORK}/c_only/build/c_only)
elseif(status EQUAL 0 OR NOT output MATCHES "enable CXX in")
  message(FATAL_ERROR "a C project with the static library must be told to enable CXX; it got:\n${output}")
endif()

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
  string(REGEX MATCHALL "[^\n]*(restride::(api|base|cpu|cuda|layout|plan)::|hwy::|nlohmann::)[^\n]*" leaked
         "${run_output}")
  if(leaked)
    list(JOIN leaked "\n" leaked)
    message(FATAL_ERROR "librestride.so exports internal names:\n${leaked}")
  endif()
  # nm writes name@@version of a definition. C++ has no version (src/restride.map).
  string(REGEX MATCHALL " restride_[a-z_]+(\n|@[^@]|@@[^R])" unversioned "${run_output}")
  if(unversioned OR NOT run_output MATCHES " restride_copy@@RESTRIDE_0.1\n" OR run_output MATCHES "restride::[^\n]*@@")
    message(FATAL_ERROR "C functions have the version RESTRIDE_0.1, C++ has none; without it: ${unversioned}")
  endif()
endif()
