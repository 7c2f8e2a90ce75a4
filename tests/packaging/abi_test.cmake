# The C ABIs stay what programs were linked to: functions with their symbol versions, structures, statuses. The
# libraries below PREFIX are compared with their records restride_abi.xml and restride_distributed_abi.xml; additions are
# allowed, removals and changes are not.
# Run by ctest as `cmake -DPREFIX=... -DSOURCE=... -DWORK=... -DPROCESSOR=... -P abi_test.cmake`. With RESTRIDE_RECORD_ABI=1
# in the environment the records are written instead.

set(again "RESTRIDE_RECORD_ABI=1 ./dev test -R package.abi")
find_program(ABIDW abidw)
find_program(ABIDIFF abidiff)
if(NOT ABIDW OR NOT ABIDIFF)
  message("skipped: the C ABI is not compared, there is no abidw or abidiff (apt-get install abigail-tools)")
  return()
endif()
if(NOT PROCESSOR STREQUAL "x86_64")
  message("skipped: the C ABI is recorded for x86_64, not for ${PROCESSOR}")
  return()
endif()

# structure_in(XML TYPE VARIABLE): the text of a structure in a record, without its end; VARIABLE_members: the lines that
# follow its first, which holds its size.
function(structure_in xml type variable)
  string(FIND "${xml}" "<class-decl name='restride_${type}' size-in-bits=" start)
  string(SUBSTRING "${xml}" ${start} -1 text)
  string(FIND "${text}" "</class-decl>" length)
  string(SUBSTRING "${text}" 0 ${length} text)
  string(STRIP "${text}" text)
  string(FIND "${text}" "\n" line)
  string(SUBSTRING "${text}" ${line} -1 members)
  set(${variable} "${text}" PARENT_SCOPE)
  set(${variable}_members "${members}" PARENT_SCOPE)
endfunction()

# check_abi(NAME SOURCE HEADERS TYPES): compares libNAME.so, or records it. SOURCE is compiled with -g and knows the structures
# restride_TYPE of the HEADERS.
function(check_abi name source headers types)
  file(GLOB_RECURSE library ${PREFIX}/*/lib${name}.so)

  # Types are those of the C headers alone. Debian 12's abidw takes folders of headers, and nothing of C++ may lie there.
  set(work ${WORK}/${name})
  set(record ${CMAKE_CURRENT_LIST_DIR}/${name}_abi.xml)
  file(REMOVE_RECURSE ${work})
  foreach(header IN LISTS headers)
    file(COPY ${SOURCE}/include/restride/${header} DESTINATION ${work}/include)
  endforeach()
  execute_process(
    COMMAND ${ABIDW} --headers-dir ${work}/include --drop-private-types --exported-interfaces-only --no-corpus-path
            --no-comp-dir-path --no-elf-needed --no-show-locs --no-parameter-names --type-id-style hash
            --suppressions ${CMAKE_CURRENT_LIST_DIR}/abi_of_c.suppr --out-file ${work}/now.xml ${library}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "abidw ends with ${status}: ${output}")
  endif()
  file(READ ${work}/now.xml now)
  string(REPLACE "${SOURCE}/" "" now "${now}")
  foreach(type IN LISTS types)  # a library without debugging information would agree with everything
    if(NOT now MATCHES "<class-decl name='restride_${type}' size-in-bits=")
      message(FATAL_ERROR "${library} does not tell what restride_${type} is: ${source} is to be compiled with -g")
    endif()
  endforeach()
  file(WRITE ${work}/now.xml "${now}")
  if("$ENV{RESTRIDE_RECORD_ABI}")
    file(COPY_FILE ${work}/now.xml ${record})
    message("the C ABI of ${name} is recorded in ${record}")
    return()
  endif()

  # Structures carry their size and grow at their end. abidiff cannot be told so (its has_data_member_inserted_at = end lets
  # members of another type pass), so a structure that begins with all that is recorded is put back to that.
  set(grown "")
  set(comparable "${now}")
  file(READ ${record} recorded)
  foreach(type IN LISTS types)
    structure_in("${recorded}" ${type} then)
    structure_in("${now}" ${type} today)
    string(FIND "${today_members}" "${then_members}" position)
    if(position EQUAL 0 AND NOT then_members STREQUAL today_members)
      string(REPLACE "${today}" "${then}" comparable "${comparable}")
      string(APPEND grown "restride_${type} has more members at its end\n")
    endif()
  endforeach()
  file(WRITE ${work}/comparable.xml "${comparable}")

  execute_process(COMMAND ${ABIDIFF} --no-added-syms ${record} ${work}/comparable.xml
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message("${output}")
    message(FATAL_ERROR "The C ABI of ${name} is not the recorded one, as abidiff says above (${status}): programs that "
      "are linked to the library would break.\nKeep what is there: give a changed function a new name beside the old one, put new members at "
      "the end of their structure, let an enumerator keep its value. A change that is meant needs a new SOVERSION, a line in "
      "CHANGELOG.md and a new record: ${again}")
  endif()
  execute_process(COMMAND ${ABIDIFF} ${record} ${work}/comparable.xml RESULT_VARIABLE status OUTPUT_VARIABLE output)
  if(NOT status EQUAL 0)
    string(APPEND grown "${output}")
  endif()
  if(grown)
    message("The C ABI of ${name} has grown, which is allowed; record it with ${again}:\n${grown}")
  endif()
endfunction()

check_abi(restride src/api/c_abi.cc restride.h "tensor;options;executor")
check_abi(restride_distributed src/distributed/c_abi.cc "restride.h;distributed.h" "tensor;side;exchange_options;comm_functions;message")
