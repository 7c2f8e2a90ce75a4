# Says how large the stripped library is, and fails above LIMIT bytes (0: any size will do).
# Run by ctest as `cmake -DLIBRARY=... -DSTRIP=... -DLIMIT=... -DKIND=... -P size_test.cmake`.
execute_process(COMMAND ${STRIP} -o ${LIBRARY}.stripped ${LIBRARY} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "strip failed")
endif()
file(SIZE ${LIBRARY}.stripped size)
message("the library ${KIND}, stripped: ${size} bytes; limit: ${LIMIT}")
if(LIMIT GREATER 0 AND size GREATER LIMIT)
  message(FATAL_ERROR "the stripped library has ${size} bytes, and ${LIMIT} are allowed")
endif()
