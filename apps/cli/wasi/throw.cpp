// A throw ends the program here: the C++ library for WebAssembly cannot unwind the stack. Errors of Cortado are values,
// so what is thrown comes from CLI11 or is a broken promise of a library.
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <typeinfo>
#include <utility>

#include "../command_line.hpp"

namespace cortado::cli {
namespace {

OnThrow& current_handler() {
  static OnThrow handler;
  return handler;
}

}  // namespace

void on_throw(OnThrow handler) {
  current_handler() = std::move(handler);
}

}  // namespace cortado::cli

// How `throw` is compiled, by the Itanium C++ ABI. Everything thrown here derives from std::exception
// first.
extern "C" {

void* __cxa_allocate_exception(std::size_t size) noexcept {
  return std::malloc(size);
}

void __cxa_free_exception(void* thrown) noexcept {
  std::free(thrown);
}

[[noreturn]] void __cxa_throw(void* thrown, std::type_info*, void (*)(void*)) {
  const auto& handler = cortado::cli::current_handler();
  std::exit(handler ? handler(*static_cast<const std::exception*>(thrown)) : EXIT_FAILURE);
}
}
