// What it takes to multiply matrices without a GPU, said before it is done.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cortado/ir/program.hpp"

namespace cortado::cli {

/// Of the products of a program, in so many iterations: "8.8 TFLOP of matrix products run in software here: about 5
/// minutes at 31 GFLOP/s; ...". None if they take half a minute at most. `rate` measures flops per second of an element
/// type; it is not asked about programs with few of them.
std::optional<std::string> software_products_warning(const Program& program, std::uint32_t iterations,
                                                     const std::function<double(DType)>& rate);

/// "about 40 seconds", "about 5 minutes", "about 3 hours"
std::string rough_duration(double seconds);

}  // namespace cortado::cli
