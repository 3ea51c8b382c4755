// Machines with other values: fields of a machine's file by their paths, such as links.rate_GBps.
#pragma once

#include <string>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/result.hpp"

#include "sweep/spec.hpp"

namespace cortado::sweep {

/// The number of DMA engines towards peers. A machine's file lists them (engines.peer): fewer are the first of that
/// list, more have the numbers that follow.
inline constexpr std::string_view kEngineCount = "dma.engines";

/// The machine with these fields, each marked as an assumption of the sweep. Refuses unknown fields with the nearest
/// known one (sweep.field), and what a machine file may not have (machine.*).
Result<Machine> with_fields(const Machine& machine, const std::vector<Parameter>& fields);

}  // namespace cortado::sweep
