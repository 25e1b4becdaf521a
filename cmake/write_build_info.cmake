# Writes FILE: a header with the commit of the repository in SOURCE ("unknown" where there is none), TYPE and PROCESSOR. FILE is left alone if
# nothing changed.
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-prefix OUTPUT_VARIABLE below RESULT_VARIABLE failed ERROR_QUIET
  OUTPUT_STRIP_TRAILING_WHITESPACE)
set(commit unknown)
if(NOT failed AND below STREQUAL "")  # else SOURCE is a copy within another repository
  execute_process(COMMAND git -C ${SOURCE} describe --always --dirty=+ --abbrev=12 --exclude=* OUTPUT_VARIABLE commit ERROR_QUIET
    OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
file(CONFIGURE OUTPUT ${FILE} CONTENT "#pragma once
#define STRAGGLER_COMMIT \"${commit}\"
#define STRAGGLER_BUILD_TYPE \"${TYPE}\"
#define STRAGGLER_PROCESSOR \"${PROCESSOR}\"
")
