# One folder is one target, and a target sees only the folders that it links: the arrows of docs/map.md.

# Parsing the standard library is half of what a file costs: it is parsed once. Without it every file stands on its own includes.
option(STRAGGLER_PRECOMPILE "parse the standard library once, not for every file" ON)
set(standard_headers <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <coroutine> <cstdint> <cstring> <deque> <filesystem> <fstream>
    <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream> <stdexcept> <string> <string_view>
    <unordered_map> <utility> <variant> <vector>)

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers need these two; no source asks for the date or the time.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
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

# straggler_precompiled(name headers...): headers that targets built with the same options as `name` can share.
function(straggler_precompiled name)
  if(STRAGGLER_PRECOMPILE)
    file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp CONTENT "")
    add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
    target_link_libraries(${name} PUBLIC straggler_flags)
    target_precompile_headers(${name} PRIVATE ${ARGN})
  endif()
endfunction()
function(straggler_takes_precompiled target name)
  if(STRAGGLER_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()
straggler_precompiled(precompiled_standard ${standard_headers})

# straggler_module(name FOLDER folder [LINKS targets...]): all .cpp files of the folder (not of those below it), as an object
# library, so that entries which register themselves are never dropped by the linker.
function(straggler_module name)
  cmake_parse_arguments(M "" "FOLDER" "LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${M_FOLDER}/*.cpp)
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${M_FOLDER}/*.hpp)
  if(sources)
    add_library(${name} OBJECT ${sources} ${headers})
    target_link_libraries(${name} PUBLIC straggler_flags ${M_LINKS})
    straggler_takes_precompiled(${name} precompiled_standard)
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE straggler_flags ${M_LINKS})
  endif()
  set_property(GLOBAL APPEND PROPERTY STRAGGLER_MODULES ${name})
endfunction()
