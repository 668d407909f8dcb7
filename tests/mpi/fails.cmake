# Runs PROGRAM WHAT on RANKS processes: it must end by itself within seconds, with a status that is
# not 0, and its messages must match EXPECTED.
execute_process(
  COMMAND ${MPIRUN} -n ${RANKS} --oversubscribe ${PROGRAM} ${WHAT}
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output TIMEOUT 30)
if(status EQUAL 0 OR NOT status MATCHES "^[0-9]+$")
  message(FATAL_ERROR "ended with \"${status}\":\n${output}")
endif()
if(NOT output MATCHES "${EXPECTED}")
  message(FATAL_ERROR "expected \"${EXPECTED}\" in:\n${output}")
endif()
