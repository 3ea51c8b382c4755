// What plan has in common with overlap.
#pragma once

#include <string>

#include "cortado/result.hpp"

#include "arguments.hpp"
#include "console.hpp"

namespace cortado::cli {

/// The table of the one strategy of --strategy with what was decided and why; its program if -o names a file.
Result<Exit> explain_strategy(const Arguments& arguments, Console& console, const std::string& collective);

}  // namespace cortado::cli
