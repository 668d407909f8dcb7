# Fails when a C++ file is not laid out as .clang-format says.
# Usage: cmake -DCLANG_FORMAT=clang-format -DROOT=folder -P formatting.cmake
foreach(folder stages common visualizer exercises tests)
  file(GLOB_RECURSE found ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.cpp ${ROOT}/${folder}/*.cu
       ${ROOT}/${folder}/*.cuh)
  list(APPEND files ${found})
endforeach()
execute_process(COMMAND ${CLANG_FORMAT} --dry-run -Werror ${files} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "Lay the files named above out with: clang-format -i FILE")
endif()
