// A Machine as the text of a machine file; machines/README.md describes the format.
#pragma once

#include <string>

#include "cortado/machine.hpp"

namespace cortado {

/// parse_machine reads it back as the same machine. Sources and confidences are those of machine.provenance; a value
/// without one is marked as an assumption.
std::string machine_text(const Machine& machine);

}  // namespace cortado
