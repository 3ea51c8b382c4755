// What to think of predictions on machines whose file has constants of other machines.
#pragma once

#include "cortado/machine.hpp"

#include "console.hpp"

namespace cortado::cli {

/// One line on standard error if more than a tenth of the machine's constants are those of others.
void tell_what_is_borrowed(const Machine& machine, Console& console);

}  // namespace cortado::cli
