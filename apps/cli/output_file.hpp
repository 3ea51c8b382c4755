// Output files are checked before the work starts and appear complete or not at all.
#pragma once

#include <string>

#include "cortado/base/result.hpp"

namespace cortado::cli {

/// Refuses paths that cannot be written when the work is done: a missing or read-only folder, a folder as file.
Status check_output_path(const std::string& path);

}  // namespace cortado::cli
