# Remakes the pictures of stages/README.md from real runs: cmake --build build --target pictures.
# Needs BUILD (the build folder) and TO (where the pictures go).
set(runs ${BUILD}/pictures)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE said)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${said}")
  endif()
endfunction()

# picture(NAME RUNS... OPTIONS...)
function(picture name)
  message(STATUS "${TO}/${name}.png")
  run(${BUILD}/visualizer/visualizer ${ARGN} --export ${TO}/${name}.png)
endfunction()

foreach(stage ddp zero1 zero2 zero3)
  file(REMOVE_RECURSE ${runs}/${stage})
  run(${BUILD}/stages/${stage} --iterations 3 --quiet --trace ${runs}/${stage})
endforeach()
file(MAKE_DIRECTORY ${TO})
picture(four_stages ${runs}/ddp ${runs}/zero1 ${runs}/zero2 ${runs}/zero3)
picture(ddp ${runs}/ddp --at 3:2@60%)
picture(zero1 ${runs}/zero1 --at 3:2@60%)
picture(zero2 ${runs}/zero2 --at "3:2:block 1")
picture(zero3 ${runs}/zero3 --at "3:2:block 1@90%")
picture(ring_reduce_scatter ${runs}/zero1 --at 3:3 --content strip)
