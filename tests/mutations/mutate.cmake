# Writes OUTPUT: SOURCE with the edits of MUTATION. Each edit is
#   <<<<
#   old lines
#   ====
#   new lines
#   >>>>
# and its old lines must be in SOURCE exactly once.
cmake_minimum_required(VERSION 3.25)
file(READ ${SOURCE} text)
file(READ ${MUTATION} rest)
set(edits 0)
while(TRUE)
  string(FIND "${rest}" "<<<<\n" begin)
  if(begin EQUAL -1)
    break()
  endif()
  math(EXPR begin "${begin} + 5")
  string(SUBSTRING "${rest}" ${begin} -1 rest)
  string(FIND "${rest}" "====\n" middle)
  string(SUBSTRING "${rest}" 0 ${middle} old)
  math(EXPR middle "${middle} + 5")
  string(SUBSTRING "${rest}" ${middle} -1 rest)
  string(FIND "${rest}" ">>>>" end)
  string(SUBSTRING "${rest}" 0 ${end} new)

  string(FIND "${text}" "${old}" first)
  string(FIND "${text}" "${old}" last REVERSE)
  if(first EQUAL -1)
    message(FATAL_ERROR "${MUTATION}: these lines are no longer in ${SOURCE}:\n${old}")
  endif()
  if(NOT first EQUAL last)
    message(FATAL_ERROR "${MUTATION}: these lines are in ${SOURCE} more than once:\n${old}")
  endif()
  string(REPLACE "${old}" "${new}" text "${text}")
  math(EXPR edits "${edits} + 1")
endwhile()
if(edits EQUAL 0)
  message(FATAL_ERROR "${MUTATION}: no edit")
endif()
file(WRITE ${OUTPUT} "${text}")
