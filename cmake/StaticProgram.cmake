# straggler_static_libraries(): finds static archives of the libraries that the program links, beside their shared ones, so that they are of
# the same version. Sets straggler_static_libraries, or leaves it empty if one is missing: then the program links shared libraries. Half of
# the time in which a small run starts went into loading them (decision 124). Of NLopt and oneDNN
# Debian has no archive.
option(STRAGGLER_STATIC "link the program with static archives of its libraries, if they are there" ON)

function(straggler_static_libraries)
  set(straggler_static_libraries PARENT_SCOPE)
  if(NOT STRAGGLER_STATIC OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    return()
  endif()
  set(found)
  foreach(library yaml-cpp Boost::program_options Boost::graph Boost::regex ZLIB::ZLIB ${DEFLATE_LIBRARY} SQLite::SQLite3)
    set(shared ${library})
    if(TARGET ${library})
      set(shared)
      foreach(property IMPORTED_LOCATION_RELEASE IMPORTED_LOCATION_NONE IMPORTED_LOCATION)
        get_target_property(place ${library} ${property})
        if(place AND NOT shared)
          set(shared ${place})
        endif()
      endforeach()
    endif()
    string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive "${shared}")
    if(NOT EXISTS "${archive}" OR NOT archive MATCHES "\\.a$")
      message(STATUS "Start-up: ${library} has no static archive; the program links shared libraries")
      return()
    endif()
    list(APPEND found ${archive})
  endforeach()

  # Debian has no archive of fmt, but the headers hold its source.
  set(fmt ${PROJECT_SOURCE_DIR}/cmake/fmt_archive.cpp)
  try_compile(STRAGGLER_STATIC_LINKS SOURCES ${fmt} ${PROJECT_SOURCE_DIR}/cmake/static_program_check.cpp
    LINK_OPTIONS -static-libstdc++ CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
  if(NOT STRAGGLER_STATIC_LINKS)
    message(STATUS "Start-up: fmt or the compiler's runtime cannot be linked statically; the program links shared libraries")
    return()
  endif()
  add_library(straggler_fmt_archive OBJECT ${fmt})
  set(straggler_static_libraries ${found} PARENT_SCOPE)
endfunction()

# straggler_program(target modules...): links what the modules hold, with static archives of the libraries if all of them are there.
function(straggler_program target)
  if(NOT straggler_static_libraries)
    target_link_libraries(${target} PRIVATE ${ARGN})
    return()
  endif()
  target_link_libraries(${target} PRIVATE straggler_flags straggler_fmt_archive ${straggler_static_libraries} ${NLOPT_C_LIBRARY} Threads::Threads ${CMAKE_DL_LIBS})
  foreach(module ${ARGN})
    get_target_property(kind ${module} TYPE)
    if(kind STREQUAL OBJECT_LIBRARY)
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:${module}>)
    endif()
  endforeach()
  # oneDNN, which is loaded late, brings a C++ library of its own, and throws nothing out of it.
  target_link_options(${target} PRIVATE -static-libstdc++)
endfunction()
