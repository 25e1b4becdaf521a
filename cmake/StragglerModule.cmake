# One folder is one target, which links the folders that it uses. tests/tree/check_tree holds the arrows between folders.

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache reads the included files from the compiler's dependency file: preprocessing each new file first would take a sixth of the total
  # time.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_DEPEND=1 ${CCACHE})
endif()

add_library(straggler_flags INTERFACE)
target_include_directories(straggler_flags INTERFACE ${PROJECT_SOURCE_DIR})
# No contraction: simulated times must not depend on which instructions the compiler picks.
target_compile_options(straggler_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 warns of impossible overlaps, overflows and overreads in inlined std::string and boost::small_vector code (GCC bugs 105329,
  # 105651), and of members that std::optional and boost::static_vector do not use.
  target_compile_options(straggler_flags INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-maybe-uninitialized)
  # The compiler's own memory is collected more seldom: a tenth of its time.
  target_compile_options(straggler_flags INTERFACE --param=ggc-min-heapsize=1000000)
endif()
# STRAGGLER_SANITIZE: ON for AddressSanitizer and UBSan; thread for ThreadSanitizer, whose flags the preset has. STRAGGLER_FUZZ: the former,
# and libFuzzer, which the executables of tests/fuzz link.
if(STRAGGLER_FUZZ OR (STRAGGLER_SANITIZE AND NOT STRAGGLER_SANITIZE STREQUAL "thread"))
  # Without the checks that AddressSanitizer (or the processor) duplicates: they instrument every access and take a third of the compile
  # time. clang 14 cannot compile coroutines with that of pointers to functions.
  target_compile_options(straggler_flags INTERFACE -fsanitize=address,undefined -fno-sanitize=null,vptr,alignment,object-size
    $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function> $<$<BOOL:${STRAGGLER_FUZZ}>:-fsanitize=fuzzer-no-link>
    -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(straggler_flags INTERFACE -fsanitize=address,undefined)
  # Accesses are checked by calls, which takes a quarter less to compile; not in sim/ and models/, where the tests spend their time.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(checks_by_calls --param=asan-instrumentation-with-call-threshold=0)
  elseif(NOT STRAGGLER_FUZZ)
    set(checks_by_calls "SHELL:-mllvm -asan-instrumentation-with-call-threshold=0")
  endif()
endif()

# straggler_seldom(target): what runs little, around simulation, math and rows of results, is compiled in little time: in release builds, and
# under sanitizers, where optimizing it takes 1.4 to 2.6 times as long.
function(straggler_seldom target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)  # a fifth less to compile than -O1
  endif()
  if(STRAGGLER_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# straggler_inlined(target): g++ bounds how much inlining may enlarge a compilation unit (inline-unit-growth, 40 %), however hot a call is.
# Where a whole room is one unit, that bound refuses small functions that every message passes: rooms that each message passes get a wider
# one (decision 128).
function(straggler_inlined target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND STRAGGLER_TOGETHER)
    target_compile_options(${target} PRIVATE
      $<$<CONFIG:Release>:--param=inline-unit-growth=150;--param=max-inline-insns-auto=60;--param=inline-min-speedup=8>)
  endif()
endfunction()

# straggler_together(target sources...): STRAGGLER_TOGETHER files are compiled as one, which parses headers and instantiates templates
# once; the preset `dev` checks that each compiles alone. Files that
# register an `entry` share that name: they are compiled separately unless each has its own namespace.
function(straggler_together target)
  if(NOT STRAGGLER_TOGETHER)
    return()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})  # a file may start to register itself
  foreach(source ${ARGN})
    file(STRINGS ${source} registers REGEX "Register<[A-Za-z]+> (entry|engine|none)[ ({]" LIMIT_COUNT 1)
    file(STRINGS ${source} namespace REGEX "^namespace (straggler::|[a-z_]+_test )" LIMIT_COUNT 1)
    if(registers AND NOT namespace)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${STRAGGLER_TOGETHER})
  # g++ treats an included file as a header and warns that its unnamed types are visible to other files.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# straggler_module(name FOLDER folder [LINKS targets...] [ONLY patterns...] [WITHOUT patterns...] [NOT_SANITIZED patterns...]): all .cpp
# files of the folder (not of its subfolders), or those that match a pattern of ONLY, as an object library, so that the linker never drops
# entries that register themselves. Files of WITHOUT are left out, those of NOT_SANITIZED from sanitizer builds, where no test calls them.
# STRAGGLER_REPLACED: files, from the project's folder, for which the build has stand-ins.
function(straggler_module name)
  cmake_parse_arguments(M "" "FOLDER" "LINKS;ONLY;WITHOUT;NOT_SANITIZED" ${ARGN})
  if(NOT M_ONLY)
    set(M_ONLY *.cpp)
  endif()
  list(TRANSFORM M_ONLY PREPEND ${PROJECT_SOURCE_DIR}/${M_FOLDER}/)
  file(GLOB sources CONFIGURE_DEPENDS ${M_ONLY})
  if(STRAGGLER_SANITIZE)
    list(APPEND M_WITHOUT ${M_NOT_SANITIZED})
  endif()
  list(TRANSFORM STRAGGLER_REPLACED PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE replaced)
  list(REMOVE_ITEM sources ${replaced})
  if(M_WITHOUT)
    list(TRANSFORM M_WITHOUT PREPEND ${PROJECT_SOURCE_DIR}/${M_FOLDER}/)
    file(GLOB left_out ${M_WITHOUT})
    list(REMOVE_ITEM sources ${left_out})
  endif()
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${M_FOLDER}/*.hpp)
  if(sources)
    add_library(${name} OBJECT ${sources} ${headers})
    target_link_libraries(${name} PUBLIC straggler_flags ${M_LINKS})
    straggler_together(${name} ${sources})
    if(M_FOLDER MATCHES "^(validation|models/(data|formats|layers|safetensors|quantization)|scenarios/)")
      straggler_seldom(${name})
    endif()
    if(M_FOLDER MATCHES "^sim/(engine|network|training|simulated|record)")
      straggler_inlined(${name})
    elseif(M_FOLDER MATCHES "^(sim/(collectives|schemes)|models/(executor|zoo))$" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # What these do is little beside the messages and kernels that they call: up to two fifths less to compile, and runs take the same time.
      target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
    elseif(M_FOLDER STREQUAL "sim/cluster" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-Og>)  # devices, machines, topologies
    endif()
    if(M_FOLDER MATCHES "^sim/")
      straggler_profiled(${name})
    endif()
    if(NOT M_FOLDER MATCHES "^(sim|models)")
      target_compile_options(${name} PRIVATE ${checks_by_calls})
    endif()
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE straggler_flags ${M_LINKS})
  endif()
  set_property(GLOBAL APPEND PROPERTY STRAGGLER_MODULES ${name})
endfunction()
