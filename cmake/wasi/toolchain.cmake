# WebAssembly for the browser, by Debian's clang and lld and the C and C++ libraries inside the npm package @yowasp/clang.
# They are unpacked into build/wasi once: a folder of the tree, so that compiler caches know objects of another clone.
set(CMAKE_SYSTEM_NAME WASI)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

get_filename_component(cortado_root ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
set(wasi ${cortado_root}/build/wasi)
set(archive ${cortado_root}/web/node_modules/@yowasp/clang/gen/llvm-resources.tar)
if(NOT EXISTS ${wasi}/complete)
  if(NOT EXISTS ${archive})
    message(FATAL_ERROR "${archive} is missing: run tools/install_packages --web")
  endif()
  file(REMOVE_RECURSE ${wasi})
  file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${wasi})
  # Iterators of std::array are pointers in the other libraries that Cortado is compiled with: `const auto* found`. No
  # object of the C++ library knows them, so they can be pointers here, too.
  set(abi ${wasi}/include/c++/v1/__configuration/abi.h)
  file(READ ${abi} text)
  string(REPLACE "#  define _LIBCPP_ABI_USE_WRAP_ITER_IN_STD_ARRAY" "" text "${text}")
  file(WRITE ${abi} "${text}")
  # Libraries of headers; /usr/include itself would bring those of the host.
  file(MAKE_DIRECTORY ${wasi}/headers)
  foreach(library fmt toml++ tl nlohmann CLI)
    file(CREATE_LINK /usr/include/${library} ${wasi}/headers/${library} SYMBOLIC)
  endforeach()
  file(TOUCH ${wasi}/complete)
endif()

set(CMAKE_C_COMPILER clang-22)
set(CMAKE_CXX_COMPILER clang++-22)
set(CMAKE_AR llvm-ar-22)
set(CMAKE_RANLIB llvm-ranlib-22)
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasip1)
set(CMAKE_SYSROOT ${wasi})
# A throw ends the program (apps/cli/wasi/throw.cpp): user mistakes are values, and what CLI11 throws is told before.
set(CMAKE_CXX_FLAGS_INIT "-fignore-exceptions")
# The default stack of 64 KiB is small; it stands first in memory, so that an overflow traps.
set(CMAKE_EXE_LINKER_FLAGS_INIT
    "-resource-dir ${wasi} -Wl,--gc-sections -Wl,-z,stack-size=4194304 -Wl,--stack-first -Wl,--initial-memory=16777216")
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE NEVER)
