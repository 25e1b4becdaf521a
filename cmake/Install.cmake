# What `cmake --install` lays out, and what CPack makes packages of (decision 92). Components: straggler (program, man pages, completion,
# scenarios), mpi (straggler-mpi), python, dev (headers, archives and the CMake package).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(shared_files ${CMAKE_INSTALL_DATAROOTDIR}/straggler)

install(TARGETS straggler RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT straggler)
install(DIRECTORY scenarios/examples scenarios/studies scenarios/sweeps DESTINATION ${shared_files}/scenarios COMPONENT straggler)
install(FILES scenarios/quickstart.yaml DESTINATION ${shared_files}/scenarios COMPONENT straggler)
install(FILES build/page/straggler.html DESTINATION ${shared_files} COMPONENT straggler OPTIONAL)  # tools/page/build
install(PROGRAMS tools/quickstart DESTINATION ${shared_files} COMPONENT straggler)
install(FILES README.md CHANGELOG.md CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT straggler)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT straggler)
install(CODE "file(RELATIVE_PATH scenarios /${CMAKE_INSTALL_DOCDIR} /${shared_files}/scenarios)  # as links of the documentation say it
  file(CREATE_LINK \"\${scenarios}\" \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}/scenarios\" SYMBOLIC)"
  COMPONENT straggler)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT straggler)
if(TARGET straggler_fmt_archive)  # the program holds these libraries, whose licences ask for their text; Boost's and zlib's do not
  foreach(library yaml-cpp fmt deflate)
    set(licence /usr/share/doc/lib${library}-dev/copyright)
    install(FILES ${licence} DESTINATION ${CMAKE_INSTALL_DOCDIR}/linked RENAME lib${library} COMPONENT straggler OPTIONAL)
  endforeach()
endif()

# Man pages and completion, by the program that was built.
set(manual ${CMAKE_BINARY_DIR}/manual)
add_custom_command(OUTPUT ${manual}/made DEPENDS straggler VERBATIM
  COMMAND straggler man --out ${manual}/man
  COMMAND straggler completion --out ${manual}/completion
  COMMAND ${CMAKE_COMMAND} -E touch ${manual}/made)
add_custom_target(straggler_manual ALL DEPENDS ${manual}/made)
install(DIRECTORY ${manual}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT straggler)
install(FILES ${manual}/completion/straggler DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions COMPONENT straggler)
install(FILES ${manual}/completion/_straggler DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/zsh/vendor-completions COMPONENT straggler)
install(FILES ${manual}/completion/straggler.fish DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/fish/vendor_completions.d COMPONENT straggler)

if(TARGET straggler-mpi)
  add_custom_command(OUTPUT ${manual}/mpi/straggler-mpi.1 DEPENDS straggler-mpi
    COMMAND ${CMAKE_COMMAND} -E make_directory ${manual}/mpi
    COMMAND straggler-mpi --man > ${manual}/mpi/straggler-mpi.1)
  add_custom_target(straggler_mpi_manual ALL DEPENDS ${manual}/mpi/straggler-mpi.1)
  install(TARGETS straggler-mpi RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT mpi)
  install(FILES ${manual}/mpi/straggler-mpi.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT mpi)
endif()

if(TARGET straggler_python)
  # Debian's folder, which belongs to its Python; elsewhere `pip install ./python` knows the right one.
  set(STRAGGLER_PYTHON_PLACE lib/python3/dist-packages CACHE STRING "folder of the Python package below the prefix")
  install(CODE "if(NOT EXISTS \"$<TARGET_FILE:straggler_python>\")
    message(FATAL_ERROR \"the Python module is not built; build the target straggler_python_package, or install other components alone\")
  endif()" COMPONENT python)
  install(DIRECTORY ${CMAKE_BINARY_DIR}/python/straggler DESTINATION ${STRAGGLER_PYTHON_PLACE} COMPONENT python
    PATTERN __pycache__ EXCLUDE)
else()
  install(CODE "message(FATAL_ERROR \"the Python module was not built: pybind11 or Python's headers were not found\")" COMPONENT python
    EXCLUDE_FROM_ALL)
endif()

# A target a folder of the code, straggler::FOLDER, and one for each top folder. Objects are not linked transitively, so each folder becomes
# an archive that is linked whole: no entry that registers itself is dropped.
get_property(modules GLOBAL PROPERTY STRAGGLER_MODULES)
set(layers)
add_custom_target(straggler_archives)
foreach(module ${modules})
  get_target_property(kind ${module} TYPE)
  get_target_property(links ${module} INTERFACE_LINK_LIBRARIES)
  get_property(beside TARGET ${module} PROPERTY STRAGGLER_NEEDS)
  set(needs)
  foreach(link ${links} ${beside})
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" link "${link}")
    if(link IN_LIST modules)
      list(APPEND needs straggler::${link})
    elseif(IS_ABSOLUTE "${link}")
      get_filename_component(name "${link}" NAME_WE)
      string(REGEX REPLACE "^lib" "" name ${name})
      list(APPEND needs ${name})
    elseif(NOT link STREQUAL straggler_flags)
      list(APPEND needs ${link})
    endif()
  endforeach()
  set(archive "-")
  if(kind STREQUAL OBJECT_LIBRARY)
    add_library(archive_${module} STATIC $<TARGET_OBJECTS:${module}>)
    set_target_properties(archive_${module} PROPERTIES OUTPUT_NAME straggler_${module} LINKER_LANGUAGE CXX
      ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/archives)
    add_dependencies(straggler_archives archive_${module})
    install(TARGETS archive_${module} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
    set(archive libstraggler_${module}.a)
  endif()
  string(REGEX REPLACE "_.*" "" top ${module})
  string(APPEND layers "straggler_layer(${module} ${top} ${archive} \"${needs}\")\n")
endforeach()

set(cmake_files ${CMAKE_INSTALL_LIBDIR}/cmake/straggler)
configure_package_config_file(cmake/straggler-config.cmake.in ${CMAKE_BINARY_DIR}/straggler-config.cmake INSTALL_DESTINATION ${cmake_files}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
# Before version 1.0 a minor version may change the interface (docs/install.md).
write_basic_package_version_file(${CMAKE_BINARY_DIR}/straggler-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/straggler-config.cmake ${CMAKE_BINARY_DIR}/straggler-config-version.cmake DESTINATION ${cmake_files}
  COMPONENT dev)
foreach(folder sim models scenarios validation)
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/straggler COMPONENT dev FILES_MATCHING PATTERN "*.hpp"
    PATTERN mpi EXCLUDE PATTERN sweep_ranks EXCLUDE PATTERN ping_pong EXCLUDE PATTERN reference EXCLUDE PATTERN testbed EXCLUDE
    PATTERN web EXCLUDE)
endforeach()
install(DIRECTORY tools/package/example DESTINATION ${shared_files} COMPONENT dev)

include(cmake/Packages.cmake)
