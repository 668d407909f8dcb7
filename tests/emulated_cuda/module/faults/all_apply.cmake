# Fails if a fault of this folder is no longer an edit of the source that it names, below ROOT; writes
# the edited source to OUTPUT.
file(GLOB faults ${CMAKE_CURRENT_LIST_DIR}/*.mutation)
list(LENGTH faults count)
if(count LESS 10)
  message(FATAL_ERROR "${CMAKE_CURRENT_LIST_DIR} has only ${count} faults")
endif()
foreach(fault ${faults})
  file(STRINGS ${fault} file REGEX "^file: ")
  string(REGEX REPLACE "^file: " "" file "${file}")
  execute_process(COMMAND ${CMAKE_COMMAND} -DMUTATION=${fault} -DSOURCE=${ROOT}/${file}
                          -DOUTPUT=${OUTPUT} -P ${ROOT}/tests/mutations/mutate.cmake
                  RESULT_VARIABLE status ERROR_VARIABLE error)
  if(NOT status EQUAL 0)
    message(SEND_ERROR "${error}")
  endif()
endforeach()
