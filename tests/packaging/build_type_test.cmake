# restride as a part of a project without a build type: it is optimised itself, and leaves the project's own targets as
# they are. Run by ctest as `cmake -D... -P build_type_test.cmake`; configures only.

file(REMOVE_RECURSE ${WORK})
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env --unset=CMAKE_BUILD_TYPE
          ${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE}/tests/packaging/subdirectory -B ${WORK}
          -DCMAKE_C_COMPILER=${CC} -DCMAKE_CXX_COMPILER=${CXX} -DRESTRIDE_SOURCE=${SOURCE} -DRESTRIDE_CUDA=OFF
          -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "exit status ${status}:\n${output}")
endif()
load_cache(${WORK} READ_WITH_PREFIX project_ CMAKE_BUILD_TYPE)
if(project_CMAKE_BUILD_TYPE)
  message(FATAL_ERROR "the project has become a ${project_CMAKE_BUILD_TYPE} one")
endif()

# command_of(SOURCE VARIABLE): how a source is compiled.
file(READ ${WORK}/compile_commands.json commands)
string(JSON count LENGTH ${commands})
math(EXPR last "${count} - 1")
function(command_of source variable)
  foreach(i RANGE ${last})
    string(JSON file GET ${commands} ${i} file)
    if(file MATCHES "${source}$")
      string(JSON command GET ${commands} ${i} command)
      set(${variable} "${command}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "${source} is not compiled")
endfunction()

command_of(consumer/main.cc command)
if(command MATCHES " -O| -DNDEBUG")
  message(FATAL_ERROR "the project's own source is compiled by ${command}")
endif()
foreach(expected "src/cpu/tile/kernel.cc -O3" "src/api/explain.cc -Os")
  separate_arguments(expected)
  list(GET expected 0 source)
  list(GET expected 1 option)
  command_of(${source} command)
  if(NOT command MATCHES " ${option}" OR NOT command MATCHES " -DNDEBUG")
    message(FATAL_ERROR "${source} is compiled without ${option} -DNDEBUG by ${command}")
  endif()
endforeach()
