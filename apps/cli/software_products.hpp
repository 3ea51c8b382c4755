// A warning before GEMMs keep the processor of this computer busy for minutes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cortado/program.hpp"

namespace cortado::cli {

/// For all GEMMs of a program over `iterations`: "8.8 TFLOP of GEMMs will run in software on this computer: about 5
/// minutes at the 31 GFLOP/s measured here; ...". Empty if they take half a minute at most. `rate` measures the flops
/// per second of an element type and is not called for small programs.
std::optional<std::string> software_products_warning(const Program& program, std::uint32_t iterations,
                                                     const std::function<double(DType)>& rate);
/// For so many flops in all; `more_than_once` adds that --iters 1 takes least time.
std::optional<std::string> software_products_warning(double flops, DType dtype, bool more_than_once,
                                                     const std::function<double(DType)>& rate);

/// "about 40 seconds", "about 5 minutes", "about 3 hours"
std::string rough_duration(double seconds);

}  // namespace cortado::cli
