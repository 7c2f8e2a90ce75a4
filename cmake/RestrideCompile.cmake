# How every target of the project is compiled: warnings, sanitizers, and clear words for a missing package.

# restride_compile_options(TARGET): warnings for our own code; errors only for developers, so that a new
# compiler's new warning never breaks a user's build.
function(restride_compile_options target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra>
    $<$<AND:$<BOOL:${RESTRIDE_DEV}>,$<COMPILE_LANGUAGE:C,CXX>>:-Werror>)
endfunction()

# restride_grouped(TARGET [SOURCE...]): with RESTRIDE_GROUPED its sources are compiled some at a time, so that the headers
# they share are read and their templates made once. The sources named here stay by themselves: they use the same names
# for different things. CMake leaves those with options of their own by themselves, too.
function(restride_grouped target)
  if(RESTRIDE_GROUPED)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)  # taken for a header's
    set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# restride_find(NAME DEBIAN_PACKAGE PURPOSE): find_package that names the remedy.
macro(restride_find name debian_package purpose)
  find_package(${name} QUIET)
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "${purpose} needs ${name}, which was not found. Install it "
                        "(Debian, Ubuntu: apt-get install ${debian_package}) or point ${name}_DIR at it.")
  endif()
endmacro()

if(RESTRIDE_SANITIZE)
  add_compile_options(-fsanitize=${RESTRIDE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${RESTRIDE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # it sees uninitialised members in code that sanitizers have changed
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
endif()
if(RESTRIDE_FUZZ AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_compile_options(-fsanitize=fuzzer-no-link)  # coverage of the library, which guides the fuzzer
endif()
