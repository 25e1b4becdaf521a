# WebAssembly by Debian's clang 19, for the page that holds the simulator. tools/page/build brings what it names: STRAGGLER_PAGE_DEPS has
# llvm/ (libc++'s sources), include/ (headers of libraries) and yaml-cpp/ (sources).
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_C_COMPILER clang-19)
set(CMAKE_AR /usr/bin/llvm-ar-19)
set(CMAKE_RANLIB /usr/bin/llvm-ranlib-19)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(STRAGGLER_PAGE_DEPS "${CMAKE_CURRENT_LIST_DIR}/../build/page/deps" CACHE PATH "what tools/page/build brought")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES STRAGGLER_PAGE_DEPS)
# Libraries of this machine's processor are none for the page.
set(CMAKE_FIND_ROOT_PATH ${STRAGGLER_PAGE_DEPS})
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# In the order in which headers are looked up: stand-ins for what libc++ and WASI lack, libc++, clang's own, WASI's, the libraries'.
set(system ${CMAKE_CURRENT_LIST_DIR}/../tools/page/system/include)
set(headers)
foreach(folder ${system}/std ${CMAKE_CURRENT_LIST_DIR}/../tools/page/libcxx ${STRAGGLER_PAGE_DEPS}/llvm/libcxx/include ${STRAGGLER_PAGE_DEPS}/llvm/libcxxabi/include
    ${system} /usr/lib/llvm-19/lib/clang/19/include /usr/include/wasm32-wasi ${STRAGGLER_PAGE_DEPS}/include)
  string(APPEND headers " -isystem ${folder}")
endforeach()
# jthread is experimental in libc++ 19; Boost 1.74 hashes with std::unary_function. Warnings are those of the native build.
set(flags "--target=wasm32-wasi -fwasm-exceptions -nostdlibinc -D_WASI_EMULATED_MMAN -D_WASI_EMULATED_SIGNAL -D_WASI_EMULATED_PROCESS_CLOCKS -D_WASI_EMULATED_GETPID -w")
set(CMAKE_CXX_FLAGS_INIT "${flags} -nostdinc++ -D_LIBCPP_ENABLE_EXPERIMENTAL -D_LIBCPP_ENABLE_CXX17_REMOVED_UNARY_BINARY_FUNCTION${headers}")
set(CMAKE_C_FLAGS_INIT "${flags}${headers}")
