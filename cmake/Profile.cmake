# STRAGGLER_PROFILE: compile the simulator (sim/) by how often runs of the program pass each branch (tools/profiled_build). record: the
# program counts while it runs, into its build folder; use: compile by what was counted there.
set(STRAGGLER_PROFILE "" CACHE STRING "empty; record: the program counts what it does; use: compile sim/ by these counts")

if(STRAGGLER_PROFILE AND NOT STRAGGLER_PROFILE MATCHES "^(record|use)$")
  message(FATAL_ERROR "STRAGGLER_PROFILE is '${STRAGGLER_PROFILE}': give record or use, or leave it empty")
endif()
if(STRAGGLER_PROFILE AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  message(FATAL_ERROR "STRAGGLER_PROFILE needs g++; this compiler is ${CMAKE_CXX_COMPILER_ID}")
endif()
if(STRAGGLER_PROFILE STREQUAL "record")
  target_link_options(straggler_flags INTERFACE -fprofile-generate)
endif()

# straggler_profiled(target): an object library of sim/.
function(straggler_profiled target)
  if(STRAGGLER_PROFILE STREQUAL "record")
    target_compile_options(${target} PRIVATE -fprofile-generate -fprofile-update=single)  # each simulation runs on one thread
  elseif(STRAGGLER_PROFILE STREQUAL "use")
    # What no run has passed is compiled for speed all the same.
    target_compile_options(${target} PRIVATE -fprofile-use -fprofile-partial-training -Wno-missing-profile)
  endif()
endfunction()
