// The lists of `cortado list`.
#pragma once

#include <string>
#include <vector>

namespace cortado::cli {

std::vector<std::string> list_names();

}  // namespace cortado::cli
