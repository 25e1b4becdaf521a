# straggler_late_library(target LIBRARY path NAME macro): the target does not link that shared library. `macro` holds the name by which the
# dynamic linker finds it, as a string (sim/base/late_library.hpp).
function(straggler_late_library target)
  cmake_parse_arguments(L "" "LIBRARY;NAME" "" ${ARGN})
  file(REAL_PATH ${L_LIBRARY} file)
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${file} OUTPUT_VARIABLE header ERROR_QUIET)
  if(NOT header MATCHES "SONAME +([^ \n]+)")
    message(FATAL_ERROR "${file} is no shared library with a SONAME; install the one of the system's package")
  endif()
  target_compile_definitions(${target} PRIVATE ${L_NAME}="${CMAKE_MATCH_1}")
endfunction()
