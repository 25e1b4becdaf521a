# One folder is one target, and a target sees only the folders that it links: the arrows of docs/map.md.

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(straggler_flags INTERFACE)
target_include_directories(straggler_flags INTERFACE ${PROJECT_SOURCE_DIR})
# No contraction: simulated times must not depend on which instructions the compiler picks.
target_compile_options(straggler_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 sees impossible overlaps and overflows in inlined std::string and boost::small_vector code (GCC bugs 105329, 105651).
  target_compile_options(straggler_flags INTERFACE -Wno-restrict -Wno-stringop-overflow)
endif()
if(STRAGGLER_SANITIZE)
  target_compile_options(straggler_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(straggler_flags INTERFACE -fsanitize=address,undefined)
endif()

# straggler_module(name FOLDER folder [LINKS targets...]): all .cpp files of the folder (not of those below it), as an object
# library, so that entries which register themselves are never dropped by the linker.
function(straggler_module name)
  cmake_parse_arguments(M "" "FOLDER" "LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${M_FOLDER}/*.cpp)
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${M_FOLDER}/*.hpp)
  if(sources)
    add_library(${name} OBJECT ${sources} ${headers})
    target_link_libraries(${name} PUBLIC straggler_flags ${M_LINKS})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE straggler_flags ${M_LINKS})
  endif()
  set_property(GLOBAL APPEND PROPERTY STRAGGLER_MODULES ${name})
endfunction()
