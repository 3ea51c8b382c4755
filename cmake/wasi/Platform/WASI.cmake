# CMake 3.25 does not know WASI: it needs nothing beyond what the compiler knows.
set(CMAKE_EXECUTABLE_SUFFIX .wasm)
