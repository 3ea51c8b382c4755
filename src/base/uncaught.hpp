// Turns an uncaught exception into a Diagnostic. Cortado itself throws none; the standard library does.
#pragma once

#include <exception>

#include "cortado/result.hpp"

namespace cortado {

/// "memory" or "thread" if the system has run out of them; "internal", a bug in Cortado, for everything else.
Diagnostic uncaught(const std::exception& exception);

}  // namespace cortado
