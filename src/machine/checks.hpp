// What the keys of a machine file say of each other.
#pragma once

#include "cortado/machine.hpp"

#include "machine/reader.hpp"

namespace cortado::internal {

/// Of [machine] and [dma].
void check_sizes(MachineReader& in, const Machine& machine);

/// Records values that contradict each other. Every key was read and accepted.
void check_machine(MachineReader& in, const Machine& machine);

}  // namespace cortado::internal
