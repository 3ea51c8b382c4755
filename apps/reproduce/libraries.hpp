// Tables of measured library collectives, as nccl-tests print them.
#pragma once

#include "reproduce/reproducer.hpp"

namespace cortado::pipeline {

/// Our values for a table whose name begins with a collective. A column says how it runs: "library" or "N ranks" by the
/// library's choice, "direct" by the faster of the direct kernels, "ring" by the ring that the library chooses,
/// "engines" and "device" in place by DMA engines driven by a library or a kernel (RuntimeMode).
Outcome<report::ReproducedTable> reproduce_library_table(const published::Table& table, const Machine& machine);

}  // namespace cortado::pipeline
