// Consistency of the keys of a machine file.
#pragma once

#include "cortado/machine.hpp"

#include "machine/reader.hpp"

namespace cortado::internal {

/// For [machine] and [dma].
void check_sizes(MachineReader& in, const Machine& machine);

/// Reports values that contradict each other. Every key has been read and accepted.
void check_machine(MachineReader& in, const Machine& machine);

}  // namespace cortado::internal
