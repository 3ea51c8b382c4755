// What the sources of the Python module share.
#pragma once

#include <pybind11/pybind11.h>
#include <utility>

#include "cortado/result.hpp"

namespace cortado::python {

/// Throws cortado.Error with code, message and hint.
[[noreturn]] void raise(const Diagnostic& diagnostic);

inline void check(const Status& status) {
  if (!status) raise(status.error());
}

template <class T>
T value_of(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(result).value();
}

void add_planning(pybind11::module_& module);

}  // namespace cortado::python
