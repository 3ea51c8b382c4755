// What the linker needs but does not exist here.
#include "device/soft/soft.hpp"
#include "sweep/embedded.hpp"

namespace cortado::device {

/// Of the embedded node, which is not a target here: `--on soft` has been refused before this is called.
double soft_gemm_rate(DType, const SoftOptions&) {
  return 0;
}

}  // namespace cortado::device

namespace cortado::sweep {

/// There are no sweeps here, and no completion of their names.
std::span<const std::pair<std::string_view, std::string_view>> embedded_studies() {
  return {};
}

}  // namespace cortado::sweep

// Destructors of thread_local variables, by the Itanium C++ ABI: the only thread ends with the program.
extern "C" {

int __cxa_atexit(void (*destroy)(void*), void* object, void* program) noexcept;

int __cxa_thread_atexit(void (*destroy)(void*), void* object, void* program) noexcept {
  return __cxa_atexit(destroy, object, program);
}
}
