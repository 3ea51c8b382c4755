// Turns an exception that nobody caught into a Diagnostic. Cortado throws none itself; the standard library does.
#pragma once

#include <exception>

#include "cortado/result.hpp"

namespace cortado {

/// "memory" or "thread" if the system has no more of them; "internal", a bug in Cortado, for everything else.
Diagnostic uncaught(const std::exception& exception);

}  // namespace cortado
