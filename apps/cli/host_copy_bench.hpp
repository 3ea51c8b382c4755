// cortado bench host-copy.
#pragma once

#include "arguments.hpp"
#include "console.hpp"

namespace cortado::cli {

Result<Exit> bench_host_copies(const Arguments& arguments, Console& console);

}  // namespace cortado::cli
