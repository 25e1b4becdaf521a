# Debian packages by `cpack -G DEB` in the build folder (tools/package/build_debs).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME straggler)
set(CPACK_PACKAGE_CONTACT "Straggler developers <straggler@example.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "distributed SGD in simulated time")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL straggler dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)

set(CPACK_DEBIAN_STRAGGLER_PACKAGE_NAME straggler)
set(CPACK_DEBIAN_STRAGGLER_PACKAGE_RECOMMENDS "libdnnl2, dataset-fashion-mnist")
set(CPACK_DEBIAN_STRAGGLER_PACKAGE_SUGGESTS "straggler-mpi, python3-straggler, bash-completion")
set(CPACK_COMPONENT_STRAGGLER_DESCRIPTION "Which way of training finishes first on a cluster, and why?
 The program straggler: it computes the real gradients of distributed SGD in
 simulated time, on a cluster described in YAML.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libstraggler-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
string(JOIN ", " libraries libboost-dev libboost-program-options-dev libboost-random-dev libboost-graph-dev libeigen3-dev
  libyaml-cpp-dev libfmt-dev nlohmann-json3-dev librandom123-dev zlib1g-dev libdeflate-dev libsqlite3-dev libnlopt-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${libraries}")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "cmake (>= 3.25), g++ (>= 4:12), libdnnl2")
set(CPACK_COMPONENT_DEV_DESCRIPTION "Simulated distributed SGD from C++: headers, archives, CMake package
 find_package(straggler) gives a target for each folder of the code.")

if(TARGET straggler-mpi)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
  set(CPACK_DEBIAN_MPI_PACKAGE_NAME straggler-mpi)
  set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "straggler (= ${PROJECT_VERSION}), openmpi-bin")
  set(CPACK_COMPONENT_MPI_DESCRIPTION "Distributed SGD on real MPI ranks, and sweeps that ranks share
 The program straggler-mpi: the scenarios of straggler on real ranks, whose
 runs straggler replays in simulated time.")
endif()
if(TARGET straggler_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-straggler)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  # The extension works with one minor version of Python.
  execute_process(COMMAND ${STRAGGLER_PYTHON} -c "import sys; print('python3 (>= 3.%d), python3 (<< 3.%d)' % (sys.version_info[1], sys.version_info[1] + 1))"
    OUTPUT_VARIABLE python_versions OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "${python_versions}, python3-numpy")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "python3-pandas, libdnnl2, dataset-fashion-mnist")
  set(CPACK_COMPONENT_PYTHON_DESCRIPTION "Simulated distributed SGD from Python
 The module straggler: runs, tables and plots, and schemes written as
 generators.")
endif()
include(CPack)
