// cortado bench gemm: times of GEMMs alone.
#pragma once

#include "cortado/result.hpp"

#include "arguments.hpp"
#include "console.hpp"

namespace cortado::cli {

/// Predicted unless --on names a device.
Result<Exit> bench_gemm(const Arguments& arguments, Console& console);

}  // namespace cortado::cli
