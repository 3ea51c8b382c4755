// cortado model --on soft: a small model that really runs.
#pragma once

#include "arguments.hpp"
#include "command.hpp"
#include "console.hpp"

namespace cortado::cli {

Result<Exit> model_on_device(const Arguments& arguments, Console& console);

}  // namespace cortado::cli
