// Output files are checked before the work starts and appear complete or not at all.
#pragma once

#include <string>
#include <vector>

#include "cortado/result.hpp"

namespace cortado::cli {

/// Refuses paths that cannot be written when the work is done (a missing or read-only folder, a folder as file) and
/// those of `others`, files that the command reads or writes as well. Others that are no files (names, empty) do not
/// matter.
Status check_output_path(const std::string& path, const std::vector<std::string>& others = {});

}  // namespace cortado::cli
