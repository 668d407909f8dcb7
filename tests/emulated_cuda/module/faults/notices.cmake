# Runs CASES of PROGRAM with MODULE as its GPU's part. It must fail, and say what NOTICES matches.
separate_arguments(ENVIRONMENT)
execute_process(COMMAND ${CMAKE_COMMAND} -E env ZERO_GPU_LIBRARY=${MODULE} ${ENVIRONMENT} ${PROGRAM} ${CASES}
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status STREQUAL "0")
  message(FATAL_ERROR "The fault was not noticed:\n${output}")
endif()
if(NOT output MATCHES "${NOTICES}")
  message(FATAL_ERROR "It failed (${status}), but for another reason than \"${NOTICES}\":\n${output}")
endif()
message("noticed")
