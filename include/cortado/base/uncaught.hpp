// Exceptions that nobody caught. Cortado itself throws none: they are those of the standard library.
#pragma once

#include <exception>

#include "cortado/base/result.hpp"

namespace cortado {

/// The environment has no more memory ("memory") or threads ("thread"); everything else is a mistake of Cortado
/// ("internal").
Diagnostic uncaught(const std::exception& exception);

}  // namespace cortado
