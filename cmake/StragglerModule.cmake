# One folder is one target, and a target sees only the folders that it links: the arrows of docs/map.md.

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What was included it reads from the compiler's dependency file: else it would preprocess each new file first, a sixth of all time.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_DEPEND=1 ${CCACHE})
endif()

add_library(straggler_flags INTERFACE)
target_include_directories(straggler_flags INTERFACE ${PROJECT_SOURCE_DIR})
# No contraction: simulated times must not depend on which instructions the compiler picks.
target_compile_options(straggler_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 sees impossible overlaps, overflows and overreads in inlined std::string and boost::small_vector code (GCC bugs 105329, 105651).
  target_compile_options(straggler_flags INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
endif()
if(STRAGGLER_SANITIZE)
  # Not what AddressSanitizer (or the processor) catches anyway: these checks stand at every access, and are a third of the compiler's time.
  target_compile_options(straggler_flags INTERFACE -fsanitize=address,undefined -fno-sanitize=null,vptr,alignment,object-size
    -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(straggler_flags INTERFACE -fsanitize=address,undefined)
endif()

# straggler_together(target sources...): eight files are compiled as one, which parses headers once; the preset `dev` sees to it that
# each stands alone. Files that register themselves share names like `entry`: they stay apart unless they have a namespace of their own.
function(straggler_together target)
  if(NOT STRAGGLER_TOGETHER)
    return()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})  # one may begin to register itself
  foreach(source ${ARGN})
    file(STRINGS ${source} registers REGEX "Register<[A-Za-z]+> " LIMIT_COUNT 1)
    file(STRINGS ${source} namespace REGEX "^namespace straggler::" LIMIT_COUNT 1)
    if(registers AND NOT namespace)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  # g++ takes a file that is included for a header, whose unnamed types others would see.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# straggler_module(name FOLDER folder [LINKS targets...] [NOT_SANITIZED patterns...]): all .cpp files of the folder (not of those
# below it), as an object library, so that entries which register themselves are never dropped by the linker; under sanitizers without
# those of the patterns, which no test that runs there calls.
function(straggler_module name)
  cmake_parse_arguments(M "" "FOLDER" "LINKS;NOT_SANITIZED" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${M_FOLDER}/*.cpp)
  if(STRAGGLER_SANITIZE AND M_NOT_SANITIZED)
    list(TRANSFORM M_NOT_SANITIZED PREPEND ${PROJECT_SOURCE_DIR}/${M_FOLDER}/)
    file(GLOB left_out ${M_NOT_SANITIZED})
    list(REMOVE_ITEM sources ${left_out})
  endif()
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${M_FOLDER}/*.hpp)
  if(sources)
    add_library(${name} OBJECT ${sources} ${headers})
    target_link_libraries(${name} PUBLIC straggler_flags ${M_LINKS})
    straggler_together(${name} ${sources})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE straggler_flags ${M_LINKS})
  endif()
  set_property(GLOBAL APPEND PROPERTY STRAGGLER_MODULES ${name})
endfunction()
