// For platforms where a throw cannot be caught and ends the program: what is to be done before.
#pragma once

#include <exception>
#include <functional>

namespace cortado::cli {

/// Says what went wrong; returns the exit code of the program.
using OnThrow = std::function<int(const std::exception& thrown)>;

/// In force until the next call. Only WebAssembly has it (wasi/throw.cpp).
void on_throw(OnThrow handler);

}  // namespace cortado::cli
